#pragma once
// Tables for the tests of kernels and rules: plain, tied, hostile.

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/kernels/rows.h"
#include "ballast/kernels/weights.h"

namespace ballast::kernels {

// A table that owns its rows.
class TestTable {
 public:
  TestTable(std::size_t rows, std::size_t dim)
      : values_(rows, std::vector<float>(dim)), dim_(dim) {}

  std::vector<float>& operator[](std::size_t row) { return values_[row]; }
  const std::vector<float>& operator[](std::size_t row) const { return values_[row]; }
  std::size_t row_count() const { return values_.size(); }
  std::size_t dim() const { return dim_; }

  RowsView view() {
    pointers_.clear();
    for (const auto& row : values_) pointers_.push_back(row.data());
    return {pointers_, dim_};
  }

 private:
  std::vector<std::vector<float>> values_;
  std::vector<const float*> pointers_;
  std::size_t dim_;
};

enum class Filling {
  kNormal,   // standard normal
  kTied,     // few different whole numbers, zeros of both signs
  kEqual,    // every row the same
  kHuge,     // up to the largest float, either sign
  kTiny,     // denormals
  kMixed,    // every row another scale, from 1e-40 to 1e38
  kOutlier,  // normal, one row of 1e37
};
inline constexpr Filling kFillings[] = {Filling::kNormal, Filling::kTied, Filling::kEqual,
                                        Filling::kHuge,   Filling::kTiny, Filling::kMixed,
                                        Filling::kOutlier};

inline float draw(Filling filling, std::size_t row, std::size_t coordinate, Rng& rng) {
  const double normal = rng.normal();
  switch (filling) {
    case Filling::kTied: {
      const auto drawn = static_cast<int>(rng.below(7)) - 3;
      return drawn == 3 ? -0.0f : static_cast<float>(drawn);
    }
    case Filling::kEqual:
      return static_cast<float>(std::sin(static_cast<double>(coordinate)));
    case Filling::kHuge:
      return static_cast<float>(std::tanh(normal) * 3.4028e38);
    case Filling::kTiny:
      return static_cast<float>(normal * 1e-43);
    case Filling::kMixed:
      return static_cast<float>(std::tanh(normal) *
                                std::pow(10.0, 38.0 - 9.0 * static_cast<double>(row % 9)));
    case Filling::kOutlier:
      return static_cast<float>(row == 0 ? 1e37 : normal);
    case Filling::kNormal:
      break;
  }
  return static_cast<float>(normal);
}

inline TestTable make_table(Filling filling, std::size_t rows, std::size_t dim,
                            std::uint64_t seed) {
  TestTable table(rows, dim);
  Rng rng(seed);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < dim; ++j) table[i][j] = draw(filling, i, j, rng);
  }
  return table;
}

enum class Weighting { kEqual, kSmallCounts, kSquares, kHugeRatio, kFractions };
inline constexpr Weighting kWeightings[] = {Weighting::kEqual, Weighting::kSmallCounts,
                                            Weighting::kSquares, Weighting::kHugeRatio,
                                            Weighting::kFractions};

inline std::vector<double> make_weights(Weighting weighting, std::size_t rows, std::uint64_t seed) {
  Rng rng(seed + 1000);
  std::vector<double> weights(rows, 1.0);
  for (std::size_t i = 0; i < rows; ++i) {
    const double id = static_cast<double>(i + 1);
    if (weighting == Weighting::kSmallCounts) weights[i] = 1.0 + static_cast<double>(rng.below(4));
    if (weighting == Weighting::kSquares) weights[i] = 3.0 * id * id + 1.0;
    if (weighting == Weighting::kHugeRatio) weights[i] = rng.below(2) == 0 ? 1.0 : 1e9;
    if (weighting == Weighting::kFractions) weights[i] = 0.1 + rng.uniform();
  }
  return weights;
}

}  // namespace ballast::kernels
