#include "ballast/parameter_server.h"

#include <fmt/core.h>

#include <optional>
#include <utility>
#include <vector>

#include "ballast/face/guard.h"
#include "ballast/face/training.h"

namespace ballast {

class ParameterServer::Body {
 public:
  explicit Body(face::MadeServer made)
      : made_(std::move(made)), tickets_(made_.server.worker_count()) {}

  Result<Snapshot> join(std::uint32_t worker) {
    BALLAST_TRY_STATUS(check(worker));
    const auto assignment = made_.server.on_join(worker);
    BALLAST_TRY_STATUS(made_.fault());
    if (!assignment) return unsupported(fmt::format("worker {} has to wait", worker));
    tickets_[worker] = assignment->ticket;
    return face::public_snapshot(assignment->model);
  }

  Result<UpdateOutcome> update(std::uint32_t worker, std::span<const float> values,
                               std::span<const float> statistics) {
    BALLAST_TRY_STATUS(check(worker));
    if (!tickets_[worker]) {
      return invalid_argument(
          fmt::format("worker {} has no model to compute on; call join() first", worker));
    }
    const auto judgement = made_.server.on_update({.worker = worker,
                                                   .ticket = *tickets_[worker],
                                                   .values = values,
                                                   .statistics = statistics});
    tickets_[worker].reset();
    BALLAST_TRY_STATUS(made_.fault());
    if (!judgement.next) return unsupported(fmt::format("worker {} has to wait", worker));
    tickets_[worker] = judgement.next->ticket;
    return UpdateOutcome{.verdict = face::public_verdict(judgement.outcome.verdict),
                         .has_stepped = judgement.outcome.has_stepped,
                         .staleness = judgement.outcome.staleness,
                         .next = face::public_snapshot(judgement.next->model)};
  }

  Status leave(std::uint32_t worker) {
    BALLAST_TRY_STATUS(check(worker));
    made_.server.on_leave(worker);
    tickets_[worker].reset();
    return made_.fault();
  }

  Result<WorkerFacts> worker(std::uint32_t worker) const {
    BALLAST_TRY_STATUS(check(worker));
    return face::facts_of(made_.server.worker(worker));
  }

  const server::ParameterServer& server() const { return made_.server; }

 private:
  Status check(std::uint32_t worker) const {
    if (worker < tickets_.size()) return {};
    return not_found(
        fmt::format("there is no worker {}; they are 0 to {}", worker, tickets_.size() - 1));
  }

  face::MadeServer made_;
  std::vector<std::optional<wire::Ticket>> tickets_;  // that each worker has now
};

Result<ParameterServer> ParameterServer::make(std::size_t worker_count, Training training) {
  return face::guarded("the server", [&]() -> Result<ParameterServer> {
    BALLAST_TRY(auto made, face::make_server(worker_count, std::move(training), {}));
    return ParameterServer(std::make_unique<Body>(std::move(made)));
  });
}

ParameterServer::ParameterServer(std::unique_ptr<Body> body) : body_(std::move(body)) {}
ParameterServer::ParameterServer(ParameterServer&&) noexcept = default;
ParameterServer& ParameterServer::operator=(ParameterServer&&) noexcept = default;
ParameterServer::~ParameterServer() = default;

Result<Snapshot> ParameterServer::join(std::uint32_t worker) {
  if (body_ == nullptr) return face::moved_from("ParameterServer");
  return face::guarded("join", [&] { return body_->join(worker); });
}

Result<UpdateOutcome> ParameterServer::update(std::uint32_t worker, std::span<const float> values,
                                              std::span<const float> statistics) {
  if (body_ == nullptr) return face::moved_from("ParameterServer");
  if (face::is_null(values) || face::is_null(statistics)) {
    return invalid_argument("the values or the statistics are a null span");
  }
  return face::guarded("update", [&] { return body_->update(worker, values, statistics); });
}

Status ParameterServer::leave(std::uint32_t worker) {
  if (body_ == nullptr) return face::moved_from("ParameterServer");
  return face::guarded("leave", [&] { return body_->leave(worker); });
}

Result<Snapshot> ParameterServer::model() const {
  if (body_ == nullptr) return face::moved_from("ParameterServer");
  return face::public_snapshot(body_->server().model());
}

Result<WorkerFacts> ParameterServer::worker(std::uint32_t worker) const {
  if (body_ == nullptr) return face::moved_from("ParameterServer");
  return face::guarded("worker", [&] { return body_->worker(worker); });
}

std::uint64_t ParameterServer::accepted_count() const noexcept {
  return body_ == nullptr ? 0 : body_->server().accepted_count();
}

}  // namespace ballast
