#include "understudy/transport/credentials.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace understudy {
namespace {

constexpr int kPortMax = 65535;
constexpr size_t kHostBytesMax = 253;  // RFC 1035

absl::Status Malformed(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("'", text, "' is not an address of a node: ", why,
                   "; write 127.0.0.1:7000, [::1]:7000, localhost:7000, host:7000 or unix:/path/to/socket"));
}

absl::StatusOr<NodeAddress> ParseUnix(absl::string_view text, absl::string_view path) {
  if (path.empty()) return Malformed(text, "the path of the socket is missing");
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return Malformed(text, absl::StrCat("the path of a socket is at most ", sizeof(sockaddr_un::sun_path) - 1,
                                        " bytes, this one has ", path.size()));
  }
  if (absl::StrContains(path, '\0')) return Malformed(text, "the path of the socket contains a NUL");
  NodeAddress address;
  address.reach = NodeAddress::Reach::kUnixSocket;
  address.path = std::string(path);
  return address;
}

bool IsLoopback(const std::string& host) {
  in_addr v4;
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6;
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

// True if `host` has the characters of a host name or IPv4 address, or, in brackets, is an IPv6 address.
bool IsHost(const std::string& host, bool bracketed) {
  in6_addr v6;
  if (bracketed) return inet_pton(AF_INET6, host.c_str(), &v6) == 1;
  if (host.empty() || host.size() > kHostBytesMax) return false;
  for (const char c : host) {
    const bool ok =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    if (!ok) return false;
  }
  return true;
}

template <class T, void (*kFree)(T*)>
struct Freed {
  void operator()(T* object) const { kFree(object); }
};
template <class T, void (*kFree)(T*)>
using Owned = std::unique_ptr<T, Freed<T, kFree>>;

// OpenSSL calls this for the password of an encrypted file. Fails, because a node has no password.
int NoPassword(char*, int, int, void*) { return -1; }

// Returns the object that `read` finds in the file; null if there is none.
template <class T, void (*kFree)(T*), class Read>
Owned<T, kFree> ReadPem(const std::string& path, Read read) {
  const std::unique_ptr<BIO, decltype([](BIO* bio) { BIO_free(bio); })> file(BIO_new_file(path.c_str(), "r"));
  return Owned<T, kFree>(file == nullptr ? nullptr : read(file.get(), nullptr, NoPassword, nullptr));
}

// Returns the DNS names (SAN) of the first certificate in the file.
std::vector<std::string> DnsNames(const std::string& path) {
  std::vector<std::string> names;
  const auto certificate = ReadPem<X509, X509_free>(path, PEM_read_bio_X509);
  const Owned<GENERAL_NAMES, GENERAL_NAMES_free> all(
      certificate == nullptr
          ? nullptr
          : static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(all.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all.get(), i);
    if (name->type != GEN_DNS) continue;
    names.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(name->d.dNSName)),
                       static_cast<size_t>(ASN1_STRING_length(name->d.dNSName)));
  }
  ERR_clear_error();  // as CheckPair does
  return names;
}

// Returns OK if the private key belongs to the first certificate in the certificate file.
absl::Status CheckPair(const TlsFiles& files, absl::string_view cure) {
  const auto certificate = ReadPem<X509, X509_free>(files.certificate_file, PEM_read_bio_X509);
  const auto key = ReadPem<EVP_PKEY, EVP_PKEY_free>(files.key_file, PEM_read_bio_PrivateKey);
  const bool fits =
      certificate != nullptr && key != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();  // otherwise gRPC would find the errors of the calls above in this thread's error queue
  if (certificate == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("'", files.certificate_file, "' has no certificate", cure));
  }
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", files.key_file, "' has no private key that can be read without a password", cure));
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the key in '", files.key_file, "' is not that of the certificate in '", files.certificate_file, "'", cure));
}

}  // namespace

absl::StatusOr<NodeAddress> NodeAddress::Parse(absl::string_view text) {
  absl::string_view rest = text;
  if (absl::ConsumePrefix(&rest, "unix:")) return ParseUnix(text, rest);
  const size_t colon = rest.rfind(':');
  if (colon == absl::string_view::npos) return Malformed(text, "the port is missing");
  int port = 0;
  // Checked separately, because SimpleAtoi also accepts spaces and a sign.
  const bool has_digits_only = rest.find_first_not_of("0123456789", colon + 1) == absl::string_view::npos;
  if (!has_digits_only || !absl::SimpleAtoi(rest.substr(colon + 1), &port) || port > kPortMax) {
    return Malformed(text, absl::StrCat("'", rest.substr(colon + 1), "' is not a port (0 to 65535)"));
  }
  absl::string_view host = rest.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  NodeAddress address;
  address.host = host == "localhost" ? "127.0.0.1" : std::string(host);
  address.port = port;
  if (!IsHost(address.host, bracketed)) return Malformed(text, absl::StrCat("'", host, "' is not a host"));
  address.reach = IsLoopback(address.host) ? Reach::kLoopback : Reach::kNetwork;
  return address;
}

std::string NodeAddress::ToString() const {
  if (reach == Reach::kUnixSocket) return absl::StrCat("unix:", path);
  if (absl::StrContains(host, ':')) return absl::StrCat("[", host, "]:", port);
  return absl::StrCat(host, ":", port);
}

std::string NodeAddress::ToGrpcTarget() const {
  if (reach == Reach::kUnixSocket) return ToString();
  if (absl::StrContains(host, ':')) return absl::StrCat("ipv6:", ToString());
  const bool is_literal = host.find_first_not_of("0123456789.") == std::string::npos;
  return absl::StrCat(is_literal ? "ipv4:" : "dns:///", ToString());
}

absl::Status Credentials::Check() const {
  if (!tls.has_value()) return absl::OkStatus();
  constexpr absl::string_view kCure = "; tools/make_certs DIR NODE makes certificates for development";
  for (const std::string& path : {tls->certificate_file, tls->key_file, tls->ca_file}) {
    std::ifstream file(path);
    if (!file.is_open()) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot read the TLS file '", path, "': ", strerror(errno), kCure));
    }
    std::string line;
    while (std::getline(file, line) && !absl::StartsWith(line, "-----BEGIN ")) {
    }
    if (!file) return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not a PEM file", kCure));
  }
  return CheckPair(*tls, kCure);
}

absl::Status Credentials::CheckForNode(absl::string_view node) const {
  if (absl::Status valid = Check(); !valid.ok() || !tls.has_value()) return valid;
  const std::vector<std::string> names = DnsNames(tls->certificate_file);
  if (std::find(names.begin(), names.end(), node) != names.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the certificate in '", tls->certificate_file, "' is not one of node ", node, ": ",
      names.empty() ? "it has no DNS name" : absl::StrCat("its DNS names are ", absl::StrJoin(names, ", ")),
      ", and every peer would refuse it; tools/make_certs DIR ", node, " makes one for development"));
}

absl::Status CheckAllowed(const Credentials& credentials, const NodeAddress& address, absl::string_view use) {
  if (address.reach != NodeAddress::Reach::kNetwork || credentials.tls.has_value()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("cannot ", use, " ", address.ToString(),
                   ": it is off loopback, where mutual TLS is required, and this node has no TLS credentials; give it "
                   "Credentials::Tls with certificates (tools/make_certs DIR NODE makes some for development), or use "
                   "127.0.0.1, [::1] or unix:/path"));
}

}  // namespace understudy
