#include "ballast/kernels/cpu/primitives.h"

#include "ballast/kernels/host/primitives.h"

namespace ballast::kernels {
namespace {

class CpuPrimitives final : public host::Primitives {
 public:
  explicit CpuPrimitives(std::size_t threads) : threads_(threads) {}

  std::string_view name() const noexcept override { return "cpu"; }
  bool all_finite(std::span<const float> values) const override {
    return cpu::all_finite(values, threads_);
  }
  bool copy_finite(std::span<const float> from, std::span<float> to) const override {
    return cpu::copy_finite(from, to, threads_);
  }
  void inner_products(RowsView rows, std::size_t first, std::size_t last,
                      std::span<const float> centre, std::span<double> products) const override {
    cpu::inner_products(rows, first, last, centre, products, threads_);
  }
  void squared_distances(RowsView rows, std::span<const float> point,
                         std::span<double> distances) const override {
    cpu::squared_distances(rows, point, distances, threads_);
  }
  void mix(RowsView rows, MatrixView coefficients, MutableRowsView out) const override {
    cpu::mix(rows, coefficients, out, threads_);
  }
  void weighted_median(RowsView rows, const Weights& weights, std::span<float> out) const override {
    cpu::weighted_median(rows, weights, out, threads_);
  }
  void refine_median(RowsView rows, const Weights& weights, std::span<float> median,
                     host::MedianState* state) const override {
    cpu::refine_median(rows, weights, median, state, threads_);
  }
  double update_median(RowsView rows, const Weights& weights, const host::RowChange& change,
                       std::span<float> median, host::MedianState& state) const override {
    return cpu::update_median(rows, weights, change, median, state, threads_);
  }
  void weighted_trimmed_mean(RowsView rows, const Weights& weights, double trim,
                             std::span<float> out) const override {
    cpu::weighted_trimmed_mean(rows, weights, trim, out, threads_);
  }
  bool descend(std::span<const float> w, std::span<const float> direction, double rate,
               std::span<float> next) const override {
    return cpu::descend(w, direction, rate, next, threads_);
  }
  bool descend_along(std::span<const float> w, const host::Combination& direction, double rate,
                     std::span<float> next) const override {
    return cpu::descend_along(w, direction, rate, next, threads_);
  }
  bool average(std::span<const float> newest, std::span<const float> before, double share,
               std::span<float> next) const override {
    return cpu::average(newest, before, share, next, threads_);
  }
  bool descend_and_average(const host::StepVectors& vectors, double rate,
                           double share) const override {
    return cpu::descend_and_average(vectors, rate, share, threads_);
  }
  bool correct(const host::CorrectionSpans& spans, double keep) const override {
    return cpu::correct(spans, keep, threads_);
  }

 private:
  std::size_t threads_;
};

}  // namespace

std::unique_ptr<host::Primitives> host::make_cpu_primitives(std::size_t threads) {
  return std::make_unique<CpuPrimitives>(threads);
}

}  // namespace ballast::kernels
