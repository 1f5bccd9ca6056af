// TestCertificates: certificates that tools/make_certs makes for a test, in a folder that goes with the object.
//
//   TestCertificates certificates;
//   certificates.Make("good", "shop billing");        // of an authority of their own
//   … Credentials::Tls(certificates.Files("good", "shop")) …
//
// Threads: one makes certificates; then any.
#ifndef UNDERSTUDY_TESTS_TRANSPORT_TEST_CERTIFICATES_H_
#define UNDERSTUDY_TESTS_TRANSPORT_TEST_CERTIFICATES_H_

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "understudy/transport/credentials.h"

namespace understudy {

class TestCertificates {
 public:
  TestCertificates() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~TestCertificates() { std::filesystem::remove_all(folder_); }
  TestCertificates(const TestCertificates&) = delete;
  TestCertificates& operator=(const TestCertificates&) = delete;

  // Makes the certificates of `nodes`, which are separated by spaces, in the folder `set`. The authority in that folder
  // signs them; if there is none, it is made first. `options` are passed to tools/make_certs.
  void Make(absl::string_view set, absl::string_view nodes, absl::string_view options = "") {
    const std::string command = absl::StrCat("tools/make_certs ", options, " ", File(set), " ", nodes, " 2>/dev/null");
    EXPECT_EQ(system(command.c_str()), 0) << command;
  }
  // Makes those that have expired, in the folder `set`, of the authority in the folder `authority`.
  void MakeExpired(absl::string_view set, absl::string_view authority, absl::string_view nodes) {
    std::filesystem::create_directory(File(set));
    for (const char* file : {"ca.pem", "ca.key"}) {
      std::filesystem::copy(File(absl::StrCat(authority, "/", file)), File(absl::StrCat(set, "/", file)));
    }
    Make(set, nodes, "--days 0");
  }

  // The path of a file, such as "good/ca.pem".
  std::string File(absl::string_view name) const { return absl::StrCat(folder_, "/", name); }
  // Its contents.
  std::string Text(absl::string_view name) const {
    std::stringstream text;
    text << std::ifstream(File(name)).rdbuf();
    return text.str();
  }
  // Returns the files of a node in the folder `set`. The node trusts the authority in the folder `trusts` or, if that
  // is empty, in its own folder.
  TlsFiles Files(absl::string_view set, absl::string_view node, absl::string_view trusts = "") const {
    return {.certificate_file = File(absl::StrCat(set, "/", node, ".pem")),
            .key_file = File(absl::StrCat(set, "/", node, ".key")),
            .ca_file = File(absl::StrCat(trusts.empty() ? set : trusts, "/ca.pem"))};
  }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_ = "/tmp/understudy.XXXXXX";
};

}  // namespace understudy

#endif  // UNDERSTUDY_TESTS_TRANSPORT_TEST_CERTIFICATES_H_
