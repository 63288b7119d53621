#pragma once
// Private to face/: a caller's attack as the rooms know one, and the other way round.

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "ballast/attack.h"
#include "ballast/attacks/attack.h"

namespace ballast::face {

// The attack of the library that the caller took by its name; null where it is the caller's own.
const attacks::Attack* library_attack(const ballast::Attack& attack);

// Keeps the first error of the caller's code: the rooms' hooks have no way to return one.
// Thread-safety: any thread may call it.
class AttackAdapter final : public attacks::Attack {
 public:
  // Borrowed.
  explicit AttackAdapter(const ballast::Attack& attack);

  Result<std::vector<int>> label_map(int class_count) const override;
  void change_update(const worker::SampleKey& key, std::span<float> update) const override;
  bool colludes() const noexcept override { return colludes_; }
  void collude(const attacks::AdversaryView& view, std::span<float> update) const override;

  Status status() const;

 private:
  void note(const Status& status) const;

  const ballast::Attack& attack_;
  bool colludes_ = false;
  mutable std::mutex mutex_;
  mutable std::optional<Error> failure_;
};

}  // namespace ballast::face
