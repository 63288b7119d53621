#include "ballast/sim/cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "ballast/sim/adversary.h"
#include "ballast/sim/arrival_queue.h"
#include "ballast/sim/update_pool.h"

namespace ballast::sim {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kThreadsMax = 1024;

Status validate(const ClusterOptions& options, const ClusterParts& parts,
                std::span<const Arrival> arrivals) {
  const std::size_t total = options.workers.total();
  if (options.threads == 0 || options.threads > kThreadsMax) {
    return invalid_argument(
        fmt::format("{} threads; use 1 to {} of them", options.threads, kThreadsMax));
  }
  if (parts.server.worker_count() != total || parts.sources.size() != total) {
    return invalid_argument(
        fmt::format("a cluster of {} workers needs as many sources, not {}, and a server for as "
                    "many, not {}",
                    total, parts.sources.size(), parts.server.worker_count()));
  }
  if (parts.attack != nullptr && parts.attack->needs_preview() && parts.preview_method == nullptr) {
    return invalid_argument(
        "the attack tries its updates on the server's method, and was given no copy of it");
  }
  for (const Arrival& arrival : arrivals) {
    if (arrival.worker < total) continue;
    return invalid_argument(
        fmt::format("an arrival names worker {}; they are 0 to {}", arrival.worker, total - 1));
  }
  return {};
}

Result<std::vector<worker::Worker>> make_workers(const ClusterOptions& options,
                                                 const ClusterParts& parts) {
  std::vector<worker::Worker> workers;
  for (std::uint32_t i = 0; i < options.workers.total(); ++i) {
    worker::GradientSource& source = *parts.sources[i];
    if (source.dim() != parts.server.dim()) {
      return invalid_argument(fmt::format("the source of worker {} has {} values, the model {}", i,
                                          source.dim(), parts.server.dim()));
    }
    const bool is_byzantine = options.workers.is_byzantine(i);
    BALLAST_TRY(auto worker, worker::Worker::make(
                                 {.seed = options.seed, .id = i, .estimator = options.estimator},
                                 source, is_byzantine ? parts.attack : nullptr));
    workers.push_back(std::move(worker));
  }
  return workers;
}

// When the sender of each arrival comes back, and when each worker comes first; kNever if it does
// not.
struct Returns {
  std::vector<std::uint64_t> after;  // by arrival
  std::vector<std::uint64_t> first;  // by worker
};

Returns find_returns(std::span<const Arrival> arrivals, std::size_t worker_count) {
  Returns returns{.after = std::vector<std::uint64_t>(arrivals.size()),
                  .first = std::vector<std::uint64_t>(worker_count, kNever)};
  for (std::size_t i = arrivals.size(); i-- > 0;) {
    returns.after[i] = std::exchange(returns.first[arrivals[i].worker], i);
  }
  return returns;
}

// One run, from the join of the workers to the last arrival.
class Run {
 public:
  Run(const ClusterOptions& options, const ClusterParts& parts, std::span<const Arrival> arrivals,
      std::span<worker::Worker> workers)
      : options_(options),
        parts_(parts),
        arrivals_(arrivals),
        returns_(find_returns(arrivals, workers.size())),
        queue_(arrivals, options.workers),
        tickets_(workers.size()),
        adversary_(options.workers, parts.server.dim(), parts.attack, parts.preview_method),
        workers_(workers),
        pool_(workers, options.threads) {}

  Status join_all() {
    for (std::uint32_t i = 0; i < options_.workers.total(); ++i) {
      BALLAST_TRY_STATUS(start(i, parts_.server.on_join(i), returns_.first[i]));
    }
    return {};
  }

  // In place of join_all().
  Status go_on_from(ClusterState state) {
    BALLAST_TRY_STATUS(queue_.restore(state.arrivals, state.held));
    BALLAST_TRY_STATUS(check_fits(state));
    BALLAST_TRY_STATUS(adversary_.restore(std::move(state.adversary)));
    for (std::uint32_t i = 0; i < workers_.size(); ++i) {
      WorkerProgress& progress = state.workers[i];
      const bool has_sent = progress.state.estimator.updates > 0;
      BALLAST_TRY_STATUS(workers_[i].restore(std::move(progress.state)));
      if (state.server.senders[i].ticket) tickets_[i] = *state.server.senders[i].ticket;
      if (!progress.has_update) continue;
      if (!has_sent) return invalid_argument("the saved run has an update that nobody made");
      pool_.put(i, workers_[i].last_update(progress.version, progress.loss), progress.seconds);
    }
    result_.arrivals = state.arrivals;
    result_.byzantine_arrivals = state.byzantine_arrivals;
    return parts_.server.restore(std::move(state.server));
  }

  Result<RunResult> deliver_all() {
    while (!queue_.is_over() && result_.ending == Ending::kComplete) {
      if (options_.stop != nullptr && options_.stop->load()) {
        result_.ending = Ending::kByRequest;
      } else {
        BALLAST_TRY_STATUS(deliver_next());
      }
      const bool was_cut = result_.ending == Ending::kByRequest;
      if (was_cut || result_.ending == Ending::kComplete) BALLAST_TRY_STATUS(save_if_due(was_cut));
    }
    for (std::uint32_t i = 0; i < options_.workers.total(); ++i) {
      result_.gradient_seconds.push_back(pool_.seconds(i));
    }
    return std::move(result_);
  }

 private:
  // Whether the state can be one of this run.
  Status check_fits(const ClusterState& state) const {
    bool fits = state.workers.size() == workers_.size() &&
                state.server.senders.size() == workers_.size() &&
                (state.held == 0 || adversary_.chooses_time());
    const std::vector<bool> comes_again = queue_.who_comes_again();
    for (std::size_t i = 0; fits && i < workers_.size(); ++i) {
      fits = !comes_again[i] || state.workers[i].has_update;
    }
    if (fits) return {};
    return invalid_argument("the saved state is one of another run");
  }

  Status save_if_due(bool was_cut) {
    if (parts_.checkpoints == nullptr || queue_.is_over()) return {};
    if (!was_cut && !parts_.checkpoints->is_due()) return {};
    pool_.settle();
    ClusterStateView view{.arrivals = result_.arrivals,
                          .byzantine_arrivals = result_.byzantine_arrivals,
                          .server = parts_.server.state(),
                          .workers = {},
                          .adversary = adversary_.state(),
                          .held = queue_.held_count()};
    for (std::uint32_t i = 0; i < workers_.size(); ++i) {
      const Result<worker::WorkerUpdate>* update = pool_.peek(i);
      // It fails when its turn comes, and so would the run that goes on.
      if (update != nullptr && !*update) return {};
      view.workers.push_back({.state = workers_[i].state(),
                              .has_update = update != nullptr,
                              .version = update != nullptr ? (*update)->version : 0,
                              .loss = update != nullptr ? (*update)->loss : 0.0,
                              .seconds = pool_.seconds(i)});
    }
    return parts_.checkpoints->save(view);
  }

  // The list of arrivals says who comes next, so nobody can be made to wait.
  Status start(std::uint32_t worker, const std::optional<server::Assignment>& assignment,
               std::uint64_t due) {
    if (!assignment) {
      return unsupported(fmt::format(
          "worker {} has to wait, but the arrivals are fixed; use a server that holds nobody",
          worker));
    }
    tickets_[worker] = assignment->ticket;
    if (due != kNever) pool_.start(worker, assignment->model, due);
    return {};
  }

  // Whether the adversary lets a Byzantine worker wait. An update that failed is not waited for.
  bool holds(std::uint32_t worker) {
    if (!adversary_.chooses_time()) return false;
    const Result<worker::WorkerUpdate>& update = pool_.wait_for(worker);
    return update && adversary_.holds({worker, tickets_[worker], update->values}, parts_.server,
                                      queue_.held_count());
  }

  Status deliver_next() {
    const std::size_t index = queue_.take([this](std::uint32_t worker) { return holds(worker); });
    const std::uint32_t worker = arrivals_[index].worker;
    const Instant now = queue_.now();
    ++result_.arrivals;
    auto update = pool_.finish(worker);
    if (!update) return failed(worker, std::move(update).error());
    const wire::Ticket& ticket = tickets_[worker];
    const auto values = adversary_.what_is_sent({worker, ticket, update->values}, parts_.server);
    const server::Judgement judgement = parts_.server.on_update(
        {.worker = worker, .ticket = ticket, .values = values, .statistics = update->statistics},
        now);
    if (judgement.outcome.verdict == server::Verdict::kAccepted) {
      adversary_.note_accepted(worker, values);
    }
    BALLAST_TRY_STATUS(start(worker, judgement.next, returns_.after[index]));
    return tell({.t = result_.arrivals,
                 .worker = worker,
                 .is_byzantine = options_.workers.is_byzantine(worker),
                 .at = now,
                 .version = update->version,
                 .loss = update->loss,
                 .reply = judgement.next->model,
                 .outcome = judgement.outcome});
  }

  Status tell(const ArrivalRecord& record) {
    if (record.is_byzantine) ++result_.byzantine_arrivals;
    for (Observer* observer : parts_.observers) {
      BALLAST_TRY(const Next next, observer->on_arrival(record, parts_.server));
      if (next == Next::kStop) result_.ending = Ending::kByObserver;
    }
    return {};
  }

  Status failed(std::uint32_t worker, Error error) const {
    error.message =
        fmt::format("worker {} at arrival {}: {}", worker, result_.arrivals, error.message);
    return tl::unexpected(std::move(error));
  }

  const ClusterOptions& options_;
  const ClusterParts& parts_;
  std::span<const Arrival> arrivals_;
  Returns returns_;
  ArrivalQueue queue_;
  std::vector<wire::Ticket> tickets_;  // that each worker has now
  Adversary adversary_;
  std::span<worker::Worker> workers_;
  RunResult result_;
  UpdatePool pool_;
};

}  // namespace

Result<RunResult> run(const ClusterOptions& options, const ClusterParts& parts,
                      std::span<const Arrival> arrivals, std::optional<ClusterState> from) {
  BALLAST_TRY_STATUS(validate(options, parts, arrivals));
  BALLAST_TRY(auto workers, make_workers(options, parts));
  Run run(options, parts, arrivals, workers);
  BALLAST_TRY_STATUS(from ? run.go_on_from(*std::move(from)) : run.join_all());
  return run.deliver_all();
}

}  // namespace ballast::sim
