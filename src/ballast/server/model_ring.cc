#include "ballast/server/model_ring.h"

#include <algorithm>

#include "ballast/base/check.h"

namespace ballast::server {

ModelRing::ModelRing(std::size_t capacity) : capacity_(capacity) {
  BALLAST_CHECK(capacity >= 1, "a ring holds at least one model");
}

void ModelRing::note(const Snapshot& model) {
  while (!models_.empty() && models_.back().version > model.version) models_.pop_back();
  if (!models_.empty() && models_.back().version == model.version) return;
  if (models_.size() == capacity_) models_.pop_front();
  models_.push_back(model);
}

std::shared_ptr<const std::vector<float>> ModelRing::find(std::uint64_t version) const {
  const auto found = std::ranges::find(models_, version, &Snapshot::version);
  return found == models_.end() ? nullptr : found->values;
}

}  // namespace ballast::server
