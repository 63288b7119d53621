#pragma once
// Weights of rows as whole numbers, so that sums of weights compare exactly: a tie in a weighted
// median is a tie, whatever the order of addition.
//
// Counts of updates are whole numbers already and are kept as they are (divided by their greatest
// common divisor, so that scaling all weights changes nothing). Other positive numbers are rounded
// to multiples of about 2^-61 of their sum.

#include <cstdint>
#include <span>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::kernels {

class Weights {
 public:
  Weights() = default;

  // Requires nothing: zero, negative and non-finite weights, and an empty list, are errors.
  static Result<Weights> make(std::span<const double> weights);

  // The weight 1 for each of `count` rows.
  static Weights equal(std::size_t count);

  // Replaces the weights; allocates only when there are more of them than ever before.
  // On error nothing has changed.
  Status assign(std::span<const double> weights);
  void assign_equal(std::size_t count);

  // Replaces the weights by whole numbers. Requires: each >= 1, their sum below 2^62.
  void assign_units(std::span<const std::uint64_t> units);

  std::size_t size() const noexcept { return units_.size(); }
  std::span<const std::uint64_t> units() const noexcept { return units_; }
  std::uint64_t total() const noexcept { return total_; }

  // The share of row i in the total, in (0, 1].
  double share(std::size_t i) const noexcept {
    return static_cast<double>(units_[i]) / static_cast<double>(total_);
  }

  // True if twice the total fits into 32 bits, which lets kernels use 32-bit lanes.
  bool is_narrow() const noexcept { return total_ < (std::uint64_t{1} << 31); }

  friend bool operator==(const Weights&, const Weights&) = default;

 private:
  void reduce() noexcept;

  std::vector<std::uint64_t> units_;
  std::uint64_t total_ = 0;
};

}  // namespace ballast::kernels
