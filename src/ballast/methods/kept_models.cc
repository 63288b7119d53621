#include "ballast/methods/kept_models.h"

#include <fmt/core.h>

#include <utility>

namespace ballast::methods {
namespace {

constexpr const char* kInRing = "ring";     // versions, oldest first
constexpr const char* kOutside = "models";  // versions of the others, rising

std::string model_name(std::uint64_t version) { return fmt::format("model-{}", version); }

// Versions rise and each has its vector.
Status load_versions(StateReader& reader, std::span<const std::uint64_t> versions,
                     KeptModels& kept) {
  for (const std::uint64_t version : versions) {
    BALLAST_TRY(KeptVector model, reader.vector(model_name(version)));
    const bool is_new = !kept.by_version.contains(version);
    if (model.values.empty() || !is_new) {
      return invalid_argument(
          fmt::format("the model of version {} is missing or there twice", version));
    }
    kept.by_version[version] = std::make_shared<const std::vector<float>>(std::move(model.values));
  }
  return {};
}

}  // namespace

void save_models(server::MethodStateView& view, const server::ModelRing& ring,
                 std::span<const server::Snapshot> others) {
  server::NamedNumbers in_ring{kInRing, {}};
  // The values of a version never change, so the version is the revision; it is not 0.
  const auto add = [&](const server::Snapshot& model) {
    view.vectors.push_back({model_name(model.version), model.version + 1, *model.values});
  };
  for (const server::Snapshot& model : ring.models()) {
    in_ring.values.push_back(static_cast<double>(model.version));
    add(model);
  }
  std::map<std::uint64_t, const server::Snapshot*> outside;
  for (const server::Snapshot& model : others) {
    if (ring.find(model.version) == nullptr) outside.emplace(model.version, &model);
  }
  server::NamedNumbers versions{kOutside, {}};
  for (const auto& [version, model] : outside) {
    versions.values.push_back(static_cast<double>(version));
    add(*model);
  }
  view.numbers.push_back(std::move(in_ring));
  view.numbers.push_back(std::move(versions));
}

Result<KeptModels> load_models(StateReader& reader, std::size_t capacity, std::size_t others_max) {
  KeptModels kept{.ring = server::ModelRing(capacity), .by_version = {}};
  BALLAST_TRY(const auto in_ring, reader.list(kInRing, capacity));
  BALLAST_TRY(const auto outside, reader.list(kOutside, others_max));
  BALLAST_TRY_STATUS(load_versions(reader, in_ring, kept));
  for (std::size_t i = 0; i < in_ring.size(); ++i) {
    if (i > 0 && in_ring[i] <= in_ring[i - 1]) {
      return invalid_argument("the versions of the past models do not rise");
    }
    kept.ring.note({.version = in_ring[i], .values = kept.by_version[in_ring[i]]});
  }
  BALLAST_TRY_STATUS(load_versions(reader, outside, kept));
  return kept;
}

}  // namespace ballast::methods
