#pragma once
// Private to verify/: tables of rows as plain numbers, and rules applied to them.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/kernels/backend.h"
#include "ballast/robust/rule.h"
#include "ballast/robust/workspace.h"

namespace ballast::verify {

using DoubleVector = std::vector<double>;

struct WeightedRows {
  std::vector<DoubleVector> rows{};
  DoubleVector weights{};
};

double squared_distance(std::span<const double> a, std::span<const double> b);

// Requires: at least one row, positive weights.
DoubleVector weighted_mean(const WeightedRows& table);

// The weighted mean of the squared distances from a point: rho^2, if the rows are the honest ones
// and the point their mean.
double weighted_spread(const WeightedRows& table, std::span<const double> point);

// Applies rules to tables, rounding the rows to float first.
//
// Thread-safety: none; each thread has its own.
class RuleBench {
 public:
  RuleBench() : backend_(kernels::make_cpu_backend(1)) {}

  // The rule's result. Errors are those of robust::aggregate.
  Result<DoubleVector> apply(const robust::Rule& rule, const WeightedRows& table);

 private:
  std::unique_ptr<kernels::Backend> backend_;
  robust::Workspace workspace_;
  std::vector<std::vector<float>> rows_;
  std::vector<const float*> pointers_;
  std::vector<float> out_;
};

}  // namespace ballast::verify
