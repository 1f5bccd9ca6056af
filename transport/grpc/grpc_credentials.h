// What gRPC is given for Credentials. Only the sources of :grpc include this.
#ifndef UNDERSTUDY_TRANSPORT_GRPC_GRPC_CREDENTIALS_H_
#define UNDERSTUDY_TRANSPORT_GRPC_GRPC_CREDENTIALS_H_

#include <grpcpp/security/auth_context.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "understudy/transport/credentials.h"

namespace understudy::internal {

// The files of one node, read anew when they change. Any thread.
class TlsCertificates {
 public:
  explicit TlsCertificates(const TlsFiles& files);

  // For a server: a client must show a certificate that our CA has signed.
  std::shared_ptr<grpc::ServerCredentials> ForServer() const;
  // For one dial: the server must show one that names `node`.
  std::shared_ptr<grpc::ChannelCredentials> ForDial(absl::string_view node) const;

 private:
  const std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider_;
};

// The DNS names in the certificate of a call's peer; none without TLS.
std::vector<std::string> CertificateNames(const grpc::AuthContext& context);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GRPC_GRPC_CREDENTIALS_H_
