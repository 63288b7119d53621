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
  using Trust = std::function<void(const std::string& host)>;

  // `trust` is told where enrolled workers come from.
  Service(Desk& desk, std::size_t worker_count, Trust trust);

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Train(
      grpc::CallbackServerContext* context) override;

  // Connections come before their streams, and all streams end before the server is gone.
  void on_connection() noexcept { connected_.give(); }
  void on_shutdown() noexcept { shut_down_.take(); }

  // The streams that are open.
  std::vector<std::shared_ptr<Session>> sessions();

 private:
  void add(const std::shared_ptr<Session>& session);

  Desk& desk_;
  Trust trust_;
  Handoff connected_;
  Handoff shut_down_;
  std::mutex mutex_;
  std::vector<std::vector<std::shared_ptr<Session>>> sessions_;  // of each worker, oldest first
};

}  // namespace ballast::transport
