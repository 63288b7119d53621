#pragma once
// Private to methods/: past models as part of a method's state.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/expression/parameter.h"
#include "ballast/methods/counted_method.h"
#include "ballast/server/model_ring.h"

namespace ballast::methods {

inline constexpr auto kHistoryParameter =
    expression::Parameter::whole("history", "how many past models are kept to compare with")
        .from(1)
        .up_to(1e6)
        .otherwise(64);

// Saves the models of the ring and others that a method holds, each version once.
void save_models(server::MethodStateView& view, const server::ModelRing& ring,
                 std::span<const server::Snapshot> others);

struct KeptModels {
  server::ModelRing ring;
  // Every model of the state by version, those outside the ring too.
  std::map<std::uint64_t, std::shared_ptr<const std::vector<float>>> by_version;
};

// `others_max` bounds how many models outside the ring there may be.
Result<KeptModels> load_models(StateReader& reader, std::size_t capacity,
                               std::size_t others_max = 0);

}  // namespace ballast::methods
