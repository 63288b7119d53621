#pragma once
// The Byzantine share lambda as a fraction of whole numbers, so that floor(lambda t) is exact.
//
// The double 0.1 lies above one tenth and 0.3 below three tenths, so the floor of a product of
// doubles is wrong for some t. What a user means by such a number is the simplest fraction near it.
//
// Thread-safety: an immutable value.

#include <cstdint>

#include "ballast/base/error.h"

namespace ballast::sim {

class Share {
 public:
  Share() = default;

  // The fraction with a denominator of at most 10^6 that lies within 1e-12 of the value, found
  // among the convergents of its continued fraction: every decimal of up to six digits, and 1/3,
  // are meant exactly. For another value, the largest multiple of 2^-31 that does not exceed it.
  // Refuses values outside [0, 1).
  static Result<Share> make(double value);

  // floor(lambda * t), exactly, for every t.
  std::uint64_t floor_of(std::uint64_t t) const noexcept {
    return numerator_ * (t / denominator_) + numerator_ * (t % denominator_) / denominator_;
  }

  bool is_zero() const noexcept { return numerator_ == 0; }
  double value() const noexcept {
    return static_cast<double>(numerator_) / static_cast<double>(denominator_);
  }
  std::uint64_t numerator() const noexcept { return numerator_; }
  std::uint64_t denominator() const noexcept { return denominator_; }

 private:
  Share(std::uint64_t numerator, std::uint64_t denominator) noexcept
      : numerator_(numerator), denominator_(denominator) {}

  // numerator < denominator <= 2^31, so that the products above fit 64 bits.
  std::uint64_t numerator_ = 0;
  std::uint64_t denominator_ = 1;
};

}  // namespace ballast::sim
