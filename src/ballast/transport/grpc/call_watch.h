#pragma once
// Shows every call of a server to its guard, of whatever method: gRPC's own health service and
// methods that do not exist cost as much as others. A call whose connection the guard does not
// know, because it has just ended it, is cancelled.

#include <grpcpp/grpcpp.h>
#include <grpcpp/support/server_interceptor.h>

#include <memory>
#include <utility>

#include "ballast/transport/connection_guard.h"
#include "ballast/transport/grpc/handoff.h"
#include "ballast/transport/grpc/peer_address.h"

namespace ballast::transport {

// Lives as long as its call.
class WatchedCall final : public grpc::experimental::Interceptor {
 public:
  WatchedCall(ConnectionGuard& guard, std::shared_ptr<ConnectionGuard::Connection> connection)
      : guard_(guard), connection_(std::move(connection)) {
    guard_.begin_call(*connection_);
    begun_.give();
  }
  ~WatchedCall() override {
    begun_.take();
    guard_.end_call(*connection_);
  }
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

  void Intercept(grpc::experimental::InterceptorBatchMethods* methods) override {
    methods->Proceed();
  }

 private:
  ConnectionGuard& guard_;
  std::shared_ptr<ConnectionGuard::Connection> connection_;
  Handoff begun_;  // to its end, on whatever thread
};

class CallWatch final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // The guard outlives the server.
  CallWatch(ConnectionGuard& guard, std::size_t metadata_bytes_max)
      : guard_(guard), metadata_bytes_max_(metadata_bytes_max) {
    made_.give();
  }

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* call) override {
    made_.take();
    grpc::ServerContextBase& context = *call->server_context();
    auto connection = connection_of(guard_, context.peer());
    if (!connection) {
      guard_.count_refused_call();
      context.TryCancel();
      return nullptr;
    }
    if (metadata_bytes(context) > metadata_bytes_max_) {
      guard_.end(*connection, ConnectionGuard::Ending::kCalls);
    }
    return new WatchedCall(guard_, std::move(connection));
  }

 private:
  static std::size_t metadata_bytes(const grpc::ServerContextBase& context) {
    constexpr std::size_t kPerField = 32;  // as HTTP/2 counts them
    std::size_t bytes = 0;
    for (const auto& [name, value] : context.client_metadata()) {
      bytes += name.size() + value.size() + kPerField;
    }
    return bytes;
  }

  ConnectionGuard& guard_;
  const std::size_t metadata_bytes_max_;
  Handoff made_;  // to the calls
};

}  // namespace ballast::transport
