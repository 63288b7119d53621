#include "ballast/face/preview_adapter.h"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "ballast/face/guard.h"
#include "ballast/kernels/finite.h"

namespace ballast::face {
namespace {

void note(std::optional<Error>& mistake, std::string message) {
  if (!mistake) mistake = Error{ErrorCode::kInvalidArgument, std::move(message)};
}

Status status_of(const std::optional<Error>& mistake) {
  if (mistake) return tl::unexpected(*mistake);
  return {};
}

}  // namespace

std::span<const float> ShownPreview::direction_after(std::span<const float> update) {
  if (preview_ == nullptr) {
    note(mistake_, "the attack tries an update on the server, but its needs_preview() is false");
    return {};
  }
  if (update.size() != dim_ || is_null(update)) {
    note(mistake_, fmt::format("the attack tries an update of {} values, or a null span, on the "
                               "server; the model has {}",
                               update.size(), dim_));
    return {};
  }
  // The server would refuse it.
  if (!kernels::all_finite(update)) return {};
  return preview_->direction_after(update);
}

Status ShownPreview::status() const { return status_of(mistake_); }

std::span<const float> GivenPreview::direction_after(std::span<const float> update) {
  const std::span<const float> direction = preview_->direction_after(update);
  if (direction.empty()) return {};
  if (direction.size() == update.size() && !is_null(direction) && kernels::all_finite(direction)) {
    return direction;
  }
  note(mistake_, fmt::format("the preview answered an update of {} values with {} values, or with "
                             "some that are not finite",
                             update.size(), direction.size()));
  return {};
}

Status GivenPreview::status() const { return status_of(mistake_); }

}  // namespace ballast::face
