#pragma once
// The plain twins of the fast kernels: double precision, one loop per sentence of the definition,
// never optimised. backend.h states what each computes.

#include <span>

#include "ballast/kernels/host/primitives.h"
#include "ballast/kernels/rows.h"
#include "ballast/kernels/weights.h"

namespace ballast::kernels::reference {

bool all_finite(std::span<const float> values);
bool copy_finite(std::span<const float> from, std::span<float> to);
void inner_products(RowsView rows, std::size_t first, std::size_t last,
                    std::span<const float> centre, std::span<double> products);
void squared_distances(RowsView rows, std::span<const float> point, std::span<double> distances);
void mix(RowsView rows, MatrixView coefficients, MutableRowsView out);
void weighted_median(RowsView rows, const Weights& weights, std::span<float> out);
void refine_median(RowsView rows, const Weights& weights, std::span<float> median,
                   host::MedianState* state);
double update_median(RowsView rows, const Weights& weights, const host::RowChange& change,
                     std::span<float> median, host::MedianState& state);
void weighted_trimmed_mean(RowsView rows, const Weights& weights, double trim,
                           std::span<float> out);
bool descend(std::span<const float> w, std::span<const float> direction, double rate,
             std::span<float> next);
bool descend_along(std::span<const float> w, const host::Combination& direction, double rate,
                   std::span<float> next);
bool average(std::span<const float> newest, std::span<const float> before, double share,
             std::span<float> next);
bool descend_and_average(const host::StepVectors& vectors, double rate, double share);
bool correct(const host::CorrectionSpans& spans, double keep);

}  // namespace ballast::kernels::reference
