#include "ballast/face/memory_adapter.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "ballast/face/guard.h"
#include "ballast/face/state_name.h"
#include "ballast/kernels/finite.h"

namespace ballast {

Result<std::unique_ptr<AttackMemory>> make_attack_memory(MemoryNames names) {
  return face::guarded("the memory", [&]() -> Result<std::unique_ptr<AttackMemory>> {
    BALLAST_TRY_STATUS(face::check_names(names));
    return std::make_unique<face::MemoryAdapter>(std::move(names));
  });
}

namespace face {
namespace {

bool is_whole_number_of(std::size_t size, std::size_t names) {
  return size == 0 || (names > 0 && size % names == 0);
}

}  // namespace

Status check_names(const MemoryNames& names) {
  for (const auto* list : {&names.numbers, &names.vectors}) {
    std::set<std::string_view> seen;
    for (const std::string& name : *list) {
      if (is_state_name(name) && seen.insert(name).second) continue;
      return invalid_argument(
          fmt::format("the attack remembers \"{}\" twice, or it is not lower-case letters, digits "
                      "and dashes",
                      name));
    }
  }
  return {};
}

double MemoryAdapter::number(std::string_view name, std::size_t place) const {
  const auto found = find(names_.numbers, name, place);
  return found && *found < memory_->numbers.size() ? memory_->numbers[*found] : 0.0;
}

void MemoryAdapter::set_number(std::string_view name, double value, std::size_t place) {
  const auto found = find(names_.numbers, name, place);
  if (!found) return;
  if (!std::isfinite(value)) {
    return note(fmt::format("the number \"{}\" to remember is {}", name, value));
  }
  const std::size_t names = names_.numbers.size();
  if (*found >= memory_->numbers.size()) memory_->numbers.resize((place + 1) * names);
  memory_->numbers[*found] = value;
}

std::span<const float> MemoryAdapter::vector(std::string_view name, std::size_t place) const {
  const auto found = find(names_.vectors, name, place);
  if (!found || *found >= memory_->vectors.size()) return {};
  return memory_->vectors[*found].values;
}

void MemoryAdapter::keep(std::string_view name, std::span<const float> values, std::size_t place) {
  const auto found = find(names_.vectors, name, place);
  if (!found) return;
  if (is_null(values) || !kernels::all_finite(values)) {
    return note(fmt::format("the vector \"{}\" to keep is a null span or is not finite", name));
  }
  // The values may be a part of what it takes the place of.
  const std::vector<float> copy(values.begin(), values.end());
  const std::size_t names = names_.vectors.size();
  if (*found >= memory_->vectors.size()) memory_->vectors.resize((place + 1) * names);
  memory_->keep(*found, copy);
}

Status MemoryAdapter::status() const {
  if (mistake_) return tl::unexpected(*mistake_);
  return {};
}

bool MemoryAdapter::fits(const attacks::AttackMemory& memory) const {
  return is_whole_number_of(memory.numbers.size(), names_.numbers.size()) &&
         is_whole_number_of(memory.vectors.size(), names_.vectors.size());
}

std::optional<std::size_t> MemoryAdapter::find(const std::vector<std::string>& names,
                                               std::string_view name, std::size_t place) const {
  if (is_null(name)) name = "";
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    note(
        fmt::format("the attack asks its memory for \"{}\"; what it remembers() of that kind is: "
                    "{}",
                    name, names.empty() ? "nothing" : fmt::format("{}", fmt::join(names, ", "))));
    return std::nullopt;
  }
  if (place >= kMemoryPlacesMax) {
    note(fmt::format("place {} of \"{}\"; there are {} of them", place, name, kMemoryPlacesMax));
    return std::nullopt;
  }
  return place * names.size() + static_cast<std::size_t>(found - names.begin());
}

void MemoryAdapter::note(std::string message) const {
  if (!mistake_) mistake_ = Error{ErrorCode::kInvalidArgument, std::move(message)};
}

}  // namespace face
}  // namespace ballast
