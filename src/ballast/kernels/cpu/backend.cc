#include "ballast/kernels/backend.h"

#include "ballast/kernels/cpu/primitives.h"

namespace ballast::kernels {
namespace {

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(std::size_t threads) : threads_(threads) {}

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
                     MedianState* state) const override {
    cpu::refine_median(rows, weights, median, state, threads_);
  }
  double update_median(RowsView rows, const Weights& weights, const RowChange& change,
                       std::span<float> median, MedianState& state) const override {
    return cpu::update_median(rows, weights, change, median, state, threads_);
  }
  void weighted_trimmed_mean(RowsView rows, const Weights& weights, double trim,
                             std::span<float> out) const override {
    cpu::weighted_trimmed_mean(rows, weights, trim, out, threads_);
  }

 private:
  std::size_t threads_;
};

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(std::size_t threads) {
  return std::make_unique<CpuBackend>(threads);
}

}  // namespace ballast::kernels
