#pragma once
// Private to face/: a preview of the server as a caller's attack sees it, and a caller's preview as
// an attack of the library sees it. Both look first at what the caller hands over.

#include <cstddef>
#include <optional>
#include <span>

#include "ballast/attack.h"
#include "ballast/attacks/server_preview.h"

namespace ballast::face {

// The room's preview, for an attack of the caller's.
class ShownPreview final : public ballast::ServerPreview {
 public:
  // The preview is borrowed; null: the attack did not ask for one.
  ShownPreview(attacks::ServerPreview* preview, std::size_t dim) : preview_(preview), dim_(dim) {}

  std::span<const float> direction_after(std::span<const float> update) override;

  // What the caller did wrong, if anything.
  Status status() const;

 private:
  attacks::ServerPreview* preview_;
  std::size_t dim_;
  std::optional<Error> mistake_;
};

// The caller's preview, for an attack of the library.
class GivenPreview final : public attacks::ServerPreview {
 public:
  // Borrowed. Requires: not null where the attack needs one.
  explicit GivenPreview(ballast::ServerPreview* preview) : preview_(preview) {}

  std::span<const float> direction_after(std::span<const float> update) override;

  Status status() const;

 private:
  ballast::ServerPreview* preview_;
  std::optional<Error> mistake_;
};

}  // namespace ballast::face
