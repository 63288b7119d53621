#pragma once
// Private to face/: a caller's attack as the rooms know one, and the other way round.

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "ballast/attack.h"
#include "ballast/attacks/attack.h"
#include "ballast/face/memory_adapter.h"

namespace ballast::face {

// The attack of the library that the caller took by its name; null where it is the caller's own.
const attacks::Attack* library_attack(const ballast::Attack& attack);

// A caller's attack for one run. Keeps the first error of the caller's code: the rooms' hooks have
// no way to return one.
//
// Thread-safety: any thread may call label_map(), change_update() and status(); one thread calls
// the rest.
class AttackAdapter final : public attacks::Attack {
 public:
  // Borrowed.
  explicit AttackAdapter(const ballast::Attack& attack);

  Result<std::vector<int>> label_map(int class_count) const override;
  void change_update(const worker::SampleKey& key, std::span<float> update) const override;

  // Whoever asks for anything needs to be shown it, also if it leaves the updates as they are.
  bool colludes() const noexcept override {
    return colludes_ || needs_preview_ || chooses_time_ || has_memory();
  }
  bool needs_preview() const noexcept override { return needs_preview_; }
  bool has_memory() const noexcept override { return memory_ && !is_empty(memory_->names()); }
  bool chooses_time() const noexcept override { return chooses_time_; }

  Status check_memory(const attacks::AttackMemory& memory,
                      const attacks::MemoryShape& shape) const override;
  void watch(std::span<const float> update, attacks::AttackMemory& memory) const override;
  bool holds(const attacks::AdversaryView& view, std::span<const float> update) const override;
  void collude(const attacks::AdversaryView& view, std::span<float> update) const override;

  Status status() const;

 private:
  Status ask_what_it_needs();
  void note(const Status& status) const;

  const ballast::Attack& attack_;
  bool colludes_ = false;
  bool needs_preview_ = false;
  bool chooses_time_ = false;
  std::unique_ptr<MemoryAdapter> memory_;  // null only where the attack failed at once
  mutable std::mutex mutex_;
  mutable std::optional<Error> failure_;
};

}  // namespace ballast::face
