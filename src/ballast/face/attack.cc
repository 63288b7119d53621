#include "ballast/attack.h"

#include <fmt/core.h>

#include <utility>

#include "ballast/attacks/registry.h"
#include "ballast/expression/render.h"
#include "ballast/face/attack_adapter.h"
#include "ballast/face/guard.h"
#include "ballast/kernels/finite.h"

namespace ballast {
namespace {

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

  Status collude(const AdversaryView& view, std::span<float> update) const override {
    if (view.honest_rows.empty()) return {};
    BALLAST_TRY_STATUS(check(view, update));
    if (attack_->needs_preview() || attack_->has_memory() || attack_->chooses_time()) {
      return unsupported(
          "this attack knows the server or remembers what it saw; a simulation makes it");
    }
    std::vector<const float*> rows;
    for (const auto row : view.honest_rows) rows.push_back(row.data());
    attack_->collude({.honest_rows = {rows, update.size()},
                      .honest_counts = view.honest_counts,
                      .byzantine_count = view.byzantine_count,
                      .model = view.model},
                     update);
    return {};
  }

  const attacks::Attack& inner() const { return *attack_; }

 private:
  static Status check(const AdversaryView& view, std::span<const float> update) {
    if (update.empty() || face::is_null(update) || face::is_null(view.honest_rows) ||
        face::is_null(view.honest_counts)) {
      return invalid_argument("the update or the view is empty or a null span");
    }
    if (view.honest_counts.size() != view.honest_rows.size()) {
      return invalid_argument(fmt::format("{} honest rows but {} counts", view.honest_rows.size(),
                                          view.honest_counts.size()));
    }
    for (std::size_t i = 0; i < view.honest_rows.size(); ++i) {
      const std::span<const float> row = view.honest_rows[i];
      if (row.size() != update.size() || face::is_null(row) || view.honest_counts[i] == 0 ||
          !kernels::all_finite(row)) {
        return invalid_argument(fmt::format(
            "honest row {} is not {} finite values with a positive count", i, update.size()));
      }
    }
    return {};
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

namespace face {

const attacks::Attack* library_attack(const ballast::Attack& attack) {
  const auto* ours = dynamic_cast<const LibraryAttack*>(&attack);
  return ours == nullptr ? nullptr : &ours->inner();
}

AttackAdapter::AttackAdapter(const ballast::Attack& attack) : attack_(attack) {
  note(guarded("the attack", [&]() -> Status {
    colludes_ = attack_.colludes();
    return {};
  }));
}

Result<std::vector<int>> AttackAdapter::label_map(int class_count) const {
  return guarded("the attack", [&] { return attack_.label_map(class_count); });
}

void AttackAdapter::change_update(const worker::SampleKey& key, std::span<float> update) const {
  const SampleKey shown = {.seed = key.seed, .worker = key.worker, .step = key.step};
  note(guarded("the attack", [&] { return attack_.change_update(shown, update); }));
}

void AttackAdapter::collude(const attacks::AdversaryView& view, std::span<float> update) const {
  note(guarded("the attack", [&] {
    std::vector<std::span<const float>> rows;
    for (std::size_t i = 0; i < view.honest_rows.row_count(); ++i) {
      rows.push_back(view.honest_rows.row(i));
    }
    return rows.empty() ? Status{}
                        : attack_.collude({.honest_rows = rows,
                                           .honest_counts = view.honest_counts,
                                           .byzantine_count = view.byzantine_count,
                                           .model = view.model},
                                          update);
  }));
}

Status AttackAdapter::status() const {
  const std::lock_guard lock(mutex_);
  if (failure_) return tl::unexpected(*failure_);
  return {};
}

void AttackAdapter::note(const Status& status) const {
  if (status) return;
  const std::lock_guard lock(mutex_);
  if (!failure_) failure_ = status.error();
}

}  // namespace face
}  // namespace ballast
