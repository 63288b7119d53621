#include "ballast/transport/grpc/service.h"

#include <fmt/core.h>

#include <utility>

#include "ballast/transport/grpc/credentials.h"
#include "ballast/transport/grpc/peer_address.h"

namespace ballast::transport {
namespace {

// Turns a stream away before it has cost anything.
class Refusal final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  explicit Refusal(grpc::Status status) {
    Finish(std::move(status));
    begun_.give();  // gRPC has not seen us yet
  }
  void OnDone() override {
    begun_.take();
    delete this;
  }

 private:
  Handoff begun_;
};

// Who is on the other end: the certificate says it, or, without TLS, a header.
Result<StreamIdentity> identify(const NetworkServerOptions& options, const Exchange& exchange,
                                const grpc::CallbackServerContext& context) {
  StreamIdentity identity;
  if (options.tls) {
    const auto found = context.auth_context()->FindPropertyValues("x509_pem_cert");
    if (found.empty()) return not_found("a certificate is required");
    identity.certificate.assign(found.front().data(), found.front().size());
    BALLAST_TRY(identity.name, options.identify(identity.certificate));
  } else {
    const auto found = context.client_metadata().find(kNameHeader);
    if (found == context.client_metadata().end()) {
      return not_found(fmt::format("say who you are in the header {}", kNameHeader));
    }
    identity.name.assign(found->second.data(), found->second.size());
  }
  const auto worker = exchange.find(identity.name);
  if (!worker) return not_found("this worker is not enrolled here");
  identity.worker = *worker;
  return identity;
}

}  // namespace

Service::Service(Desk& desk, std::size_t worker_count, Trust trust)
    : desk_(desk), trust_(std::move(trust)), sessions_(worker_count) {
  desk_.on_done = [this](Session* session) {
    const Reaction reaction(connected_, shut_down_);
    const std::lock_guard lock(mutex_);
    std::erase_if(sessions_[session->worker()],
                  [&](const auto& other) { return other.get() == session; });
  };
}

// The newest streams stay: a worker that lost its connection comes back before the server knows.
void Service::add(const std::shared_ptr<Session>& session) {
  std::shared_ptr<Session> surplus;
  {
    const std::lock_guard lock(mutex_);
    auto& own = sessions_[session->worker()];
    own.push_back(session);
    const std::size_t max = desk_.options.limits.streams_per_worker_max;
    if (own.size() > max) surplus = own[own.size() - 1 - max];
  }
  if (surplus) surplus->end_as_surplus();
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Service::Train(
    grpc::CallbackServerContext* context) {
  const Reaction reaction(connected_, shut_down_);
  auto identity = identify(desk_.options, *desk_.exchange, *context);
  if (!identity) {
    ++desk_.streams_refused;
    return new Refusal({grpc::StatusCode::PERMISSION_DENIED, identity.error().message});
  }
  auto connection = connection_of(*desk_.guard, context->peer());
  if (!connection) {
    ++desk_.streams_refused;
    return new Refusal({grpc::StatusCode::UNAVAILABLE, "the connection was ended"});
  }
  ++desk_.streams_opened;
  trust_(host_of(context->peer()));
  const auto session =
      std::make_shared<Session>(desk_, *context, std::move(connection), *std::move(identity));
  add(session);
  session->start();
  return session.get();
}

std::vector<std::shared_ptr<Session>> Service::sessions() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Session>> all;
  for (const auto& own : sessions_) all.insert(all.end(), own.begin(), own.end());
  return all;
}

}  // namespace ballast::transport
