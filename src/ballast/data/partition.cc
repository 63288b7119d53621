#include "ballast/data/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/data/batch_key.h"
#include "ballast/data/dataset.h"

namespace ballast::data {
namespace {

using Part = std::vector<std::uint32_t>;

Status validate_counts(std::size_t sample_count, std::size_t worker_count) {
  if (worker_count == 0 || worker_count > kWorkerCountMax) {
    return invalid_argument(
        fmt::format("{} workers: the count must be 1 to {}", worker_count, kWorkerCountMax));
  }
  if (sample_count == 0 || sample_count > kSampleCountMax) {
    return invalid_argument(
        fmt::format("{} samples: the count must be 1 to {}", sample_count, kSampleCountMax));
  }
  return {};
}

Status validate_split(std::size_t sample_count, std::size_t worker_count) {
  BALLAST_TRY_STATUS(validate_counts(sample_count, worker_count));
  if (sample_count < worker_count) {
    return invalid_argument(fmt::format(
        "{} samples cannot be split over {} workers with at least one each: use fewer workers or "
        "let every worker draw from the whole set",
        sample_count, worker_count));
  }
  return {};
}

// Requires: at least one.
Status validate_labels(std::span<const int> labels) {
  const auto [least, greatest] = std::minmax_element(labels.begin(), labels.end());
  if (*least >= 0 && *greatest < kClassCountMax) return {};
  return invalid_argument(
      fmt::format("labels {} .. {} reach outside 0 .. {}", *least, *greatest, kClassCountMax - 1));
}

Rng class_stream(Purpose purpose, std::uint64_t seed, std::size_t label) {
  return Rng(RngKey{.seed = seed,
                    .purpose = static_cast<std::uint32_t>(purpose),
                    .owner = static_cast<std::uint32_t>(label)});
}

void shuffle(Part& part, Rng& rng) {
  for (std::size_t i = part.size(); i > 1; --i) std::swap(part[i - 1], part[rng.below(i)]);
}

// The logarithm of a Gamma(shape, 1) variate (Marsaglia and Tsang 2000; a shape below 1 is raised
// by one and brought back with a power of a uniform). In logarithms, because for a small shape the
// variates themselves underflow to zero.
double log_gamma_variate(double shape, Rng& rng) {
  if (shape < 1.0) {
    const double log_raised = log_gamma_variate(shape + 1.0, rng);
    return log_raised + std::log(1.0 - rng.uniform()) / shape;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = rng.normal();
    const double root = 1.0 + c * x;
    if (root <= 0.0) continue;
    const double log_v = 3.0 * std::log(root);
    const double bound = 0.5 * x * x + d * (1.0 - std::exp(log_v) + log_v);
    if (std::log(1.0 - rng.uniform()) < bound) return std::log(d) + log_v;
  }
}

std::vector<double> draw_shares(std::size_t count, double alpha, Rng& rng) {
  std::vector<double> shares(count);
  for (double& share : shares) share = log_gamma_variate(alpha, rng);
  const double largest = *std::max_element(shares.begin(), shares.end());
  for (double& share : shares) share = std::exp(share - largest);
  const double total = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= total;
  return shares;
}

// Hands the samples out in order, each worker getting its share up to rounding.
void deal(const Part& samples, std::span<const double> shares, std::vector<Part>& parts) {
  double cumulative = 0.0;
  std::size_t begin = 0;
  for (std::size_t worker = 0; worker < parts.size(); ++worker) {
    cumulative += shares[worker];
    const double cut = std::round(cumulative * static_cast<double>(samples.size()));
    const bool is_last = worker + 1 == parts.size();
    const std::size_t end =
        is_last ? samples.size() : std::clamp(static_cast<std::size_t>(cut), begin, samples.size());
    parts[worker].insert(parts[worker].end(), samples.begin() + static_cast<std::ptrdiff_t>(begin),
                         samples.begin() + static_cast<std::ptrdiff_t>(end));
    begin = end;
  }
}

void feed_the_empty(std::vector<Part>& parts) {
  const auto smaller = [](const Part& a, const Part& b) { return a.size() < b.size(); };
  for (Part& part : parts) {
    if (!part.empty()) continue;
    Part& largest = *std::max_element(parts.begin(), parts.end(), smaller);
    part.push_back(largest.back());
    largest.pop_back();
  }
}

std::vector<Part> samples_by_class(std::span<const int> labels) {
  std::vector<Part> classes;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto label = static_cast<std::size_t>(labels[i]);
    if (label >= classes.size()) classes.resize(label + 1);
    classes[label].push_back(static_cast<std::uint32_t>(i));
  }
  return classes;
}

}  // namespace

Result<Partition> Partition::shared(std::size_t sample_count, std::size_t worker_count) {
  BALLAST_TRY_STATUS(validate_counts(sample_count, worker_count));
  return Partition(sample_count, worker_count);
}

Result<Partition> Partition::even_split(std::size_t sample_count, std::size_t worker_count,
                                        std::uint64_t seed) {
  BALLAST_TRY_STATUS(validate_split(sample_count, worker_count));
  Partition partition(sample_count, worker_count);
  partition.order_.resize(sample_count);
  std::iota(partition.order_.begin(), partition.order_.end(), 0u);
  Rng rng = stream(Purpose::kEvenSplit, {.seed = seed});
  shuffle(partition.order_, rng);
  const auto begin = [&](std::size_t w) {
    return sample_count / worker_count * w + std::min(w, sample_count % worker_count);
  };
  for (std::size_t w = 0; w < worker_count; ++w) {
    partition.ranges_.push_back({.begin = begin(w), .end = begin(w + 1)});
  }
  return partition;
}

Result<Partition> Partition::dirichlet(std::span<const int> labels,
                                       const DirichletOptions& options) {
  BALLAST_TRY_STATUS(validate_split(labels.size(), options.worker_count));
  if (!(options.alpha >= kDirichletAlphaMin && options.alpha <= kDirichletAlphaMax)) {
    return invalid_argument(fmt::format("alpha {} is not between {} and {}", options.alpha,
                                        kDirichletAlphaMin, kDirichletAlphaMax));
  }
  BALLAST_TRY_STATUS(validate_labels(labels));
  std::vector<Part> parts(options.worker_count);
  std::vector<Part> classes = samples_by_class(labels);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    Rng order = class_stream(Purpose::kDirichletOrder, options.seed, c);
    Rng shares = class_stream(Purpose::kDirichletShares, options.seed, c);
    shuffle(classes[c], order);
    deal(classes[c], draw_shares(parts.size(), options.alpha, shares), parts);
  }
  feed_the_empty(parts);
  return from_parts(parts);
}

Result<Partition> Partition::shards(std::span<const int> labels, const ShardOptions& options) {
  BALLAST_TRY_STATUS(validate_split(labels.size(), options.worker_count));
  BALLAST_TRY_STATUS(validate_labels(labels));
  const std::size_t per_worker = options.shards_per_worker;
  if (per_worker == 0 || per_worker > labels.size() / options.worker_count) {
    return invalid_argument(fmt::format(
        "{} shards for each of {} workers cannot be cut from {} samples: there is at least one "
        "shard, and a sample in each",
        per_worker, options.worker_count, labels.size()));
  }
  Rng rng = stream(Purpose::kShards, {.seed = options.seed});
  Part ordered;
  for (Part& of_class : samples_by_class(labels)) {
    shuffle(of_class, rng);
    ordered.insert(ordered.end(), of_class.begin(), of_class.end());
  }
  Part shards(options.worker_count * per_worker);
  std::iota(shards.begin(), shards.end(), 0u);
  shuffle(shards, rng);
  const auto begin = [&](std::size_t shard) {
    const std::size_t size = ordered.size() / shards.size();
    return static_cast<std::ptrdiff_t>(size * shard +
                                       std::min(shard, ordered.size() % shards.size()));
  };
  std::vector<Part> parts(options.worker_count);
  for (std::size_t k = 0; k < shards.size(); ++k) {
    Part& part = parts[k / per_worker];
    part.insert(part.end(), ordered.begin() + begin(shards[k]),
                ordered.begin() + begin(shards[k] + 1));
  }
  return from_parts(parts);
}

Partition Partition::from_parts(const std::vector<std::vector<std::uint32_t>>& parts) {
  Partition partition(0, parts.size());
  for (const Part& part : parts) {
    const std::size_t begin = partition.order_.size();
    partition.order_.insert(partition.order_.end(), part.begin(), part.end());
    partition.ranges_.push_back({.begin = begin, .end = partition.order_.size()});
  }
  partition.sample_count_ = partition.order_.size();
  return partition;
}

Result<Partition> Partition::held_out(std::size_t count, std::uint64_t seed) const {
  BALLAST_TRY_STATUS(validate_counts(sample_count_, worker_count_ + 1));
  if (count == 0 || count >= sample_count_) {
    return invalid_argument(
        fmt::format("{} of {} samples cannot be held out", count, sample_count_));
  }
  Part drawn(sample_count_);
  std::iota(drawn.begin(), drawn.end(), 0u);
  Rng rng = stream(Purpose::kHeldOut, {.seed = seed});
  shuffle(drawn, rng);
  drawn.resize(count);
  std::vector<bool> is_held(sample_count_);
  for (const std::uint32_t sample : drawn) is_held[sample] = true;

  Partition partition(sample_count_, worker_count_ + 1);
  // Workers that share everything go on sharing what is left.
  const std::size_t owners = ranges_.empty() ? 1 : worker_count_;
  for (std::size_t w = 0; w < owners; ++w) {
    const std::size_t begin = partition.order_.size();
    for (std::size_t i = 0; i < size(w); ++i) {
      if (!is_held[sample(w, i)]) partition.order_.push_back(sample(w, i));
    }
    if (partition.order_.size() == begin) {
      return invalid_argument(fmt::format(
          "holding out {} of {} samples leaves worker {} without any", count, sample_count_, w));
    }
    partition.ranges_.push_back({.begin = begin, .end = partition.order_.size()});
  }
  partition.ranges_.resize(worker_count_, partition.ranges_.front());
  partition.ranges_.push_back(
      {.begin = partition.order_.size(), .end = partition.order_.size() + count});
  partition.order_.insert(partition.order_.end(), drawn.begin(), drawn.end());
  return partition;
}

std::size_t Partition::size(std::size_t worker) const noexcept {
  BALLAST_DCHECK(worker < worker_count_, "no such worker");
  return ranges_.empty() ? sample_count_ : ranges_[worker].end - ranges_[worker].begin;
}

std::uint32_t Partition::sample(std::size_t worker, std::size_t position) const noexcept {
  BALLAST_DCHECK(position < size(worker), "no such sample");
  return ranges_.empty() ? static_cast<std::uint32_t>(position)
                         : order_[ranges_[worker].begin + position];
}

}  // namespace ballast::data
