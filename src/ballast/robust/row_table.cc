#include "ballast/robust/row_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/robust/fresh_rows.h"

namespace ballast::robust {
namespace {

Status check_weight(std::size_t row, double weight) {
  if (weight > 0.0 && std::isfinite(weight)) return {};
  return invalid_argument(
      fmt::format("the weight of row {} is {}; it must be positive and finite", row, weight));
}

tl::unexpected<Error> not_finite(std::size_t row) {
  return invalid_argument(fmt::format("row {} holds a NaN or an infinity", row));
}

}  // namespace

RowTable::RowTable(RulePointer rule, std::unique_ptr<kernels::Backend> backend,
                   std::size_t rows_max, std::size_t dim)
    : rule_(std::move(rule)), backend_(std::move(backend)), dim_(dim), slots_(rows_max) {
  BALLAST_CHECK(rows_max >= 1 && dim >= 1, "a table needs room for a row");
  result_.resize(dim);
}

Status RowTable::check(std::size_t row, std::size_t size, double weight) const {
  if (row >= slots_.size()) {
    return invalid_argument(fmt::format("row {} is past the last one, {}", row, slots_.size() - 1));
  }
  if (size != dim_) {
    return invalid_argument(fmt::format("row {} has {} values instead of {}", row, size, dim_));
  }
  return check_weight(row, weight);
}

Status RowTable::put(std::size_t row, std::span<const float> values, double weight) {
  BALLAST_TRY_STATUS(check(row, values.size(), weight));
  if (spare_.is_empty()) spare_ = RowBuffer(dim_, slots_.size());
  if (!backend_->copy_finite(values, spare_.values())) {
    median_changes_.forget_old_values();
    return not_finite(row);
  }
  replace_by_spare(row, weight);
  return {};
}

Status RowTable::put(std::size_t row, RowBuffer& values, double weight) {
  BALLAST_TRY_STATUS(check(row, values.values().size(), weight));
  if (!backend_->all_finite(values.values())) return not_finite(row);
  if (spare_.is_empty()) spare_ = RowBuffer(dim_, slots_.size());
  std::swap(values, spare_);
  replace_by_spare(row, weight);
  return {};
}

// The new values lie where the row replaced before lay, so that the old ones of this row survive
// until the median has been brought up to date.
void RowTable::replace_by_spare(std::size_t row, double weight) {
  Slot& slot = slots_[row];
  slot.weight = weight;
  slot.has_products = false;
  if (slot.is_filled) {
    std::swap(slot.values, spare_);
    const std::size_t index = index_of(row);
    pointers_[index] = slot.values.values().data();
    median_changes_.note(index);
    return;
  }
  slot.values = std::move(spare_);
  spare_ = RowBuffer(dim_, row);
  slot.is_filled = true;
  refill_pointers();
}

Status RowTable::set_weight(std::size_t row, double weight) {
  if (!has(row)) return invalid_argument(fmt::format("row {} does not exist", row));
  BALLAST_TRY_STATUS(check_weight(row, weight));
  slots_[row].weight = weight;
  return {};
}

void RowTable::remove(std::size_t row) {
  if (!has(row)) return;
  slots_[row] = Slot{};
  refill_pointers();
}

void RowTable::set_centre(std::span<const float> centre) {
  BALLAST_CHECK(centre.empty() || centre.size() == dim_, "the centre has the wrong size");
  centre_.assign(centre.begin(), centre.end());
  for (Slot& slot : slots_) slot.has_products = false;
}

std::size_t RowTable::index_of(std::size_t row) const noexcept {
  return static_cast<std::size_t>(std::ranges::lower_bound(filled_, row) - filled_.begin());
}

// After a row came or went: the remembered products of the others move to their new places.
void RowTable::refill_pointers() {
  const std::vector<std::size_t> before = std::exchange(filled_, {});
  pointers_.clear();
  for (std::size_t row = 0; row < slots_.size(); ++row) {
    if (!slots_[row].is_filled) continue;
    filled_.push_back(row);
    pointers_.push_back(slots_[row].values.values().data());
  }
  const std::size_t m = filled_.size();
  std::vector<double> products(m * m);
  for (std::size_t i = 0; i < before.size(); ++i) {
    for (std::size_t j = 0; j < before.size(); ++j) {
      if (!has(before[i]) || !has(before[j])) continue;
      products[index_of(before[i]) * m + index_of(before[j])] = products_[i * before.size() + j];
    }
  }
  products_ = std::move(products);
  median_changes_.note_many();
}

Result<std::span<const float>> RowTable::aggregate(std::uint64_t draw) {
  if (filled_.empty()) return invalid_argument("the table has no rows yet");
  BALLAST_TRY_STATUS(rule_->check_row_count(filled_.size()));
  workspace_.reset();
  const std::span<double> weights = workspace_.take<double>(filled_.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = slots_[filled_[i]].weight;
  BALLAST_TRY_STATUS(weights_.assign(weights));
  draw_ = draw;
  report_.kept.clear();
  report_.iterations = 0;
  newest_result_ = rule_->aggregate(*this, weights_, result_, report_);
  if (report_.kept.empty()) report_.kept.assign(filled_.size(), 1.0);
  return newest_result_;
}

std::vector<RowMeasure> RowTable::measure() const {
  if (filled_.empty()) return {};
  std::vector<double> norms(filled_.size()), distances(filled_.size());
  backend_->squared_distances(rows(), {}, norms);
  backend_->squared_distances(rows(), newest_result_, distances);
  std::vector<RowMeasure> measures(filled_.size());
  for (std::size_t i = 0; i < measures.size(); ++i) {
    measures[i] = {.norm = std::sqrt(norms[i]), .distance = std::sqrt(distances[i])};
  }
  return measures;
}

// Recomputes the products of the rows that changed: row by row while those are few, else all at
// once.
void RowTable::refresh_products() {
  const std::size_t m = filled_.size();
  const auto stale = static_cast<std::size_t>(
      std::ranges::count_if(filled_, [&](std::size_t row) { return !slots_[row].has_products; }));
  if (2 * stale > m) {
    backend_->inner_products(rows(), 0, m, centre_, products_);
  } else if (stale > 0) {
    for (std::size_t i = 0; i < m; ++i) {
      if (slots_[filled_[i]].has_products) continue;
      const std::span<double> row = std::span(products_).subspan(i * m, m);
      backend_->inner_products(rows(), i, i + 1, centre_, row);
      for (std::size_t j = 0; j < m; ++j) products_[j * m + i] = row[j];
    }
  }
  for (const std::size_t row : filled_) slots_[row].has_products = true;
}

Gram RowTable::gram(const kernels::Weights& weights) {
  const std::size_t m = filled_.size();
  refresh_products();
  const Gram gram(products_, m);
  const std::span<double> scratch = workspace_.take<double>(2 * m);
  const Gram::Core core = gram.core(weights, scratch);
  if (!gram.is_well_centred(core, weights, scratch)) {
    const auto row = rows().row(core.row);
    AlignedVector<float> centre(row.begin(), row.end());
    const std::size_t better =
        compute_gram(rows(), *backend_, weights, centre, workspace_, products_);
    if (better < m) centre.assign(rows().row(better).begin(), rows().row(better).end());
    centre_ = std::move(centre);
  }
  return gram;
}

void RowTable::squared_norms(std::span<double> norms) {
  backend_->squared_distances(rows(), {}, norms);
}

void RowTable::squared_distances(std::span<const float> point, std::span<double> distances) {
  backend_->squared_distances(rows(), point, distances);
}

void RowTable::combine(std::span<const double> coefficients, std::span<float> out) {
  float* const out_rows[] = {out.data()};
  backend_->mix(rows(), kernels::MatrixView(coefficients, filled_.size()),
                kernels::MutableRowsView(out_rows, out.size()));
}

std::span<const float> RowTable::median(const kernels::Weights& weights, std::span<float>) {
  const auto result =
      follower_.update(rows(), weights, median_changes_, spare_.values(), *backend_);
  median_changes_.clear();
  return result;
}

void RowTable::trimmed_mean(const kernels::Weights& weights, double trim, std::span<float> out) {
  backend_->weighted_trimmed_mean(rows(), weights, trim, out);
}

void RowTable::mix(kernels::MatrixView coefficients, kernels::MutableRowsView out) {
  backend_->mix(rows(), coefficients, out);
}

}  // namespace ballast::robust
