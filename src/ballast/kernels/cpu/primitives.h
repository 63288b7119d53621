#pragma once
// The fast kernels: SIMD through Highway with run-time dispatch, threads over fixed blocks of
// coordinates. backend.h states what each computes, reference/ holds the plain twins.

#include <span>

#include "ballast/kernels/host/primitives.h"
#include "ballast/kernels/rows.h"
#include "ballast/kernels/weights.h"

namespace ballast::kernels::cpu {

bool all_finite(std::span<const float> values, std::size_t threads);
bool copy_finite(std::span<const float> from, std::span<float> to, std::size_t threads);
void inner_products(RowsView rows, std::size_t first, std::size_t last,
                    std::span<const float> centre, std::span<double> products, std::size_t threads);
void squared_distances(RowsView rows, std::span<const float> point, std::span<double> distances,
                       std::size_t threads);
void mix(RowsView rows, MatrixView coefficients, MutableRowsView out, std::size_t threads);

// One combination over [begin, end), on the calling thread; out[0] is of the coordinate `begin`.
void combine_range(const host::Combination& combination, std::size_t begin, std::size_t end,
                   float* out);

void weighted_median(RowsView rows, const Weights& weights, std::span<float> out,
                     std::size_t threads);
void refine_median(RowsView rows, const Weights& weights, std::span<float> median,
                   host::MedianState* state, std::size_t threads);
double update_median(RowsView rows, const Weights& weights, const host::RowChange& change,
                     std::span<float> median, host::MedianState& state, std::size_t threads);
void weighted_trimmed_mean(RowsView rows, const Weights& weights, double trim, std::span<float> out,
                           std::size_t threads);
bool descend(std::span<const float> w, std::span<const float> direction, double rate,
             std::span<float> next, std::size_t threads);
bool descend_along(std::span<const float> w, const host::Combination& direction, double rate,
                   std::span<float> next, std::size_t threads);
bool average(std::span<const float> newest, std::span<const float> before, double share,
             std::span<float> next, std::size_t threads);
bool descend_and_average(const host::StepVectors& vectors, double rate, double share,
                         std::size_t threads);
bool correct(const host::CorrectionSpans& spans, double keep, std::size_t threads);

}  // namespace ballast::kernels::cpu
