#include "ballast/data/sampler.h"

#include "ballast/base/check.h"

namespace ballast::data {

void draw_batch(const Partition& partition, const BatchKey& key, std::span<std::uint32_t> indices) {
  BALLAST_CHECK(key.worker < partition.worker_count(), "no such worker");
  const std::size_t part_size = partition.size(key.worker);
  Rng rng = stream(Purpose::kSampling, key);
  for (std::uint32_t& index : indices) {
    index = partition.sample(key.worker, rng.below(part_size));
  }
}

}  // namespace ballast::data
