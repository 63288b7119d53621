#pragma once
// An aggregation rule: rows and their weights in, one vector out. Rules are immutable values
// without state; what is remembered between calls lives in the Observed they are given.
//
// Contract of every rule: finite rows give a finite result whatever their size; permuting the rows
// changes nothing (ties are broken by row number, bucketing draws); scaling all weights changes
// nothing. docs/rules.md lists the definitions.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/kernels/weights.h"
#include "ballast/robust/observed.h"

namespace ballast::robust {

// What a call tells besides its result.
struct Report {
  // The fraction of each row's weight that was kept, 1 for rules that trim no rows.
  std::vector<double> kept;
  // Steps of the geometric median.
  std::size_t iterations = 0;
};

class Rule {
 public:
  virtual ~Rule() = default;

  // The canonical expression, for example "ctma(gm, 0.4)".
  virtual std::string text() const = 0;

  // Whether the rule can aggregate so many rows; the error says why not.
  virtual Status check_row_count(std::size_t) const { return {}; }

  // True if the result is a combination of the rows whose coefficients follow from inner products
  // and weights alone: then coefficients() gives it without touching a coordinate.
  virtual bool is_combination() const noexcept = 0;

  // True if the result is a combination of the rows at all, its coefficients found by looking at
  // coordinates if need be: then coefficients() gives it.
  virtual bool has_coefficients() const noexcept { return is_combination(); }

  // Requires: has_coefficients(). The coefficients add up to 1.
  virtual void coefficients(Observed& observed, const kernels::Weights& weights,
                            std::span<double> coefficients, Report& report) const;

  // The result: written to `out`, or returned where the observed rows keep it anyway. What `out`
  // holds in that case is unspecified. Requires: as many weights as rows, check_row_count() holds,
  // out.size() == dim, a vector of the backend of the rows.
  virtual const kernels::Vector& aggregate(Observed& observed, const kernels::Weights& weights,
                                           kernels::Vector& out, Report& report) const;
};

using RulePointer = std::unique_ptr<const Rule>;

}  // namespace ballast::robust
