#include "ballast/kernels/reference/primitives.h"

#include "ballast/kernels/host/primitives.h"

namespace ballast::kernels {
namespace {

class ReferencePrimitives final : public host::Primitives {
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
                     host::MedianState* state) const override {
    reference::refine_median(rows, weights, median, state);
  }
  double update_median(RowsView rows, const Weights& weights, const host::RowChange& change,
                       std::span<float> median, host::MedianState& state) const override {
    return reference::update_median(rows, weights, change, median, state);
  }
  void weighted_trimmed_mean(RowsView rows, const Weights& weights, double trim,
                             std::span<float> out) const override {
    reference::weighted_trimmed_mean(rows, weights, trim, out);
  }
  bool descend(std::span<const float> w, std::span<const float> direction, double rate,
               std::span<float> next) const override {
    return reference::descend(w, direction, rate, next);
  }
  bool descend_along(std::span<const float> w, const host::Combination& direction, double rate,
                     std::span<float> next) const override {
    return reference::descend_along(w, direction, rate, next);
  }
  bool average(std::span<const float> newest, std::span<const float> before, double share,
               std::span<float> next) const override {
    return reference::average(newest, before, share, next);
  }
  bool descend_and_average(const host::StepVectors& vectors, double rate,
                           double share) const override {
    return reference::descend_and_average(vectors, rate, share);
  }
  bool correct(const host::CorrectionSpans& spans, double keep) const override {
    return reference::correct(spans, keep);
  }
};

}  // namespace

std::unique_ptr<host::Primitives> host::make_reference_primitives() {
  return std::make_unique<ReferencePrimitives>();
}

}  // namespace ballast::kernels
