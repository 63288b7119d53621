#include "ballast/robust/arguments.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "ballast/robust/registry.h"

namespace ballast::robust {

tl::unexpected<Error> Arguments::point(std::size_t position, std::string_view message) const {
  return invalid_argument(point_at(text_, position, message));
}

tl::unexpected<Error> Arguments::missing(std::string_view what) const {
  return point(expression_.position,
               fmt::format("'{}' needs {}; see 'ballast list'", expression_.name, what));
}

tl::unexpected<Error> Arguments::refuse(std::string_view key, std::string_view message) const {
  for (const Argument& argument : expression_.arguments) {
    if (argument.key == key) return point(argument.position, message);
  }
  return point(expression_.position, message);
}

// The unused argument with that key, else the first unused one without a key.
const Argument* Arguments::take(std::string_view key) {
  const auto& arguments = expression_.arguments;
  for (const std::string_view wanted : {key, std::string_view()}) {
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (is_used_[i] || arguments[i].key != wanted) continue;
      is_used_[i] = true;
      return &arguments[i];
    }
  }
  return nullptr;
}

Result<RulePointer> Arguments::rule(std::string_view name) {
  const Argument* argument = take(name);
  if (argument == nullptr) return missing("a rule as its first argument");
  const auto* inner = std::get_if<Expression>(&argument->value);
  if (inner == nullptr) {
    return point(argument->position,
                 fmt::format("'{}' needs a rule here, not a number", expression_.name));
  }
  return make_rule(*inner, text_);
}

Result<double> Arguments::number(const Argument& argument, std::string_view key) const {
  const auto* value = std::get_if<double>(&argument.value);
  if (value != nullptr) return *value;
  return point(argument.position, fmt::format("{} must be a number", key));
}

Result<double> Arguments::share(std::string_view key) {
  const Argument* argument = take(key);
  if (argument == nullptr) return missing(fmt::format("{}, the share to defend against", key));
  BALLAST_TRY(const double value, number(*argument, key));
  if (value >= 0.0 && value < 0.5) return value;
  return point(argument->position,
               fmt::format("{} must be at least 0 and below 1/2, not {}", key, value));
}

Result<double> Arguments::positive(std::string_view key, double absent) {
  const Argument* argument = take(key);
  if (argument == nullptr) return absent;
  BALLAST_TRY(const double value, number(*argument, key));
  if (value > 0.0) return value;
  return point(argument->position, fmt::format("{} must be above 0, not {}", key, value));
}

Result<std::uint64_t> Arguments::whole(std::string_view key, std::uint64_t smallest,
                                       const std::uint64_t* absent) {
  constexpr double kLargest = 0x1.0p53;
  const Argument* argument = take(key);
  if (argument == nullptr && absent != nullptr) return *absent;
  if (argument == nullptr) return missing(fmt::format("{}, a whole number", key));
  BALLAST_TRY(const double value, number(*argument, key));
  if (value == std::floor(value) && value >= static_cast<double>(smallest) && value <= kLargest) {
    return static_cast<std::uint64_t>(value);
  }
  return point(argument->position,
               fmt::format("{} must be a whole number from {}, not {}", key, smallest, value));
}

Result<std::string> Arguments::word(std::string_view key, std::span<const std::string_view> known) {
  const Argument* argument = take(key);
  if (argument == nullptr) return std::string();
  const auto* inner = std::get_if<Expression>(&argument->value);
  const bool is_known = inner != nullptr && inner->arguments.empty() &&
                        std::ranges::find(known, inner->name) != known.end();
  if (is_known) return inner->name;
  return point(argument->position,
               fmt::format("{} must be one of: {}", key, fmt::join(known, ", ")));
}

Status Arguments::finish() const {
  for (std::size_t i = 0; i < is_used_.size(); ++i) {
    if (is_used_[i]) continue;
    const Argument& argument = expression_.arguments[i];
    const std::string what =
        argument.key.empty() ? "so many arguments" : fmt::format("an argument '{}'", argument.key);
    return point(argument.position,
                 fmt::format("'{}' does not take {}; see 'ballast list'", expression_.name, what));
  }
  return {};
}

}  // namespace ballast::robust
