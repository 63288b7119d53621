#pragma once
// The schema: which tensors, in which order and shape, the numbers of a model are. Server and
// worker compare its hash when they meet, so that nobody trains another network's weights.
//
// Thread-safety: pure functions.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ballast::wire {

struct TensorSchema {
  std::string name;
  std::vector<std::uint64_t> shape;
};

// FNV-1a over the lengths, names and shapes. It tells an accident, not a forgery: a peer that wants
// to lie about its network may simply send lies.
std::uint64_t schema_hash(std::span<const TensorSchema> tensors);

}  // namespace ballast::wire
