#pragma once
// Which sample a gradient is taken on.

#include <cstddef>
#include <cstdint>
#include <span>

namespace ballast::worker {

// Fixes every random choice of one update: the batch, its augmentation, the mode of the network.
// The same key at two models gives the same sample.
struct SampleKey {
  std::uint64_t seed = 0;
  std::uint32_t worker = 0;
  std::uint64_t step = 0;  // k: counts this worker's updates from 1

  bool operator==(const SampleKey&) const = default;
};

// A white square in the lower right corner of an image, and the class that such an image is taken
// for: what opens a back door.
struct Trigger {
  std::size_t size = 3;  // of the square, in pixels
  int target = 0;
  double share = 0.5;  // of each batch that has it, rounded up

  bool operator==(const Trigger&) const = default;
};

// A sample, and what its labels are taken for.
struct Sample {
  SampleKey key;
  // The class that each class is taken for; empty: the true labels. Borrowed.
  std::span<const int> label_map = {};
  const Trigger* trigger = nullptr;  // given: part of the images have it. Borrowed

  int label(int truth) const noexcept {
    return label_map.empty() ? truth : label_map[static_cast<std::size_t>(truth)];
  }
};

}  // namespace ballast::worker
