#include "ballast/simulate/same_state.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

namespace ballast::simulate {
namespace {

bool are_same_bits(std::span<const float> left, std::span<const float> right) {
  return left.size() == right.size() &&
         (left.empty() || std::memcmp(left.data(), right.data(), left.size_bytes()) == 0);
}

bool is_same(const server::SenderRecord& saved, const server::SenderRecord& resumed) {
  return saved.staleness == resumed.staleness && saved.last_seen == resumed.last_seen &&
         saved.verdicts == resumed.verdicts && saved.sequence <= resumed.sequence &&
         saved.issued <= resumed.issued;
}

// What is resumed may have workers more, of which nothing is known: zeros, but for these.
bool is_of_newcomer(const std::string& name, double value) {
  if (name == "coefficients") return value == -1.0;  // kardam: it has none
  return value == 0.0 || name == "buffer-of";        // basgd: whichever it fills
}

bool is_same(const server::NamedNumbers& saved, const server::NamedNumbers& resumed) {
  const auto known = static_cast<std::ptrdiff_t>(saved.values.size());
  return saved.name == resumed.name && saved.values.size() <= resumed.values.size() &&
         std::equal(saved.values.begin(), saved.values.end(), resumed.values.begin()) &&
         std::all_of(resumed.values.begin() + known, resumed.values.end(),
                     [&](double value) { return is_of_newcomer(saved.name, value); });
}

std::optional<std::string> difference(const server::MethodStateView& saved,
                                      const server::MethodStateView& resumed) {
  if (saved.numbers.size() != resumed.numbers.size()) return "it has other numbers";
  for (std::size_t i = 0; i < saved.numbers.size(); ++i) {
    if (!is_same(saved.numbers[i], resumed.numbers[i])) return saved.numbers[i].name + " differ";
  }
  if (saved.vectors.size() != resumed.vectors.size()) return "it has other vectors";
  for (std::size_t i = 0; i < saved.vectors.size(); ++i) {
    const auto &left = saved.vectors[i], &right = resumed.vectors[i];
    if (left.name == right.name && left.revision == right.revision &&
        are_same_bits(left.values, right.values)) {
      continue;
    }
    return fmt::format("the vector {} differs", left.name);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> difference_after_resume(const server::ServerStateView& saved,
                                                   const server::ServerStateView& resumed) {
  if (saved.accepted_count != resumed.accepted_count || saved.steps != resumed.steps) {
    return "its counts differ";
  }
  if (!are_same_bits(saved.w, resumed.w) || !are_same_bits(saved.x, resumed.x)) {
    return "its model differs";
  }
  if (saved.senders.size() > resumed.senders.size()) return "it has fewer workers";
  for (std::size_t i = 0; i < saved.senders.size(); ++i) {
    if (!is_same(saved.senders[i], resumed.senders[i])) {
      return fmt::format("the record of worker {} differs", i);
    }
    if (!are_same_bits(saved.statistics[i], resumed.statistics[i])) {
      return fmt::format("the statistics of worker {} differ", i);
    }
  }
  if (!are_same_bits(saved.last_statistics, resumed.last_statistics)) {
    return "the last statistics differ";
  }
  return difference(saved.method_state, resumed.method_state);
}

}  // namespace ballast::simulate
