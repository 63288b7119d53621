#include "apps/ballast/bench_sweep.h"

#include <algorithm>

#include "ballast/kernels/backend.h"
#include "ballast/robust/registry.h"
#include "ballast/robust/rows/fresh_rows.h"

namespace ballast::apps {
namespace {

// Passes every question on and remembers whether one was for inner products.
class ProductsWatch final : public robust::Observed {
 public:
  explicit ProductsWatch(robust::Observed& rows) noexcept : rows_(rows) {}
  bool were_asked_for() const noexcept { return were_asked_for_; }

  std::size_t row_count() const noexcept override { return rows_.row_count(); }
  std::size_t dim() const noexcept override { return rows_.dim(); }
  robust::Gram gram(const kernels::Weights& weights) override {
    were_asked_for_ = true;
    return rows_.gram(weights);
  }
  void squared_norms(std::span<double> norms) override { rows_.squared_norms(norms); }
  void squared_distances(const kernels::Vector& point, std::span<double> distances) override {
    rows_.squared_distances(point, distances);
  }
  void combine(std::span<const double> coefficients, kernels::Vector& out) override {
    rows_.combine(coefficients, out);
  }
  const kernels::Vector& median(const kernels::Weights& weights, kernels::Vector& out) override {
    return rows_.median(weights, out);
  }
  void trimmed_mean(const kernels::Weights& weights, double trim, kernels::Vector& out) override {
    rows_.trimmed_mean(weights, trim, out);
  }
  void mix(kernels::MatrixView coefficients, kernels::Table& out) override {
    rows_.mix(coefficients, out);
  }
  const kernels::Backend& backend() const noexcept override { return rows_.backend(); }
  const kernels::Vector* previous() noexcept override { return rows_.previous(); }
  std::uint64_t draw() const noexcept override { return rows_.draw(); }
  robust::Workspace& workspace() noexcept override { return rows_.workspace(); }

 private:
  robust::Observed& rows_;
  bool were_asked_for_ = false;
};

}  // namespace

std::vector<SweepPoint> sweep_points(const SweepSize& size) {
  std::vector<SweepPoint> points;
  for (std::size_t rows = 4; rows <= size.rows_max; rows *= 2) {
    points.push_back({"rows", {.rows = rows, .dim = size.dim, .threads = size.threads}});
  }
  for (std::size_t step = 1000; step <= size.values_max; step *= 10) {
    for (const std::size_t dim : {step, 2 * step, 5 * step}) {
      if (dim > size.values_max) break;
      points.push_back({"values", {.rows = size.rows, .dim = dim, .threads = size.threads}});
    }
  }
  return points;
}

double limit_ms(bool needs_products, BenchMode mode, const BenchSize& size, double stream_ms,
                double peak) {
  if (!needs_products || mode != BenchMode::kFull) return stream_ms;
  return std::max(stream_ms, 1000.0 * products_work(size) / peak);
}

Result<bool> needs_products(const std::string& text, std::size_t rows) {
  BALLAST_TRY(const robust::RulePointer rule, robust::parse_rule(text));
  BALLAST_TRY_STATUS(rule->check_row_count(rows));
  const auto backend = kernels::make_cpu_backend(1);
  std::vector<float> values(rows);
  std::vector<const float*> pointers;
  for (std::size_t i = 0; i < rows; ++i) {
    values[i] = static_cast<float>(i);
    pointers.push_back(&values[i]);
  }
  const auto table = backend->make_table(1);
  table->borrow({pointers, 1});
  const auto out = backend->make_vector(1);
  robust::Workspace workspace;
  robust::Report report;
  robust::FreshRows fresh(*table, *backend, workspace, 0);
  ProductsWatch watch(fresh);
  rule->aggregate(watch, kernels::Weights::equal(rows), *out, report);
  return watch.were_asked_for();
}

}  // namespace ballast::apps
