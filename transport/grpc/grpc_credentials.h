// Conversion of Credentials to gRPC's credentials.
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

// The certificate files of one node, reloaded when they change. Any thread.
class TlsCertificates {
 public:
  explicit TlsCertificates(const TlsFiles& files);

  // Credentials of a server, which require a client certificate that the CA has signed.
  std::shared_ptr<grpc::ServerCredentials> ForServer() const;
  // Credentials for one dial, which require a server certificate that names `node`.
  std::shared_ptr<grpc::ChannelCredentials> ForDial(absl::string_view node) const;

 private:
  const std::shared_ptr<grpc::experimental::CertificateProviderInterface> provider_;
};

// The DNS names in the certificate of a call's peer; empty without TLS.
std::vector<std::string> CertificateNames(const grpc::AuthContext& context);

}  // namespace understudy::internal

#endif  // UNDERSTUDY_TRANSPORT_GRPC_GRPC_CREDENTIALS_H_
