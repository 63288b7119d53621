#include "ballast/kernels/peak.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "ballast/base/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ballast/kernels/cpu/measure/peak.cc"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ballast::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Chains that wait for nothing but themselves, enough to fill the units. Returns how many
// multiply-adds were made; their result goes where the compiler must believe it is wanted.
double multiply_and_add(std::size_t rounds, double* HWY_RESTRICT result) {
  const hn::ScalableTag<double> d;
  constexpr std::size_t kChains = 12;
  hn::Vec<decltype(d)> chains[kChains];
  for (std::size_t i = 0; i < kChains; ++i) chains[i] = hn::Set(d, static_cast<double>(i));
  const auto factor = hn::Set(d, 0.5), term = hn::Set(d, 1.0);
  for (std::size_t round = 0; round < rounds; ++round) {
    for (auto& chain : chains) chain = hn::MulAdd(chain, factor, term);
  }
  auto sum = hn::Zero(d);
  for (const auto& chain : chains) sum = hn::Add(sum, chain);
  *result = hn::GetLane(sum);
  return static_cast<double>(rounds * kChains * hn::Lanes(d));
}

}  // namespace ballast::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ballast::kernels {
namespace cpu {

HWY_EXPORT(multiply_and_add);

double measure_peak(std::size_t threads) {
  using Clock = std::chrono::steady_clock;
  constexpr std::size_t kRounds = 300'000;
  constexpr int kTries = 16;  // the best of them: whatever disturbs makes it slower
  std::vector<double> counts(threads), results(threads);
  double best = 0.0;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const Clock::time_point start = Clock::now();
    parallel_for(threads, threads, [&](std::size_t i) {
      counts[i] = HWY_DYNAMIC_DISPATCH(multiply_and_add)(kRounds, &results[i]);
    });
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    best = std::max(best, std::accumulate(counts.begin(), counts.end(), 0.0) / seconds);
  }
  return best;
}

}  // namespace cpu

double measure_peak(std::size_t threads) { return cpu::measure_peak(threads); }

}  // namespace ballast::kernels
#endif
