#include "ballast/methods/counted_method.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/expression/parameter.h"
#include "ballast/kernels/finite.h"

namespace ballast::methods {
namespace {

constexpr const char* kCounts = "counts";
constexpr const char* kArrivals = "arrivals";
constexpr const char* kRefused = "refused";

bool is_whole(double value) {
  return value >= 0.0 && value < expression::kWholeMax && value == std::floor(value);
}

}  // namespace

Result<const std::vector<double>*> StateReader::find(std::string_view name, std::size_t size_max) {
  const server::NamedNumbers* const found = state_.find_numbers(name);
  if (found == nullptr || found->values.size() > size_max) {
    return invalid_argument(
        fmt::format("the state has no list '{}' of at most {} numbers", name, size_max));
  }
  ++numbers_read_;
  return &found->values;
}

Result<std::uint64_t> StateReader::whole(std::string_view name) {
  BALLAST_TRY(const std::vector<std::uint64_t> values, list(name, 1));
  if (values.empty()) return invalid_argument(fmt::format("the number '{}' is missing", name));
  return values[0];
}

Result<std::vector<std::uint64_t>> StateReader::per_worker(std::string_view name,
                                                           std::uint64_t absent) {
  BALLAST_TRY(std::vector<std::uint64_t> values, list(name, worker_count_));
  values.resize(worker_count_, absent);
  return values;
}

Result<std::vector<std::uint64_t>> StateReader::list(std::string_view name, std::size_t size_max) {
  BALLAST_TRY(const std::vector<double>* const found, find(name, size_max));
  if (!std::ranges::all_of(*found, is_whole)) {
    return invalid_argument(fmt::format("the list '{}' holds what is no whole number", name));
  }
  return std::vector<std::uint64_t>(found->begin(), found->end());
}

Result<std::vector<double>> StateReader::numbers(std::string_view name, double absent) {
  BALLAST_TRY(const std::vector<double>* const found, find(name, worker_count_));
  if (!kernels::all_finite(*found)) {
    return invalid_argument(fmt::format("the list '{}' holds what is not finite", name));
  }
  std::vector<double> values = *found;
  values.resize(worker_count_, absent);
  return values;
}

Result<KeptVector> StateReader::vector(std::string_view name) {
  server::NamedVector* const found = state_.find_vector(name);
  if (found == nullptr) return KeptVector{};
  if (found->values.size() != dim_ || !kernels::all_finite(found->values)) {
    return invalid_argument(fmt::format("the vector {} is not {} finite values", name, dim_));
  }
  ++vectors_read_;
  return KeptVector{.values = std::move(found->values), .revision = found->revision};
}

Status StateReader::finish() const {
  if (numbers_read_ == state_.numbers.size() && vectors_read_ == state_.vectors.size()) return {};
  return invalid_argument("the state holds lists or vectors that this method does not have");
}

CountedMethod::CountedMethod(MethodSetting setting)
    : setting_(std::move(setting)), counts_(setting_.worker_count) {}

server::Answer CountedMethod::on_update(const server::AdmittedUpdate& update) {
  ++arrivals_;
  const server::Answer answer = judge(update);
  if (answer.kind == server::Answer::Kind::kRefused) {
    ++refused_;
  } else {
    ++counts_[update.worker];
  }
  return answer;
}

void CountedMethod::remove(std::uint32_t worker) {
  counts_[worker] = 0;
  ++arrivals_;  // what forget() changes has a revision of its own
  forget(worker);
}

void CountedMethod::on_enrol() {
  BALLAST_CHECK(setting_.free_places > 0, "a worker is enrolled in a free place");
  --setting_.free_places;
}

server::WorkerShare CountedMethod::worker(std::uint32_t worker) const {
  return {.count = counts_[worker]};
}

std::vector<server::NamedNumber> CountedMethod::figures() const {
  std::vector<server::NamedNumber> figures;
  add_figure(figures, "refused", refused_);
  add_figures(figures);
  return figures;
}

server::MethodStateView CountedMethod::state() const {
  server::MethodStateView view;
  save_list(view, kCounts, counts_);
  save_whole(view, kArrivals, arrivals_);
  save_whole(view, kRefused, refused_);
  save(view);
  return view;
}

Status CountedMethod::restore(server::MethodState state,
                              std::span<const std::uint64_t> lifetime_counts) {
  StateReader reader(state, places(), dim());
  BALLAST_TRY(std::vector<std::uint64_t> counts, reader.per_worker(kCounts));
  BALLAST_TRY(const std::uint64_t arrivals, reader.whole(kArrivals));
  BALLAST_TRY(const std::uint64_t refused, reader.whole(kRefused));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] <= (i < lifetime_counts.size() ? lifetime_counts[i] : 0)) continue;
    return invalid_argument(
        fmt::format("the state rests on more updates of worker {} than were accepted", i));
  }
  BALLAST_TRY_STATUS(load(reader));
  counts_ = std::move(counts);
  arrivals_ = arrivals;
  refused_ = refused;
  return {};
}

void CountedMethod::add_figure(std::vector<server::NamedNumber>& figures, std::string name,
                               std::uint64_t value) {
  server::NamedNumber& figure = figures.emplace_back();
  figure.name = std::move(name);
  figure.value = static_cast<double>(value);
}

void CountedMethod::save_whole(server::MethodStateView& view, std::string name,
                               std::uint64_t value) {
  view.numbers.push_back({std::move(name), {static_cast<double>(value)}});
}

void CountedMethod::save_list(server::MethodStateView& view, std::string name,
                              std::span<const std::uint64_t> values) {
  view.numbers.push_back({std::move(name), {values.begin(), values.end()}});
}

void CountedMethod::save_vector(server::MethodStateView& view, std::string name,
                                const KeptVector& vector) {
  if (!vector.values.empty()) {
    view.vectors.push_back({std::move(name), vector.revision, vector.values});
  }
}

}  // namespace ballast::methods
