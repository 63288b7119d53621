#include "ballast/server/method.h"

#include <algorithm>

namespace ballast::server {
namespace {

template <typename List>
auto* find(List& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, [](const auto& entry) { return entry.name; });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

const NamedNumbers* MethodState::find_numbers(std::string_view name) const {
  return find(numbers, name);
}

NamedVector* MethodState::find_vector(std::string_view name) { return find(vectors, name); }

bool Method::is_ready() const { return true; }

std::string Method::pause_reason() const { return {}; }

bool Method::wants(std::uint32_t /*worker*/) const { return true; }

std::span<const float> Method::row(std::uint32_t /*worker*/) const { return {}; }

std::span<const float> Method::last_direction() const { return {}; }

std::size_t Method::further_vectors() const { return 0; }

std::vector<robust::RowMeasure> Method::measure_rows() const { return {}; }

std::vector<NamedNumber> Method::figures() const { return {}; }

}  // namespace ballast::server
