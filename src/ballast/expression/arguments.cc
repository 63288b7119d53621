#include "ballast/expression/arguments.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/base/nearest_word.h"

namespace ballast::expression {
namespace {

std::string ordinal(std::size_t index) {
  constexpr std::array<std::string_view, 4> kWords = {"first", "second", "third", "fourth"};
  return index < kWords.size() ? std::string(kWords[index]) : fmt::format("{}th", index + 1);
}

bool is_in_range(const Parameter& parameter, double value) {
  if (parameter.kind == ParameterKind::kWhole && value != std::floor(value)) return false;
  const bool is_above = parameter.is_low_allowed ? value >= parameter.low : value > parameter.low;
  const bool is_below =
      parameter.is_high_allowed ? value <= parameter.high : value < parameter.high;
  return is_above && is_below;
}

}  // namespace

Result<Arguments> Arguments::check(const Entry& entry, const Call& call, std::string_view text,
                                   std::string_view see) {
  Arguments arguments(entry, call, text);
  BALLAST_TRY_STATUS(arguments.bind(see));
  for (std::size_t i = 0; i < arguments.bound_.size(); ++i) {
    BALLAST_TRY_STATUS(arguments.read(i, see));
  }
  return arguments;
}

// First the keys, then the rest in order, so that a positional argument goes past what a key names.
// The parser lets no key appear twice and no argument without one follow one with one.
Status Arguments::bind(std::string_view see) {
  for (const Argument& argument : call_->arguments) {
    if (argument.key.empty()) continue;
    const auto named = std::ranges::find(entry_->parameters, argument.key, &Parameter::name);
    if (named == entry_->parameters.end()) return unknown(argument, see);
    bound_[static_cast<std::size_t>(named - entry_->parameters.begin())].argument = &argument;
  }
  auto next = bound_.begin();
  for (const Argument& argument : call_->arguments) {
    if (!argument.key.empty()) continue;
    next = std::ranges::find(next, bound_.end(), nullptr, &Bound::argument);
    if (next == bound_.end()) return unknown(argument, see);
    next->argument = &argument;
  }
  return {};
}

Status Arguments::read(std::size_t index, std::string_view see) {
  const Parameter& parameter = entry_->parameters[index];
  Bound& bound = bound_[index];
  if (bound.argument != nullptr) return read_given(index);
  if (parameter.is_required) return missing(index, see);
  bound.number = parameter.absent_number.value_or(0.0);
  bound.word = parameter.absent_text;
  if (parameter.kind == ParameterKind::kExpression) {
    auto absent = parse_expression(parameter.absent_text);
    BALLAST_CHECK(absent.has_value(), "a default is an expression");
    bound.absent = *std::move(absent);
  }
  return {};
}

Status Arguments::read_given(std::size_t index) {
  switch (entry_->parameters[index].kind) {
    case ParameterKind::kNumber:
    case ParameterKind::kWhole:
      return read_number(index);
    case ParameterKind::kWord:
      return read_word(index);
    case ParameterKind::kExpression:
      return read_nested(index);
  }
  return {};
}

Status Arguments::read_number(std::size_t index) {
  const Parameter& parameter = entry_->parameters[index];
  const Argument& argument = *bound_[index].argument;
  const auto* value = std::get_if<double>(&argument.value);
  if (value == nullptr) {
    return point(argument.position, fmt::format("{} must be a number", parameter.name));
  }
  if (!is_in_range(parameter, *value)) {
    return point(argument.position, fmt::format("{} must be {}, not {}", parameter.name,
                                                range_text(parameter), *value));
  }
  bound_[index].number = *value;
  return {};
}

Status Arguments::read_word(std::size_t index) {
  const Parameter& parameter = entry_->parameters[index];
  const Argument& argument = *bound_[index].argument;
  const auto* expression = std::get_if<Expression>(&argument.value);
  const std::string word = expression != nullptr ? to_string(*expression) : "";
  if (std::ranges::find(parameter.words, word) == parameter.words.end()) {
    const auto nearest = nearest_word(word, parameter.words);
    return point(argument.position,
                 fmt::format("{} must be {}{}", parameter.name, range_text(parameter),
                             nearest ? fmt::format("; did you mean '{}'?", *nearest) : ""));
  }
  bound_[index].word = word;
  return {};
}

Status Arguments::read_nested(std::size_t index) {
  const Argument& argument = *bound_[index].argument;
  if (std::holds_alternative<Expression>(argument.value)) return {};
  return point(argument.position, fmt::format("'{}' needs {} here, not a number", call_->name,
                                              with_article(entry_->parameters[index].noun)));
}

double Arguments::number(std::string_view name) const {
  return bound_[index_of(name, ParameterKind::kNumber)].number;
}

std::uint64_t Arguments::whole(std::string_view name) const {
  return static_cast<std::uint64_t>(bound_[index_of(name, ParameterKind::kWhole)].number);
}

std::string_view Arguments::word(std::string_view name) const {
  return bound_[index_of(name, ParameterKind::kWord)].word;
}

Arguments::Nested Arguments::nested(std::string_view name) const {
  const std::size_t index = index_of(name, ParameterKind::kExpression);
  const Bound& bound = bound_[index];
  if (bound.argument == nullptr) return {bound.absent, entry_->parameters[index].absent_text};
  return {std::get<Expression>(bound.argument->value), text_};
}

const Argument* Arguments::given(std::string_view name) const {
  return bound_[index_of(name)].argument;
}

tl::unexpected<Error> Arguments::refuse(std::string_view name, std::string_view message) const {
  const Argument* argument = given(name);
  return point(argument != nullptr ? argument->position : call_->position, message);
}

tl::unexpected<Error> Arguments::missing(std::size_t index, std::string_view see) const {
  const Parameter& parameter = entry_->parameters[index];
  const std::string what =
      parameter.kind == ParameterKind::kExpression
          ? fmt::format("{} as its {} argument", with_article(parameter.noun), ordinal(index))
          : fmt::format("{}, {}", parameter.name, parameter.help);
  return point(call_->position, fmt::format("'{}' needs {}; see {}", call_->name, what, see));
}

tl::unexpected<Error> Arguments::unknown(const Argument& argument, std::string_view see) const {
  if (argument.key.empty()) {
    return point(argument.position,
                 fmt::format("'{}' does not take so many arguments; see {}", call_->name, see));
  }
  std::vector<std::string_view> names;
  for (const Parameter& parameter : entry_->parameters) names.push_back(parameter.name);
  const auto nearest = nearest_word(argument.key, names);
  const std::string hint =
      nearest ? fmt::format("did you mean '{}'?", *nearest) : fmt::format("see {}", see);
  return point(argument.position, fmt::format("'{}' does not take an argument '{}'; {}",
                                              call_->name, argument.key, hint));
}

tl::unexpected<Error> Arguments::point(std::size_t position, std::string_view message) const {
  return invalid_argument(point_at(text_, position, message));
}

std::size_t Arguments::index_of(std::string_view name) const {
  const auto found = std::ranges::find(entry_->parameters, name, &Parameter::name);
  BALLAST_CHECK(found != entry_->parameters.end(), "the entry has no such parameter");
  return static_cast<std::size_t>(found - entry_->parameters.begin());
}

std::size_t Arguments::index_of(std::string_view name, ParameterKind kind) const {
  const std::size_t index = index_of(name);
  const Parameter& parameter = entry_->parameters[index];
  BALLAST_CHECK(parameter.kind == kind, "the parameter is of another kind");
  BALLAST_CHECK(bound_[index].argument != nullptr || parameter.has_default(),
                "ask is_given() first: the parameter has no default");
  return index;
}

}  // namespace ballast::expression
