#pragma once
// Fresh independent samples for a worker's step.

#include <cstdint>
#include <span>

#include "ballast/data/batch_key.h"
#include "ballast/data/partition.h"

namespace ballast::data {

// Fills `indices` with samples of the key's worker, each drawn uniformly with replacement from its
// part.
//
// Requires: key.worker < partition.worker_count().
// Cost: O(indices.size()); allocates nothing, keeps no state.
// Determinism: a function of the partition, the key and the batch size; a shorter batch is a prefix
// of a longer one.
void draw_batch(const Partition& partition, const BatchKey& key, std::span<std::uint32_t> indices);

}  // namespace ballast::data
