#pragma once
// The newest models by version, for methods that ask what an update was computed on. Models are
// shared with whoever reads them, so a ring costs memory only for those that nobody else holds.
//
// Thread-safety: none.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "ballast/server/update.h"

namespace ballast::server {

class ModelRing {
 public:
  // Requires: capacity >= 1.
  explicit ModelRing(std::size_t capacity);

  // Takes the model in unless it is there already; the oldest makes room. Models of higher versions
  // belong to another life of the server and leave.
  void note(const Snapshot& model);

  // The model of a version, or null if the ring has lost it or never had it.
  std::shared_ptr<const std::vector<float>> find(std::uint64_t version) const;

  // Oldest first.
  const std::deque<Snapshot>& models() const noexcept { return models_; }
  std::size_t capacity() const noexcept { return capacity_; }

 private:
  std::size_t capacity_;
  std::deque<Snapshot> models_;
};

}  // namespace ballast::server
