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

grpc::Status denied(const std::string& message) {
  return {grpc::StatusCode::PERMISSION_DENIED, message};
}

// Who is on the other end: the certificate says it, or, without TLS, a header.
tl::expected<StreamIdentity, grpc::Status> identify(SessionEnvironment& shared,
                                                    const grpc::CallbackServerContext& context) {
  StreamIdentity identity;
  if (shared.options.tls) {
    identity.certificate = certificate_of(context);
    auto name = shared.certificates->check(identity.certificate);
    if (!name) return tl::unexpected(status_of(name.error()));
    identity.name = *std::move(name);
  } else {
    const auto found = context.client_metadata().find(kNameHeader);
    if (found == context.client_metadata().end()) {
      return tl::unexpected(denied(fmt::format("say who you are in the header {}", kNameHeader)));
    }
    identity.name.assign(found->second.data(), found->second.size());
  }
  const auto worker = shared.exchange->find(identity.name);
  if (!worker) return tl::unexpected(denied("this worker is not enrolled here"));
  identity.worker = *worker;
  return identity;
}

}  // namespace

Service::Service(SessionEnvironment& shared, std::size_t worker_count,
                 std::vector<std::string> certificates)
    : shared_(shared), sessions_(worker_count), certificates_(std::move(certificates)) {
  certificates_.resize(worker_count);
  shared_.on_join = [this](const auto& session, server::Memory memory) { join(session, memory); };
  shared_.on_revoked = [this](const Session& session) {
    revoke(session.worker(), session.certificate());
  };
  shared_.on_done = [this](Session* session) {
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
    const std::size_t max = shared_.options.limits.streams_per_worker_max;
    if (own.size() > max) surplus = own[own.size() - 1 - max];
  }
  if (surplus) surplus->end_as_surplus();
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Service::Train(
    grpc::CallbackServerContext* context) {
  const Reaction reaction(connected_, shut_down_);
  auto identity = identify(shared_, *context);
  if (!identity) {
    ++shared_.streams_refused;
    shared_.notices->add(Notice::Kind::kCallRefused, host_of(context->peer()),
                         identity.error().error_message());
    return new Refusal(std::move(identity).error());
  }
  auto connection = connection_of(*shared_.guard, context->peer());
  if (!connection) {  // the guard has counted it
    return new Refusal({grpc::StatusCode::UNAVAILABLE, "the connection was ended"});
  }
  ++shared_.streams_opened;
  const auto session =
      std::make_shared<Session>(shared_, *context, std::move(connection), *std::move(identity));
  add(session);
  session->start();
  return session.get();
}

// Together, so that a revocation of an older certificate cannot come after this join.
void Service::join(const std::shared_ptr<Session>& session, server::Memory memory) {
  const std::lock_guard lock(mutex_);
  certificates_[session->worker()] = session->certificate();
  shared_.exchange->join(session->worker(), session, memory);
}

// Does nothing if the worker has joined under another certificate meanwhile.
void Service::revoke(std::uint32_t worker, const std::string& certificate) {
  const std::lock_guard lock(mutex_);
  if (certificates_[worker].empty() || certificates_[worker] != certificate) return;
  certificates_[worker].clear();
  ++shared_.workers_revoked;
  shared_.exchange->revoke(worker);
}

void Service::end_denied(const Identify& check) {
  for (const auto& session : sessions()) {
    if (session->certificate().empty()) continue;
    if (const auto name = check(session->certificate()); !name) session->end_denied(name.error());
  }
  std::vector<std::string> certificates;
  {
    const std::lock_guard lock(mutex_);
    certificates = certificates_;
  }
  for (std::uint32_t worker = 0; worker < certificates.size(); ++worker) {
    if (certificates[worker].empty()) continue;
    const auto name = check(certificates[worker]);
    if (!name && name.error().why == Denial::kRevoked) revoke(worker, certificates[worker]);
  }
}

std::vector<std::shared_ptr<Session>> Service::sessions() {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Session>> all;
  for (const auto& own : sessions_) all.insert(all.end(), own.begin(), own.end());
  return all;
}

}  // namespace ballast::transport
