#pragma once
// Which samples each worker may draw.
//
// Thread-safety: immutable after construction.

#include <cstdint>
#include <span>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::data {

// Below the least alpha every class goes to one worker anyway; above the greatest the split is
// even.
inline constexpr double kDirichletAlphaMin = 1e-6;
inline constexpr double kDirichletAlphaMax = 1e6;

struct DirichletOptions {
  std::size_t worker_count = 1;
  double alpha = 1.0;  // small: each worker sees few classes; large: all see the same mixture
  std::uint64_t seed = 0;
};

struct ShardOptions {
  std::size_t worker_count = 1;
  std::size_t shards_per_worker = 2;
  std::uint64_t seed = 0;
};

// Determinism: a partition is a function of its arguments.
class Partition {
 public:
  // Every worker draws from the whole set.
  static Result<Partition> shared(std::size_t sample_count, std::size_t worker_count);

  // A random split into parts whose sizes differ by at most one; every sample in exactly one part.
  static Result<Partition> even_split(std::size_t sample_count, std::size_t worker_count,
                                      std::uint64_t seed);

  // Each class is shared out in proportions drawn from Dirichlet(alpha); every sample in exactly
  // one part. A worker left without samples takes one from the worker who then has most.
  static Result<Partition> dirichlet(std::span<const int> labels, const DirichletOptions& options);

  // The samples in order of their classes, those of a class in random order, are cut into shards of
  // one size, up to one sample, and each worker draws as many shards as the options say (McMahan et
  // al. 2017): few classes for each, and parts of nearly one size. Every sample in one part.
  static Result<Partition> shards(std::span<const int> labels, const ShardOptions& options);

  // The same with one owner more, the last, whose `count` samples nobody else has: drawn at random
  // and taken from those that had them. Refuses to leave anybody without a sample.
  Result<Partition> held_out(std::size_t count, std::uint64_t seed) const;

  std::size_t sample_count() const noexcept { return sample_count_; }
  std::size_t worker_count() const noexcept { return worker_count_; }

  // Number of samples of a worker, at least 1. Requires: worker < worker_count().
  std::size_t size(std::size_t worker) const noexcept;

  // Requires: worker < worker_count(), position < size(worker).
  std::uint32_t sample(std::size_t worker, std::size_t position) const noexcept;

 private:
  Partition(std::size_t sample_count, std::size_t worker_count) noexcept
      : sample_count_(sample_count), worker_count_(worker_count) {}
  static Partition from_parts(const std::vector<std::vector<std::uint32_t>>& parts);

  std::size_t sample_count_;
  std::size_t worker_count_;
  struct Range {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  // Empty when shared; else worker w owns order_[begin] .. order_[end - 1] of ranges_[w].
  std::vector<std::uint32_t> order_;
  std::vector<Range> ranges_;
};

}  // namespace ballast::data
