#include "ballast/service/work.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>

#include "ballast/attacks/registry.h"
#include "ballast/experiment/assembly.h"
#include "ballast/worker/worker.h"

namespace ballast::service {
namespace {

using server::Verdict;

constexpr std::chrono::milliseconds kStopWait{50};  // until a wish to stop is noticed

transport::ClientOptions client_options(const Plan& plan, const WorkOptions& options) {
  const learn::Model& model = *plan.material.model;
  return {.server = options.server,
          .tls = options.credentials,
          .name = options.name,
          .schema_hash = plan.schema_hash,
          .dim = model.dim(),
          .statistic_count = model.initial_statistics().size(),
          .model_encoding = options.encoding,
          .update_encoding = options.encoding,
          .patience = options.patience,
          .seed = plan.planned.seed + options.number,
          .stop = options.stop};
}

// What the verdict on an update means for the next one.
enum class Consequence { kGoOn, kStartAfresh, kGiveUp };

Consequence consequence(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAccepted:
    case Verdict::kReplayed:
    case Verdict::kUnasked:
    case Verdict::kStale:
    case Verdict::kFiltered:
    case Verdict::kMalformed:
      return Consequence::kGoOn;
    case Verdict::kNotFinite:
      return Consequence::kStartAfresh;
    case Verdict::kUnknownWorker:
    case Verdict::kWrongShape:
    case Verdict::kForged:
      return Consequence::kGiveUp;
  }
  std::abort();
}

class Labour {
 public:
  static Result<std::unique_ptr<Labour>> start(const Plan& plan, const WorkOptions& options) {
    if (options.number >= plan.run().workers) {
      return invalid_argument(fmt::format("{} has the number {}, but the workers are 0 to {}",
                                          options.name, options.number, plan.run().workers - 1));
    }
    std::unique_ptr<Labour> labour(new Labour(plan, options));
    BALLAST_TRY(labour->attack_, make_network_attack(plan.run(), options.attack));
    BALLAST_TRY(const auto training,
                experiment::training_data(plan.run(), plan.planned.seed, plan.material.data));
    BALLAST_TRY(labour->source_, plan.material.model->make_source(training));
    BALLAST_TRY_STATUS(labour->start_afresh());
    BALLAST_TRY(auto client, transport::Client::make(client_options(plan, options)));
    labour->client_.emplace(std::move(client));
    return labour;
  }

  Result<WorkReport> run() {
    Status done = exchange_all();
    client_->leave();
    report_.reconnects = client_->reconnect_count();
    if (!done && done.error().code != ErrorCode::kInterrupted) {
      return tl::unexpected(std::move(done).error());
    }
    options_.events(
        {Severity::kInfo, fmt::format(R"("event":"left","sent":{},"accepted":{},"reconnects":{})",
                                      report_.sent, report_.accepted, report_.reconnects)});
    return report_;
  }

 private:
  Labour(const Plan& plan, const WorkOptions& options) : plan_(plan), options_(options) {}

  // The state of earlier updates is gone; the next one is like a first.
  Status start_afresh() {
    BALLAST_TRY(auto worker,
                worker::Worker::make({.seed = plan_.planned.seed,
                                      .id = options_.number,
                                      .estimator = experiment::estimator_options(plan_.run())},
                                     *source_, attack_.get()));
    worker_.emplace(std::move(worker));
    return {};
  }

  bool is_stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  bool is_enough() const {
    return is_stopped() || (options_.updates_max && report_.sent >= *options_.updates_max);
  }

  // After the pause of a slow machine.
  bool may_go_on() const {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + options_.pause;
    while (!is_enough() && Clock::now() < end) {
      std::this_thread::sleep_for(std::min<Clock::duration>(kStopWait, end - Clock::now()));
    }
    return !is_enough();
  }

  Status exchange_all() {
    BALLAST_TRY(transport::ClientModel model, client_->join());
    if (!model.is_over) tell_joined(model);
    while (!model.is_over && may_go_on()) {
      BALLAST_TRY(const worker::Update update,
                  worker_->on_model({.version = model.version, .values = model.values}));
      const std::uint64_t incarnation = model.incarnation;
      BALLAST_TRY(const transport::PushResult pushed,
                  client_->push(update.values, update.statistics));
      ++report_.sent;
      BALLAST_TRY_STATUS(heed(pushed.verdict));
      model = pushed.next;
      if (model.incarnation != incarnation) tell_joined(model);
    }
    if (model.is_over) options_.events({Severity::kInfo, R"("event":"training-over")"});
    return {};
  }

  void tell_joined(const transport::ClientModel& model) const {
    options_.events(
        {Severity::kInfo, fmt::format(R"("event":"joined","run":{},"incarnation":{},"version":{})",
                                      json_text(model.run), model.incarnation, model.version)});
  }

  Status heed(const std::optional<Verdict>& verdict) {
    if (!verdict) {
      ++report_.lost;
      return {};
    }
    if (*verdict == Verdict::kAccepted) {
      ++report_.accepted;
      return {};
    }
    options_.events({Severity::kWarning,
                     fmt::format(R"("event":"refused","verdict":"{}")", server::name(*verdict))});
    switch (consequence(*verdict)) {
      case Consequence::kGoOn:
        return {};
      case Consequence::kStartAfresh:
        return start_afresh();
      case Consequence::kGiveUp:
        return invalid_argument(
            fmt::format("the server refused an update as {}", server::name(*verdict)));
    }
    std::abort();
  }

  const Plan& plan_;
  const WorkOptions& options_;
  attacks::AttackPointer attack_;
  std::unique_ptr<worker::GradientSource> source_;
  std::optional<worker::Worker> worker_;  // borrows the two above
  std::optional<transport::Client> client_;
  WorkReport report_;
};

}  // namespace

Result<attacks::AttackPointer> make_network_attack(const experiment::RunSpec& run,
                                                   const std::string& attack) {
  if (attack.empty()) return nullptr;
  experiment::RunSpec liar = run;
  liar.attack = attack;
  liar.byzantine = 1;
  BALLAST_TRY(attacks::AttackPointer made, experiment::make_run_attack(liar));
  if (made->colludes()) {
    return unsupported(fmt::format(
        "the attack '{}' needs the honest workers' updates, which a worker on a network does not "
        "see; try it with 'ballast train'",
        attack));
  }
  return made;
}

Result<std::uint32_t> number_in(const std::string& name) {
  const std::size_t start = name.find_last_not_of("0123456789") + 1;
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(name.data() + start, name.data() + name.size(), number);
  if (error != std::errc() || end == name.data() + start) {
    return invalid_argument(
        fmt::format("'{}' does not end in a number; say with --number which worker it is", name));
  }
  return number;
}

Result<WorkReport> work(const Plan& plan, const WorkOptions& options) {
  BALLAST_TRY(const auto labour, Labour::start(plan, options));
  return labour->run();
}

}  // namespace ballast::service
