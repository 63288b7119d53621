#include "ballast/face/attack_adapter.h"

#include <utility>

#include "ballast/face/guard.h"
#include "ballast/face/preview_adapter.h"

namespace ballast::face {
namespace {

// Shows the view to `ask`, which hands it on to the caller's attack; the error is that of the
// attack, or a mistake in using what it was shown.
template <typename Ask>
auto show(const attacks::AdversaryView& view, MemoryAdapter& memory, const Ask& ask)
    -> decltype(ask(ballast::AdversaryView{})) {
  std::vector<std::span<const float>> rows;
  for (std::size_t i = 0; i < view.honest_rows.row_count(); ++i) {
    rows.push_back(view.honest_rows.row(i));
  }
  ShownPreview preview(view.preview, view.honest_rows.dim());
  memory.show(view.memory);
  auto answer = ask(ballast::AdversaryView{.honest_rows = rows,
                                           .honest_counts = view.honest_counts,
                                           .byzantine_count = view.byzantine_count,
                                           .model = view.model,
                                           .sender = view.sender,
                                           .last_honest = view.last_honest,
                                           .held_count = view.held_count,
                                           .preview = &preview,
                                           .memory = &memory});
  BALLAST_TRY_STATUS(preview.status());
  BALLAST_TRY_STATUS(memory.status());
  return answer;
}

}  // namespace

AttackAdapter::AttackAdapter(const ballast::Attack& attack) : attack_(attack) {
  note(guarded("the attack", [&] { return ask_what_it_needs(); }));
}

Status AttackAdapter::ask_what_it_needs() {
  colludes_ = attack_.colludes();
  needs_preview_ = attack_.needs_preview();
  chooses_time_ = attack_.chooses_time();
  MemoryNames names = attack_.remembers();
  BALLAST_TRY_STATUS(check_names(names));
  memory_ = std::make_unique<MemoryAdapter>(std::move(names));
  return {};
}

Result<std::vector<int>> AttackAdapter::label_map(int class_count) const {
  return guarded("the attack", [&] { return attack_.label_map(class_count); });
}

void AttackAdapter::change_update(const worker::SampleKey& key, std::span<float> update) const {
  const SampleKey shown = {.seed = key.seed, .worker = key.worker, .step = key.step};
  note(guarded("the attack", [&] { return attack_.change_update(shown, update); }));
}

Status AttackAdapter::check_memory(const attacks::AttackMemory& memory,
                                   const attacks::MemoryShape&) const {
  if (has_memory() ? memory_->fits(memory) : memory.is_empty()) return {};
  return invalid_argument("the saved memory is not one of such an attack");
}

void AttackAdapter::watch(std::span<const float> update, attacks::AttackMemory& memory) const {
  if (memory_ == nullptr) return;
  note(guarded("the attack", [&]() -> Status {
    memory_->show(&memory);
    BALLAST_TRY_STATUS(attack_.watch(update, *memory_));
    return memory_->status();
  }));
}

bool AttackAdapter::holds(const attacks::AdversaryView& view, std::span<const float> update) const {
  if (memory_ == nullptr) return false;
  const Result<bool> answer = guarded("the attack", [&] {
    return show(view, *memory_,
                [&](const ballast::AdversaryView& shown) { return attack_.holds(shown, update); });
  });
  if (answer) return *answer;
  note(tl::unexpected(answer.error()));
  return false;
}

void AttackAdapter::collude(const attacks::AdversaryView& view, std::span<float> update) const {
  if (!colludes_ || memory_ == nullptr || view.honest_rows.row_count() == 0) return;
  note(guarded("the attack", [&] {
    return show(view, *memory_, [&](const ballast::AdversaryView& shown) {
      return attack_.collude(shown, update);
    });
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

}  // namespace ballast::face
