#include "ballast/sim/checkers.h"

#include <fmt/core.h>

#include <numeric>
#include <utility>

#include "ballast/base/check.h"

namespace ballast::sim {
namespace {

constexpr double kShareTolerance = 1e-12;

template <typename... Arguments>
Status demand(bool holds, fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  if (holds) return {};
  return invalid_argument(fmt::format(text, std::forward<Arguments>(arguments)...));
}

bool is_accepted(const ArrivalRecord& record) {
  return record.outcome.verdict == server::Verdict::kAccepted;
}

}  // namespace

InvariantChecker::InvariantChecker(const CheckerOptions& options,
                                   const server::ParameterServer& server)
    : options_(options),
      version_(server.model().version),
      given_(options.workers.total(), version_),
      counts_(options.workers.total()) {
  BALLAST_CHECK(server.accepted_count() == 0, "a checker starts with the run");
}

Result<Next> InvariantChecker::on_arrival(const ArrivalRecord& record,
                                          const server::ParameterServer& server) {
  auto status = check_arrival(record);
  if (status) status = check_model(record, server);
  if (status) status = check_counts(record, server);
  if (status) status = check_weights(server);
  if (status) return Next::kContinue;
  status.error().message =
      fmt::format("invariant broken at arrival {}: {}", t_, status.error().message);
  return tl::unexpected(std::move(status).error());
}

Status InvariantChecker::check_arrival(const ArrivalRecord& record) {
  ++t_;
  BALLAST_TRY_STATUS(demand(record.t == t_, "it is recorded as {}", record.t));
  BALLAST_TRY_STATUS(demand(record.worker < counts_.size(), "no worker {}", record.worker));
  BALLAST_TRY_STATUS(demand(record.is_byzantine == options_.workers.is_byzantine(record.worker),
                            "worker {} is recorded in the wrong group", record.worker));
  BALLAST_TRY_STATUS(demand(record.at >= now_, "time runs backwards"));
  now_ = record.at;
  if (record.is_byzantine) ++byzantine_;
  if (!options_.share) return {};
  const std::uint64_t due = options_.share->floor_of(t_);
  return demand(byzantine_ <= due, "{} Byzantine arrivals, not at most {}", byzantine_, due);
}

Status InvariantChecker::check_model(const ArrivalRecord& record,
                                     const server::ParameterServer& server) {
  const std::uint64_t before = version_;
  if (record.outcome.has_stepped) ++version_;
  BALLAST_TRY_STATUS(demand(server.model().version == version_, "version {} after {} steps",
                            server.model().version, version_));
  BALLAST_TRY_STATUS(demand(record.version == given_[record.worker],
                            "worker {} was given version {} and names {}", record.worker,
                            given_[record.worker], record.version));
  BALLAST_TRY_STATUS(
      demand(record.version <= before, "version {} is of the future", record.version));
  BALLAST_TRY_STATUS(demand(is_accepted(record) || !record.outcome.has_stepped,
                            "a refused update moved the model"));
  const std::uint64_t staleness = is_accepted(record) ? before - record.version : 0;
  BALLAST_TRY_STATUS(demand(record.outcome.staleness == staleness, "staleness {}, not {}",
                            record.outcome.staleness, staleness));
  const bool is_older = is_accepted(record) && options_.reply == server::Reply::kPaper;
  given_[record.worker] = is_older ? before : version_;
  const auto given = server.worker(record.worker).given;
  return demand(record.reply.version == given_[record.worker] && given == record.reply.version,
                "worker {} was given version {}, not {}", record.worker, record.reply.version,
                given_[record.worker]);
}

Status InvariantChecker::check_counts(const ArrivalRecord& record,
                                      const server::ParameterServer& server) {
  if (is_accepted(record)) ++counts_[record.worker];
  for (std::uint32_t i = 0; i < counts_.size(); ++i) {
    BALLAST_TRY_STATUS(demand(server.worker(i).count == counts_[i],
                              "worker {} has count {} after {} accepted updates", i,
                              server.worker(i).count, counts_[i]));
    BALLAST_TRY_STATUS(demand(server.row(i).empty() == (counts_[i] == 0),
                              "worker {} with count {} has a row or lacks one", i, counts_[i]));
  }
  const std::uint64_t sum = std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  return demand(server.accepted_count() == sum, "{} accepted updates, but counts add up to {}",
                server.accepted_count(), sum);
}

Status InvariantChecker::check_weights(const server::ParameterServer& server) const {
  std::vector<std::uint64_t> weights;
  for (std::uint32_t i = 0; i < server.worker_count(); ++i) {
    weights.push_back(server.worker(i).weight);
  }
  const auto caps = server::caps_of(options_.weights);
  for (const server::CappedWeights& cap : caps) {
    const double share = server::share_of_heaviest(cap.f, weights);
    BALLAST_TRY_STATUS(demand(share <= cap.share + kShareTolerance,
                              "the {} heaviest hold {}, above {}", cap.f, share, cap.share));
  }
  if (!caps.empty()) return {};
  const bool is_uniform = std::holds_alternative<server::UniformWeights>(options_.weights);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::uint64_t updates = is_uniform && counts_[i] > 0 ? 1 : counts_[i];
    BALLAST_TRY_STATUS(demand(weights[i] == updates * server::kWeightUnits,
                              "worker {} with count {} weighs {} units", i, counts_[i],
                              weights[i]));
  }
  return {};
}

}  // namespace ballast::sim
