#include "ballast/robust/row_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/base/ieee_arithmetic.h"
#include "ballast/robust/rows/fresh_rows.h"

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

RowTable::RowTable(RulePointer rule, std::shared_ptr<const kernels::Backend> backend,
                   std::size_t rows_max, std::size_t dim)
    : rule_(std::move(rule)), backend_(std::move(backend)), dim_(dim), slots_(rows_max) {
  BALLAST_CHECK(rows_max >= 1 && dim >= 1, "a table needs room for a row");
  table_ = backend_->make_table(dim);
  result_ = backend_->make_vector(dim);
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
  return put(row, kernels::Incoming{.values = values}, weight);
}

Status RowTable::put(std::size_t row, RowBuffer& values, double weight) {
  return put(row, kernels::Incoming{.values = values.values(), .memory = &values}, weight);
}

Status RowTable::put(std::size_t row, const kernels::Incoming& values, double weight) {
  BALLAST_TRY_STATUS(check(row, values.values.size(), weight));
  Slot& slot = slots_[row];
  const std::size_t index = index_of(row);
  const bool is_put = slot.is_filled ? table_->put(index, values) : table_->insert(index, values);
  if (!is_put) return not_finite(row);
  slot.weight = weight;
  slot.has_products = false;
  if (!slot.is_filled) {
    slot.is_filled = true;
    renumber();
  }
  return {};
}

Status RowTable::set_weight(std::size_t row, double weight) {
  if (!has(row)) return invalid_argument(fmt::format("row {} does not exist", row));
  BALLAST_TRY_STATUS(check_weight(row, weight));
  slots_[row].weight = weight;
  return {};
}

void RowTable::remove(std::size_t row) {
  if (!has(row)) return;
  table_->remove(index_of(row));
  slots_[row] = Slot{};
  renumber();
}

std::span<const float> RowTable::row(std::size_t row) const {
  if (!has(row)) return {};
  const std::size_t index = index_of(row);
  const std::span<const float> in_host = table_->host_row(index);
  if (!in_host.empty()) return in_host;
  read_back_.resize(slots_.size());
  read_back_[row].resize(dim_);
  table_->read(index, read_back_[row]);
  return read_back_[row];
}

std::span<const float> RowTable::centre() const {
  if (centre_ == nullptr) return {};
  const std::span<const float> in_host = centre_->host_view();
  if (!in_host.empty()) return in_host;
  centre_read_back_.resize(dim_);
  centre_->read(centre_read_back_);
  return centre_read_back_;
}

void RowTable::set_centre(std::span<const float> centre) {
  BALLAST_CHECK(centre.empty() || centre.size() == dim_, "the centre has the wrong size");
  centre_ = centre.empty() ? nullptr : backend_->make_vector(dim_);
  if (centre_ != nullptr) centre_->write(centre);
  for (Slot& slot : slots_) slot.has_products = false;
}

const kernels::Vector* RowTable::previous() noexcept {
  needs_previous_ = true;
  return newest_result_;
}

std::span<const float> RowTable::previous_result() const {
  if (!needs_previous_ || newest_result_ == nullptr) return {};
  const std::span<const float> in_host = newest_result_->host_view();
  if (!in_host.empty()) return in_host;
  previous_read_back_.resize(dim_);
  newest_result_->read(previous_read_back_);
  return previous_read_back_;
}

void RowTable::set_previous_result(std::span<const float> values) {
  BALLAST_CHECK(values.empty() || values.size() == dim_, "the result has the wrong size");
  needs_previous_ = !values.empty();
  newest_result_ = values.empty() ? nullptr : result_.get();
  if (!values.empty()) result_->write(values);
}

std::size_t RowTable::index_of(std::size_t row) const noexcept {
  return static_cast<std::size_t>(std::ranges::lower_bound(filled_, row) - filled_.begin());
}

// After a row came or went: the remembered products of the others move to their new places.
void RowTable::renumber() {
  const std::vector<std::size_t> before = std::exchange(filled_, {});
  for (std::size_t row = 0; row < slots_.size(); ++row) {
    if (slots_[row].is_filled) filled_.push_back(row);
  }
  const std::size_t m = filled_.size();
  const bool has_products =
      std::ranges::any_of(slots_, [](const Slot& slot) { return slot.has_products; });
  if (!has_products) return products_.resize(m * m);
  std::vector<double> products(m * m);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (!has(before[i])) continue;
    const std::span<double> row = std::span(products).subspan(index_of(before[i]) * m, m);
    for (std::size_t j = 0, to = 0; j < before.size(); ++j) {
      if (!has(before[j])) continue;
      while (filled_[to] != before[j]) ++to;
      row[to] = products_[i * before.size() + j];
    }
  }
  products_ = std::move(products);
}

// What every question to the rule begins with.
Status RowTable::begin(std::uint64_t draw) {
  if (filled_.empty()) return invalid_argument("the table has no rows yet");
  BALLAST_CHECK(rule_ != nullptr, "a table without a rule only combines");
  BALLAST_TRY_STATUS(rule_->check_row_count(filled_.size()));
  workspace_.reset();
  const std::span<double> weights = workspace_.take<double>(filled_.size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = slots_[filled_[i]].weight;
  BALLAST_TRY_STATUS(weights_.assign(weights));
  draw_ = draw;
  report_.kept.clear();
  report_.iterations = 0;
  return {};
}

void RowTable::finish_report() {
  if (report_.kept.empty()) report_.kept.assign(filled_.size(), 1.0);
}

Result<const kernels::Vector*> RowTable::aggregate(std::uint64_t draw) {
  const IeeeArithmetic ieee;
  BALLAST_TRY_STATUS(begin(draw));
  newest_result_ = &rule_->aggregate(*this, weights_, *result_, report_);
  finish_report();
  return newest_result_;
}

Result<std::span<const double>> RowTable::coefficients(std::uint64_t draw) {
  const IeeeArithmetic ieee;
  BALLAST_TRY_STATUS(begin(draw));
  coefficients_.resize(filled_.size());
  rule_->coefficients(*this, weights_, coefficients_, report_);
  finish_report();
  // A rule that begins from its last result needs that, not the coefficients alone.
  if (needs_previous_) combine(coefficients_);
  return coefficients_;
}

const kernels::Vector& RowTable::combine(std::span<const double> coefficients) {
  const IeeeArithmetic ieee;
  BALLAST_CHECK(coefficients.size() == filled_.size() && !filled_.empty(),
                "a combination needs a coefficient for each row");
  backend_->combine(*table_, coefficients, *result_);
  needs_previous_ = true;
  return *(newest_result_ = result_.get());
}

void RowTable::copy_row(std::size_t row, kernels::Vector& out) const {
  BALLAST_CHECK(has(row), "only a row that exists can be copied");
  backend_->copy_row(*table_, index_of(row), out);
}

std::vector<RowMeasure> RowTable::measure() const {
  if (filled_.empty()) return {};
  std::vector<double> norms(filled_.size()), distances(filled_.size());
  backend_->squared_distances(*table_, nullptr, norms);
  backend_->squared_distances(*table_, newest_result_, distances);
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
    backend_->inner_products(*table_, 0, m, centre_.get(), products_);
  } else if (stale > 0) {
    for (std::size_t i = 0; i < m; ++i) {
      if (slots_[filled_[i]].has_products) continue;
      const std::span<double> row = std::span(products_).subspan(i * m, m);
      backend_->inner_products(*table_, i, i + 1, centre_.get(), row);
      for (std::size_t j = 0; j < m; ++j) products_[j * m + i] = row[j];
    }
  }
  if (stale > 0) centred_for_.clear();
  for (const std::size_t row : filled_) slots_[row].has_products = true;
}

Gram RowTable::gram(const kernels::Weights& weights) {
  const std::size_t m = filled_.size();
  refresh_products();
  const Gram gram(products_, m);
  if (std::ranges::equal(weights.units(), centred_for_)) return gram;  // a meta rule asks again
  const std::span<double> scratch = workspace_.take<double>(3 * m);
  if (gram.is_surely_well_centred(weights, scratch)) {
    centred_for_.assign(weights.units().begin(), weights.units().end());
    return gram;
  }
  const Gram::Core core = gram.core(weights, scratch);
  if (!gram.is_well_centred(core, weights, scratch)) {
    auto centre = backend_->make_vector(dim_);
    backend_->copy_row(*table_, core.row, *centre);
    compute_gram(*table_, *backend_, weights, centre.get(), workspace_, products_);
    centre_ = std::move(centre);
  }
  return gram;
}

void RowTable::squared_norms(std::span<double> norms) {
  backend_->squared_distances(*table_, nullptr, norms);
}

void RowTable::squared_distances(const kernels::Vector& point, std::span<double> distances) {
  backend_->squared_distances(*table_, &point, distances);
}

void RowTable::combine(std::span<const double> coefficients, kernels::Vector& out) {
  backend_->combine(*table_, coefficients, out);
}

const kernels::Vector& RowTable::median(const kernels::Weights& weights, kernels::Vector&) {
  return backend_->follow_median(*table_, weights);
}

void RowTable::trimmed_mean(const kernels::Weights& weights, double trim, kernels::Vector& out) {
  backend_->weighted_trimmed_mean(*table_, weights, trim, out);
}

void RowTable::mix(kernels::MatrixView coefficients, kernels::Table& out) {
  backend_->mix(*table_, coefficients, out);
}

}  // namespace ballast::robust
