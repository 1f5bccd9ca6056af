#include "understudy/transport/grpc/grpc_credentials.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/string_ref.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "understudy/transport/credentials.h"

namespace understudy::internal {
namespace {

// How often the files are checked for changes. A check costs three calls of stat.
constexpr unsigned kReloadSeconds = 1;

// Requires a DNS name that is exactly the node's name: wildcards and common names do not count.
class NodeNameVerifier final : public grpc::experimental::ExternalCertificateVerifier {
 public:
  explicit NodeNameVerifier(std::string node) : node_(std::move(node)) {}

  bool Verify(grpc::experimental::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    std::string names;
    for (const grpc::string_ref& name : request->dns_names()) {
      if (name == node_) return true;
      absl::StrAppend(&names, names.empty() ? "" : ", ", absl::string_view(name.data(), name.size()));
    }
    *status = grpc::Status(grpc::StatusCode::UNAUTHENTICATED,
                           absl::StrCat("the certificate of the node that was dialled as '", node_, "' names '", names,
                                        "': expected the DNS name ", node_, " (tools/make_certs makes such a one)"));
    return true;
  }
  void Cancel(grpc::experimental::TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::string node_;
};

}  // namespace

// No version is set here, because gRPC's TLS credentials do not accept less than TLS 1.2.
TlsCertificates::TlsCertificates(const TlsFiles& files)
    : provider_(std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          files.key_file, files.certificate_file, files.ca_file, kReloadSeconds)) {}

std::shared_ptr<grpc::ServerCredentials> TlsCertificates::ForServer() const {
  grpc::experimental::TlsServerCredentialsOptions options(provider_);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> TlsCertificates::ForDial(absl::string_view node) const {
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(provider_);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  // The verifier checks the name once for the connection, which has only one call.
  options.set_check_call_host(false);
  options.set_certificate_verifier(
      grpc::experimental::ExternalCertificateVerifier::Create<NodeNameVerifier>(std::string(node)));
  return grpc::experimental::TlsCredentials(options);
}

std::vector<std::string> CertificateNames(const grpc::AuthContext& context) {
  std::vector<std::string> names;
  if (!context.IsPeerAuthenticated()) return names;
  for (const grpc::string_ref& name : context.FindPropertyValues(GRPC_PEER_DNS_PROPERTY_NAME)) {
    names.emplace_back(name.data(), name.size());
  }
  return names;
}

}  // namespace understudy::internal
