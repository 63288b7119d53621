#pragma once
// TLS for both ends, from files.

#include <grpcpp/security/credentials.h>
#include <grpcpp/security/server_credentials.h>

#include <memory>
#include <string>

#include "ballast/base/error.h"
#include "ballast/transport/server.h"

namespace ballast::transport {

// The header that names a worker where there are no certificates.
inline constexpr const char* kNameHeader = "ballast-worker";

// A server that demands a certificate of every client. The files are read again every second, so
// new certificates need no restart.
Result<std::shared_ptr<grpc::ServerCredentials>> make_server_credentials(const TlsFiles& files);

Result<std::shared_ptr<grpc::ChannelCredentials>> make_client_credentials(const TlsFiles& files);

}  // namespace ballast::transport
