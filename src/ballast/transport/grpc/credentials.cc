#include "ballast/transport/grpc/credentials.h"

#include <fmt/core.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <fstream>
#include <iterator>

namespace ballast::transport {
namespace {

constexpr unsigned kRefreshSeconds = 1;

Result<std::string> read_pem(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.good() && !file.eof()) return io_error(fmt::format("cannot read {}", path));
  if (text.find("-----BEGIN ") == std::string::npos) {
    return invalid_argument(fmt::format("{} is not a PEM file", path));
  }
  return text;
}

}  // namespace

Result<std::shared_ptr<grpc::ServerCredentials>> make_server_credentials(const TlsFiles& files) {
  // gRPC itself waits for files that are missing and says nothing.
  for (const std::string& path : {files.authority, files.certificate, files.key}) {
    BALLAST_TRY_STATUS(read_pem(path));
  }
  auto provider = std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
      files.key, files.certificate, files.authority, kRefreshSeconds);
  grpc::experimental::TlsServerCredentialsOptions options(provider);
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

Result<std::shared_ptr<grpc::ChannelCredentials>> make_client_credentials(const TlsFiles& files) {
  grpc::SslCredentialsOptions options;
  BALLAST_TRY(options.pem_root_certs, read_pem(files.authority));
  BALLAST_TRY(options.pem_cert_chain, read_pem(files.certificate));
  BALLAST_TRY(options.pem_private_key, read_pem(files.key));
  return grpc::SslCredentials(options);
}

}  // namespace ballast::transport
