#pragma once
// The slow twin of gradient.h: plain loops in double precision, one per formula. The tests hold the
// fast one to it, and hold it to finite differences.

#include <span>

#include "ballast/nn/gradient.h"

namespace ballast::nn::reference {

// As nn::gradient and nn::evaluate.
double gradient(const Network& network, std::span<const double> parameters, const Batch& batch,
                std::span<double> gradient_out, std::span<double> statistics_in_out);

NetworkEvaluation evaluate(const Network& network, std::span<const double> parameters,
                           std::span<const double> statistics, const Batch& batch);

}  // namespace ballast::nn::reference
