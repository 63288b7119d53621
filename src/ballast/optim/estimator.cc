#include "ballast/optim/estimator.h"

#include <fmt/core.h>

#include <utility>

#include "ballast/base/check.h"
#include "ballast/kernels/finite.h"
#include "ballast/optim/elementwise.h"

namespace ballast::optim {
namespace {

Status check(const Mu2Estimator& mu2) {
  const auto* constant = std::get_if<ConstantBeta>(&mu2.beta);
  if (constant == nullptr || (constant->beta >= 0.0 && constant->beta <= 1.0)) return {};
  return invalid_argument(fmt::format("beta is {}; it must be in [0, 1]", constant->beta));
}

Status check(const MomentumEstimator& momentum) {
  if (momentum.b >= 0.0 && momentum.b < 1.0) return {};
  return invalid_argument(fmt::format("the momentum b is {}; it must be in [0, 1)", momentum.b));
}

Status check(const SgdEstimator&) { return {}; }

double keep_at(const Mu2Estimator& mu2, std::uint64_t k) noexcept {
  const auto* constant = std::get_if<ConstantBeta>(&mu2.beta);
  return 1.0 - (constant != nullptr ? constant->beta : 1.0 / static_cast<double>(k));
}

double keep_at(const MomentumEstimator& momentum, std::uint64_t) noexcept { return momentum.b; }

double keep_at(const SgdEstimator&, std::uint64_t) noexcept { return 0.0; }

}  // namespace

Correction correction_at(const EstimatorOptions& options, std::uint64_t k) {
  if (k <= 1) return {};
  const double keep = std::visit([k](const auto& kind) { return keep_at(kind, k); }, options);
  return {.keep = keep,
          .needs_previous_gradient = std::holds_alternative<Mu2Estimator>(options) && keep != 0.0};
}

template <typename Real>
Result<Estimator<Real>> Estimator<Real>::make(const EstimatorOptions& options, std::size_t dim) {
  if (dim == 0) return invalid_argument("an estimator needs at least one coordinate");
  BALLAST_TRY_STATUS(std::visit([](const auto& kind) { return check(kind); }, options));
  return Estimator(options, dim);
}

template <typename Real>
Estimator<Real>::Estimator(const EstimatorOptions& options, std::size_t dim)
    : options_(options), next_(dim) {
  state_.direction.resize(dim);
}

// keep_k of the next update.
template <typename Real>
double Estimator<Real>::keep() const {
  return correction_at(options_, state_.updates + 1).keep;
}

template <typename Real>
bool Estimator<Real>::needs_previous_gradient() const {
  return correction_at(options_, state_.updates + 1).needs_previous_gradient;
}

template <typename Real>
Result<std::span<const Real>> Estimator<Real>::update(std::span<const Real> gradient,
                                                      std::span<const Real> previous_gradient) {
  const std::span<const Real> reference = needs_previous_gradient() ? previous_gradient : gradient;
  BALLAST_CHECK(gradient.size() == dim() && reference.size() == dim(),
                "a gradient has the wrong size");
  const std::span<const Real> before = state_.direction;
  if (!correct(gradient, before, reference, keep(), std::span<Real>(next_))) {
    return not_finite(fmt::format("update {} is not finite", state_.updates + 1));
  }
  state_.direction.swap(next_);
  ++state_.updates;
  return state_.direction;
}

template <typename Real>
Status Estimator<Real>::restore(EstimatorState<Real> state) {
  if (state.direction.size() != dim()) {
    return invalid_argument(
        fmt::format("the saved direction has {} values, not {}", state.direction.size(), dim()));
  }
  if (!kernels::all_finite(state.direction)) {
    return invalid_argument("the saved direction is not finite");
  }
  state_ = std::move(state);
  return {};
}

template class Estimator<float>;
template class Estimator<double>;

}  // namespace ballast::optim
