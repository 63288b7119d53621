#include "ballast/attacks/weighted_moments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ballast/base/check.h"

namespace ballast::attacks {
namespace {

std::vector<double> shares(std::span<const std::uint64_t> counts) {
  double total = 0.0;
  for (const std::uint64_t count : counts) total += static_cast<double>(count);
  BALLAST_CHECK(total > 0.0, "no honest updates are counted");
  std::vector<double> shares;
  for (const std::uint64_t count : counts) shares.push_back(static_cast<double>(count) / total);
  return shares;
}

// Some coordinates at a time, so that their sums stay in the nearest cache.
constexpr std::size_t kBlock = 512;
using Sums = std::array<double, kBlock>;

struct Block {
  std::size_t begin, count;
};

void add_means(kernels::RowsView rows, std::span<const double> shares, Block block, Sums& mean) {
  mean.fill(0.0);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const float* row = rows.pointer(i) + block.begin;
    for (std::size_t j = 0; j < block.count; ++j) mean[j] += shares[i] * row[j];
  }
}

// Squares of differences of floats fit into a double, whatever the floats.
void add_variances(kernels::RowsView rows, std::span<const double> shares, Block block,
                   const Sums& mean, Sums& variance) {
  variance.fill(0.0);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const float* row = rows.pointer(i) + block.begin;
    for (std::size_t j = 0; j < block.count; ++j) {
      const double difference = row[j] - mean[j];
      variance[j] += shares[i] * difference * difference;
    }
  }
}

template <typename Write>
void for_each_block(kernels::RowsView rows, std::span<const double> shares,
                    std::span<const float> out, const Write& write) {
  BALLAST_CHECK(rows.row_count() == shares.size(), "rows and counts differ in number");
  BALLAST_CHECK(out.size() == rows.dim(), "the update has the wrong size");
  for (std::size_t begin = 0; begin < rows.dim(); begin += kBlock) {
    write(Block{begin, std::min(kBlock, rows.dim() - begin)});
  }
}

}  // namespace

void write_scaled_mean(kernels::RowsView rows, std::span<const std::uint64_t> counts, double scale,
                       std::span<float> out) {
  const auto weights = shares(counts);
  Sums mean;
  for_each_block(rows, weights, out, [&](Block block) {
    add_means(rows, weights, block, mean);
    for (std::size_t j = 0; j < block.count; ++j) out[block.begin + j] = saturate(scale * mean[j]);
  });
}

void write_shifted_mean(kernels::RowsView rows, std::span<const std::uint64_t> counts, double z,
                        std::span<float> out) {
  const auto weights = shares(counts);
  Sums mean, variance;
  for_each_block(rows, weights, out, [&](Block block) {
    add_means(rows, weights, block, mean);
    add_variances(rows, weights, block, mean, variance);
    for (std::size_t j = 0; j < block.count; ++j) {
      out[block.begin + j] = saturate(mean[j] - z * std::sqrt(variance[j]));
    }
  });
}

}  // namespace ballast::attacks
