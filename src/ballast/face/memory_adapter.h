#pragma once
// Private to face/: what an attack of the caller's remembers, by name, in the memory of a run,
// which knows places alone. Place p of the n-th of N names is place p * N + n there.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/attack.h"
#include "ballast/attacks/attack_memory.h"

namespace ballast::face {

// Refuses a name that no state can have, and one that occurs twice.
Status check_names(const MemoryNames& names);

inline bool is_empty(const MemoryNames& names) {
  return names.numbers.empty() && names.vectors.empty();
}

// Thread-safety: none.
class MemoryAdapter final : public ballast::AttackMemory {
 public:
  // Requires: names that check_names() lets pass.
  explicit MemoryAdapter(MemoryNames names) : names_(std::move(names)) {}
  MemoryAdapter(const MemoryAdapter&) = delete;
  MemoryAdapter& operator=(const MemoryAdapter&) = delete;

  double number(std::string_view name, std::size_t place) const override;
  void set_number(std::string_view name, double value, std::size_t place) override;
  std::span<const float> vector(std::string_view name, std::size_t place) const override;
  void keep(std::string_view name, std::span<const float> values, std::size_t place) override;
  Status status() const override;

  // From now on it stands for this memory, which is borrowed; null: one of its own.
  void show(attacks::AttackMemory* memory) { memory_ = memory == nullptr ? &own_ : memory; }

  // Whether a run's memory can be one with these names.
  bool fits(const attacks::AttackMemory& memory) const;

  const MemoryNames& names() const { return names_; }
  attacks::AttackMemory& places() { return *memory_; }

 private:
  // Of the run's memory; nothing, and a note, if there is no such name or place.
  std::optional<std::size_t> find(const std::vector<std::string>& names, std::string_view name,
                                  std::size_t place) const;
  void note(std::string message) const;

  MemoryNames names_;
  attacks::AttackMemory own_;
  attacks::AttackMemory* memory_ = &own_;
  mutable std::optional<Error> mistake_;
};

}  // namespace ballast::face
