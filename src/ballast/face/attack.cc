#include "ballast/attack.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ballast/attacks/registry.h"
#include "ballast/expression/render.h"
#include "ballast/face/attack_adapter.h"
#include "ballast/face/guard.h"
#include "ballast/face/preview_adapter.h"
#include "ballast/kernels/finite.h"
#include "ballast/sim/arrival.h"

namespace ballast {
namespace {

// One name of each kind, so that its places are those of the library's own memory.
const char* const kMemoryName = "library";

Status check_update(std::span<const float> update) {
  if (!update.empty() && !face::is_null(update)) return {};
  return invalid_argument("the update is empty or a null span");
}

Status check_finite(std::span<const float> update) {
  Status status = check_update(update);
  if (!status || kernels::all_finite(update)) return status;
  return invalid_argument("the update is not finite");
}

Status check_view(const AdversaryView& view, std::size_t dim) {
  if (face::is_null(view.honest_rows) || face::is_null(view.honest_counts)) {
    return invalid_argument("the view has a null span");
  }
  if (view.honest_counts.size() != view.honest_rows.size()) {
    return invalid_argument(fmt::format("{} honest rows but {} counts", view.honest_rows.size(),
                                        view.honest_counts.size()));
  }
  for (std::size_t i = 0; i < view.honest_rows.size(); ++i) {
    const std::span<const float> row = view.honest_rows[i];
    if (row.size() != dim || face::is_null(row) || view.honest_counts[i] == 0 ||
        !kernels::all_finite(row)) {
      return invalid_argument(
          fmt::format("honest row {} is not {} finite values with a positive count", i, dim));
    }
  }
  if (view.sender < sim::kWorkersMax) return {};
  return invalid_argument(
      fmt::format("the view has sender {}; there are at most {}", view.sender, sim::kWorkersMax));
}

// An attack of the library. Its own code takes for granted what is checked here.
class LibraryAttack final : public Attack {
 public:
  explicit LibraryAttack(attacks::AttackPointer attack) : attack_(std::move(attack)) {}

  Result<std::vector<int>> label_map(int class_count) const override {
    return attack_->label_map(class_count);
  }

  Status change_update(const SampleKey& key, std::span<float> update) const override {
    if (face::is_null(update)) return invalid_argument("the update is a null span");
    attack_->change_update({.seed = key.seed, .worker = key.worker, .step = key.step}, update);
    return {};
  }

  bool colludes() const override { return attack_->colludes(); }
  bool needs_preview() const override { return attack_->needs_preview(); }
  bool chooses_time() const override { return attack_->chooses_time(); }

  MemoryNames remembers() const override {
    if (!attack_->has_memory()) return {};
    return {.numbers = {kMemoryName}, .vectors = {kMemoryName}};
  }

  Status collude(const AdversaryView& view, std::span<float> update) const override {
    if (view.honest_rows.empty()) return {};
    return face::guarded("the attack", [&]() -> Status {
      BALLAST_TRY_STATUS(check_update(update));
      return show(view, update.size(),
                  [&](const attacks::AdversaryView& shown) { attack_->collude(shown, update); });
    });
  }

  Status watch(std::span<const float> update, AttackMemory& memory) const override {
    if (!attack_->has_memory()) return {};
    return face::guarded("the attack", [&]() -> Status {
      BALLAST_TRY_STATUS(check_finite(update));
      BALLAST_TRY(attacks::AttackMemory* const places, places_of(&memory, 0, update.size()));
      attack_->watch(update, *places);
      return {};
    });
  }

  Result<bool> holds(const AdversaryView& view, std::span<const float> update) const override {
    if (!attack_->chooses_time()) return false;
    return face::guarded("the attack", [&]() -> Result<bool> {
      BALLAST_TRY_STATUS(check_finite(update));
      bool waits = false;
      BALLAST_TRY_STATUS(show(view, update.size(), [&](const attacks::AdversaryView& shown) {
        waits = attack_->holds(shown, update);
      }));
      return waits;
    });
  }

  const attacks::Attack& inner() const { return *attack_; }

 private:
  // The memory that the attack may use; null where it remembers nothing.
  Result<attacks::AttackMemory*> places_of(AttackMemory* memory, std::size_t sender,
                                           std::size_t dim) const {
    if (!attack_->has_memory()) return nullptr;
    auto* const ours = dynamic_cast<face::MemoryAdapter*>(memory);
    if (ours == nullptr || ours->names() != remembers()) {
      return invalid_argument(
          "this attack remembers what it saw; give it a memory of the names that its remembers() "
          "says");
    }
    attacks::AttackMemory& places = ours->places();
    const std::size_t workers = std::max(sender + 1, places.numbers.size());
    BALLAST_TRY_STATUS(attack_->check_memory(places, {.dim = dim, .byzantine_workers = workers}));
    return &places;
  }

  template <typename Ask>
  Status show(const AdversaryView& view, std::size_t dim, const Ask& ask) const {
    BALLAST_TRY_STATUS(check_view(view, dim));
    if (attack_->needs_preview() && view.preview == nullptr) {
      return invalid_argument(
          "this attack tries its updates on the server; give the view a preview");
    }
    BALLAST_TRY(attacks::AttackMemory* const places, places_of(view.memory, view.sender, dim));
    std::vector<const float*> rows;
    for (const auto row : view.honest_rows) rows.push_back(row.data());
    face::GivenPreview preview(view.preview);
    ask(attacks::AdversaryView{.honest_rows = {rows, dim},
                               .honest_counts = view.honest_counts,
                               .byzantine_count = view.byzantine_count,
                               .model = view.model,
                               .sender = view.sender,
                               .last_honest = view.last_honest,
                               .held_count = view.held_count,
                               .preview = attack_->needs_preview() ? &preview : nullptr,
                               .memory = places});
    return preview.status();
  }

  attacks::AttackPointer attack_;
};

}  // namespace

Result<std::shared_ptr<const Attack>> parse_attack(std::string_view text) {
  if (face::is_null(text)) return invalid_argument("the attack is a null text");
  return face::guarded("the attack", [&]() -> Result<std::shared_ptr<const Attack>> {
    BALLAST_TRY(auto attack, attacks::make_attack(text));
    return std::make_shared<const LibraryAttack>(std::move(attack));
  });
}

std::string list_attacks() { return expression::to_text(attacks::attack_registry().catalogue()); }

const attacks::Attack* face::library_attack(const ballast::Attack& attack) {
  const auto* ours = dynamic_cast<const LibraryAttack*>(&attack);
  return ours == nullptr ? nullptr : &ours->inner();
}

}  // namespace ballast
