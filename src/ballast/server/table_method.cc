#include "ballast/server/table_method.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "ballast/base/check.h"
#include "ballast/robust/row_table.h"
#include "ballast/server/past_rows.h"
#include "ballast/server/table_state.h"

namespace ballast::server {
namespace {

// Spreads seeds over the numbers of draws, so that two runs share none of theirs.
constexpr std::uint64_t kSeedStride = 0x9E37'79B9'7F4A'7C15;
constexpr std::uint64_t kCountEnd = std::uint64_t{1} << 40;  // as assign_weights() wants them
constexpr double kShareTolerance = 1e-12;

constexpr const char* kCounts = "counts";
constexpr const char* kKept = "kept";
constexpr const char* kRevisions = "revisions";  // of the method, then of each row
constexpr const char* kPast = "past";            // updates in an average; absent without

std::string method_name(double past) {
  return past == 0.0 ? std::string("table") : fmt::format("table(past={})", past);
}

double in_updates(std::uint64_t weight) {
  return static_cast<double>(weight) / static_cast<double>(kWeightUnits);
}

bool is_count(double value) {
  return value >= 0.0 && value < static_cast<double>(kCountEnd) && value == std::floor(value);
}

class TableMethod final : public Method {
 public:
  TableMethod(const TableOptions& options, robust::RulePointer rule,
              std::shared_ptr<const kernels::Backend> backend)
      : options_(options),
        past_(options.past > 0
                  ? std::make_optional<PastRows>(std::move(rule), backend, options.worker_count,
                                                 options.dim, options.past)
                  : std::nullopt),
        table_(options.past > 0 ? nullptr : std::move(rule), std::move(backend),
               options.worker_count, options.dim),
        counts_(options.worker_count),
        weights_(options.worker_count),
        kept_(options.worker_count),
        revisions_(options.worker_count) {}

  std::string description() const override {
    return method_name(static_cast<double>(options_.past));
  }

  Answer on_update(const AdmittedUpdate& update) override {
    const Status is_put = table_.put(
        update.worker,
        kernels::Incoming{.values = update.values, .memory = update.memory, .is_checked = true},
        1.0);
    BALLAST_CHECK(is_put.has_value(), "an admitted update fits the table");
    ++counts_[update.worker];
    revisions_[update.worker] = ++revision_;
    if (past_) past_->follow(table_, update.worker, counts_[update.worker]);
    weigh();
    if (!has_quorum_) return Answer::nothing();
    return Answer::along(aggregate(update.number));
  }

  void remove(std::uint32_t worker) override {
    counts_[worker] = 0;
    kept_[worker] = 0.0;
    ++revision_;
    table_.remove(worker);
    if (past_) past_->table().remove(worker);
    weigh();
  }

  bool is_ready() const override { return has_quorum_; }

  std::string pause_reason() const override {
    if (has_quorum_) return {};
    return fmt::format("{} workers have sent an update; {} are needed before the model moves",
                       table_.filled_count(), needed_rows());
  }

  // Below the quorum it waits for those that have no row yet.
  bool wants(std::uint32_t worker) const override { return has_quorum_ || counts_[worker] == 0; }

  WorkerShare worker(std::uint32_t worker) const override {
    return {.count = counts_[worker], .weight = weights_[worker], .kept = kept_[worker]};
  }

  std::span<const float> row(std::uint32_t worker) const override { return table_.row(worker); }

  std::span<const float> last_direction() const override {
    const kernels::Vector* const last = table_.last_result();
    return last == nullptr ? std::span<const float>() : last->host_view();
  }

  std::size_t further_vectors() const override { return past_ ? past_->vector_count() : 0; }

  std::vector<robust::RowMeasure> measure_rows() const override {
    const std::vector<robust::RowMeasure> measured = table_.measure();
    std::vector<robust::RowMeasure> measures(counts_.size());
    std::size_t index = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (table_.has(i)) measures[i] = measured[index++];
    }
    return measures;
  }

  std::vector<NamedNumber> figures() const override {
    return {{"rows", static_cast<double>(table_.filled_count())},
            {"quorum", static_cast<double>(needed_rows())},
            {"heaviest_share", heaviest_share_},
            {"heaviest_share_max", heaviest_share_max_}};
  }

  MethodStateView state() const override;
  Status restore(MethodState state, std::span<const std::uint64_t> lifetime_counts) override;

 private:
  std::size_t needed_rows() const { return std::max(quorum(options_.weights), options_.rows_min); }
  robust::RowTable& judged() { return past_ ? past_->table() : table_; }
  void weigh();
  void note_share();
  const kernels::Vector& aggregate(std::uint64_t number);
  Status check(MethodState& state, std::span<const std::uint64_t> lifetime_counts) const;

  TableOptions options_;
  // The rule belongs to the table that it judges: the averages, or without a past the latest rows.
  std::optional<PastRows> past_;
  robust::RowTable table_;  // the latest rows
  std::vector<std::uint64_t> counts_;
  std::vector<std::uint64_t> weights_;
  std::vector<double> kept_;
  std::uint64_t revision_ = 0;            // rises with every change
  std::vector<std::uint64_t> revisions_;  // at which each row was put
  bool has_quorum_ = false;
  double heaviest_share_ = 0.0;
  double heaviest_share_max_ = 0.0;
};

void TableMethod::weigh() {
  has_quorum_ = assign_weights(options_.weights, counts_, weights_);
  if (table_.filled_count() < options_.rows_min) {
    has_quorum_ = false;
    std::ranges::fill(weights_, 0u);
  }
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    if (weights_[i] == 0) continue;
    const Status is_set = judged().set_weight(i, in_updates(weights_[i]));
    BALLAST_CHECK(is_set.has_value(), "every weight belongs to a row");
  }
  note_share();
}

// The share of weight that the f heaviest hold, f being that of the cap on the most workers.
void TableMethod::note_share() {
  const CappedWeights* widest = widest_cap(options_.weights);
  heaviest_share_ = share_of_heaviest(widest != nullptr ? widest->f : 1, weights_);
  heaviest_share_max_ = std::max(heaviest_share_max_, heaviest_share_);
  for (const CappedWeights& cap : caps_of(options_.weights)) {
    BALLAST_CHECK(share_of_heaviest(cap.f, weights_) <= cap.share + kShareTolerance,
                  "the f heaviest exceed their share");
  }
}

const kernels::Vector& TableMethod::aggregate(std::uint64_t number) {
  const std::uint64_t draw = options_.seed * kSeedStride + number;
  const kernels::Vector* direction = nullptr;
  if (past_) {
    const auto coefficients = past_->table().coefficients(draw);
    BALLAST_CHECK(coefficients.has_value(), "a table with a row and a checked rule judges");
    direction = &table_.combine(*coefficients);
  } else {
    const auto result = table_.aggregate(draw);
    BALLAST_CHECK(result.has_value(), "a table with a row and a checked rule aggregates");
    direction = *result;
  }
  std::size_t index = 0;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (table_.has(i)) kept_[i] = judged().report().kept[index++];
  }
  return *direction;
}

MethodStateView TableMethod::state() const {
  MethodStateView view;
  view.numbers = {{kCounts, {counts_.begin(), counts_.end()}},
                  {kKept, kept_},
                  {kRevisions, {static_cast<double>(revision_)}}};
  for (const std::uint64_t revision : revisions_) {
    view.numbers.back().values.push_back(static_cast<double>(revision));
  }
  const TableRevisions revisions{.table = revision_, .rows = revisions_};
  add_vectors(table_, kLatestNames, revisions, view);
  if (past_) {
    view.numbers.push_back({kPast, {static_cast<double>(options_.past)}});
    add_vectors(past_->table(), kPastNames, revisions, view);
  }
  return view;
}

Status TableMethod::check(MethodState& state,
                          std::span<const std::uint64_t> lifetime_counts) const {
  const NamedNumbers* const counts = state.find_numbers(kCounts);
  const NamedNumbers* const kept = state.find_numbers(kKept);
  const NamedNumbers* const revisions = state.find_numbers(kRevisions);
  const NamedNumbers* const past = state.find_numbers(kPast);
  const double updates = past != nullptr && past->values.size() == 1 ? past->values[0] : 0.0;
  if (updates != static_cast<double>(options_.past)) {
    return invalid_argument(
        fmt::format("the state is one of {}, not of {}", method_name(updates), description()));
  }
  if (state.numbers.size() != (past_ ? 4 : 3) || counts == nullptr || kept == nullptr ||
      revisions == nullptr ||
      counts->values.size() > std::min(counts_.size(), lifetime_counts.size()) ||
      kept->values.size() != counts->values.size() ||
      revisions->values.size() != counts->values.size() + 1 || !is_count(revisions->values[0])) {
    return invalid_argument(
        fmt::format("the state is not one of a table with at most {} rows", counts_.size()));
  }
  for (std::size_t i = 0; i < counts->values.size(); ++i) {
    const double count = counts->values[i];
    if (!is_count(count) || count > static_cast<double>(lifetime_counts[i]) ||
        !std::isfinite(kept->values[i]) || !is_count(revisions->values[i + 1]) ||
        revisions->values[i + 1] > revisions->values[0]) {
      return invalid_argument(fmt::format("the record of worker {} contradicts itself", i));
    }
  }
  constexpr TableNames kTables[] = {kLatestNames, kPastNames};
  return check_vectors(state, std::span(kTables).first(past_ ? 2 : 1), counts->values,
                       options_.dim);
}

Status TableMethod::restore(MethodState state, std::span<const std::uint64_t> lifetime_counts) {
  BALLAST_TRY_STATUS(check(state, lifetime_counts));
  const std::vector<double>& counts = state.find_numbers(kCounts)->values;
  const std::vector<double>& kept = state.find_numbers(kKept)->values;
  const std::vector<double>& revisions = state.find_numbers(kRevisions)->values;
  revision_ = static_cast<std::uint64_t>(revisions[0]);
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    const bool is_known = i < counts.size();
    counts_[i] = is_known ? static_cast<std::uint64_t>(counts[i]) : 0;
    kept_[i] = is_known ? kept[i] : 0.0;
    revisions_[i] = is_known ? static_cast<std::uint64_t>(revisions[i + 1]) : 0;
  }
  put_back(state, kLatestNames, counts_, table_);
  if (past_) put_back(state, kPastNames, counts_, past_->table());
  weigh();
  return {};
}

}  // namespace

Status check_past(std::uint64_t past, const robust::Rule& rule) {
  if (past == 0 || rule.has_coefficients()) return {};
  return invalid_argument(
      fmt::format("table(past={}) steps along the latest rows with the coefficients that the rule "
                  "gives to their past, and {} has none; take ctma({}, 0.4), say, or method = "
                  "\"table\"",
                  past, rule.text(), rule.text()));
}

Result<MethodPointer> make_table_method(const TableOptions& options, robust::RulePointer rule,
                                        std::shared_ptr<const kernels::Backend> backend) {
  BALLAST_CHECK(rule != nullptr && backend != nullptr, "a table needs a rule and a backend");
  if (options.worker_count == 0) return invalid_argument("a server needs at least one worker");
  if (options.dim == 0) return invalid_argument("the model is empty");
  BALLAST_TRY_STATUS(validate(options.weights, options.worker_count));
  BALLAST_TRY_STATUS(rule->check_row_count(options.worker_count));
  BALLAST_TRY_STATUS(check_past(options.past, *rule));
  return std::make_unique<TableMethod>(options, std::move(rule), std::move(backend));
}

}  // namespace ballast::server
