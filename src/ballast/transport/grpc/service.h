#pragma once
// The server's side of the protocol's one call: finds out who opens a stream, and turns strangers
// away.
//
// Thread-safety: gRPC calls Train() from threads of its own; the rest may be called from any.

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ballast/transport/grpc/handoff.h"
#include "ballast/transport/grpc/session.h"
#include "proto/ballast/v1/parameter_server.grpc.pb.h"

namespace ballast::transport {

// Takes messages as the bytes they came in, see frame.h.
class Service final
    : public v1::ParameterServer::WithRawCallbackMethod_Train<v1::ParameterServer::Service> {
 public:
  // `certificates`: as NetworkServerOptions has them.
  Service(SessionEnvironment& shared, std::size_t worker_count,
          std::vector<std::string> certificates);

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Train(
      grpc::CallbackServerContext* context) override;

  // Connections come before their streams, and all streams end before the server is gone.
  void on_connection() noexcept { connected_.give(); }
  void on_shutdown() noexcept { shut_down_.take(); }

  // The streams that are open.
  std::vector<std::shared_ptr<Session>> sessions();

  // Ends the streams whose certificates are no longer good, and has the rows of revoked workers
  // removed, also of those that are away.
  void end_denied(const Identify& check);

 private:
  void add(const std::shared_ptr<Session>& session);
  void join(const std::shared_ptr<Session>& session, server::Memory memory);
  void revoke(std::uint32_t worker, const std::string& certificate);

  SessionEnvironment& shared_;
  Handoff connected_;
  Handoff shut_down_;
  std::mutex mutex_;
  std::vector<std::vector<std::shared_ptr<Session>>> sessions_;  // of each worker, oldest first
  std::vector<std::string> certificates_;  // under which each worker joined last
};

}  // namespace ballast::transport
