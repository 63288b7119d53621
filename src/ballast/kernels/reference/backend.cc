#include "ballast/kernels/backend.h"

#include "ballast/kernels/reference/primitives.h"

namespace ballast::kernels {
namespace {

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const noexcept override { return "reference"; }
  bool all_finite(std::span<const float> values) const override {
    return reference::all_finite(values);
  }
  bool copy_finite(std::span<const float> from, std::span<float> to) const override {
    return reference::copy_finite(from, to);
  }
  void inner_products(RowsView rows, std::size_t first, std::size_t last,
                      std::span<const float> centre, std::span<double> products) const override {
    reference::inner_products(rows, first, last, centre, products);
  }
  void squared_distances(RowsView rows, std::span<const float> point,
                         std::span<double> distances) const override {
    reference::squared_distances(rows, point, distances);
  }
  void mix(RowsView rows, MatrixView coefficients, MutableRowsView out) const override {
    reference::mix(rows, coefficients, out);
  }
  void weighted_median(RowsView rows, const Weights& weights, std::span<float> out) const override {
    reference::weighted_median(rows, weights, out);
  }
  void refine_median(RowsView rows, const Weights& weights, std::span<float> median,
                     MedianState* state) const override {
    reference::refine_median(rows, weights, median, state);
  }
  double update_median(RowsView rows, const Weights& weights, const RowChange& change,
                       std::span<float> median, MedianState& state) const override {
    return reference::update_median(rows, weights, change, median, state);
  }
  void weighted_trimmed_mean(RowsView rows, const Weights& weights, double trim,
                             std::span<float> out) const override {
    reference::weighted_trimmed_mean(rows, weights, trim, out);
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace ballast::kernels
