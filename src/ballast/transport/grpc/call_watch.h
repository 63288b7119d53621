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
#include "ballast/transport/grpc/session.h"

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

inline constexpr std::string_view kTrainMethod = "/ballast.v1.ParameterServer/Train";

class CallWatch final : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  // What is shared, and its guard, outlive the server.
  CallWatch(SessionEnvironment& shared, std::size_t metadata_bytes_max)
      : shared_(shared), guard_(*shared.guard), metadata_bytes_max_(metadata_bytes_max) {
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
    if (shared_.options.tls && !is_allowed(*call, connection)) context.TryCancel();
    return new WatchedCall(guard_, std::move(connection));
  }

 private:
  // Whether the certificate is good now. Training calls are told why if it is not (service.h);
  // others, of gRPC's own services, only end.
  bool is_allowed(grpc::experimental::ServerRpcInfo& call,
                  const std::shared_ptr<ConnectionGuard::Connection>& connection) {
    const grpc::ServerContextBase& context = *call.server_context();
    std::string certificate = certificate_of(context);
    const bool is_training = std::string_view(call.method()) == kTrainMethod;
    const Identified name = is_training ? Identified() : shared_.certificates->check(certificate);
    guard_.set_certificate(connection, std::move(certificate));
    if (name) return true;
    ++shared_.calls_refused;
    shared_.notices->add(Notice::Kind::kCallRefused, host_of(context.peer()), told(name.error()));
    return false;
  }

  static std::size_t metadata_bytes(const grpc::ServerContextBase& context) {
    constexpr std::size_t kPerField = 32;  // as HTTP/2 counts them
    std::size_t bytes = 0;
    for (const auto& [name, value] : context.client_metadata()) {
      bytes += name.size() + value.size() + kPerField;
    }
    return bytes;
  }

  SessionEnvironment& shared_;
  ConnectionGuard& guard_;
  const std::size_t metadata_bytes_max_;
  Handoff made_;  // to the calls
};

}  // namespace ballast::transport
