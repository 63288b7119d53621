#include "ballast/expression/catalogue.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ballast/base/nearest_word.h"

namespace ballast::expression {
namespace {

std::string see_text(const Family& family) {
  return fmt::format("'ballast list {}'", list_word(family));
}

bool is_default(const Parameter& parameter, const Argument& argument) {
  if (!parameter.has_default()) return false;
  if (const auto* number = std::get_if<double>(&argument.value)) {
    return number != nullptr && *number == parameter.absent_number;
  }
  return to_string(std::get<Expression>(argument.value)) == parameter.absent_text;
}

Result<Expression> canonical(const Catalogue& catalogue, const Expression& expression,
                             std::string_view text);

Result<Call> canonical(const Catalogue& catalogue, const Call& call, std::string_view text) {
  BALLAST_TRY(const std::size_t index, find_entry(catalogue, call, text));
  BALLAST_TRY(const Arguments arguments, check_call(catalogue, index, call, text));
  Call result{.name = call.name, .arguments = {}};
  for (const Parameter& parameter : catalogue.entries[index]->parameters) {
    const Argument* given = arguments.given(parameter.name);
    if (given == nullptr) continue;
    Argument argument = *given;
    if (parameter.noun == catalogue.family.noun) {
      BALLAST_TRY(argument.value, canonical(catalogue, std::get<Expression>(given->value), text));
    }
    if (is_default(parameter, argument)) continue;
    argument.key = parameter.is_required ? "" : parameter.name;
    result.arguments.push_back(std::move(argument));
  }
  return result;
}

Result<Expression> canonical(const Catalogue& catalogue, const Expression& expression,
                             std::string_view text) {
  BALLAST_TRY_STATUS(check_joined(catalogue, expression, text));
  Expression result;
  for (const Call& call : expression.calls) {
    BALLAST_TRY(Call part, canonical(catalogue, call, text));
    result.calls.push_back(std::move(part));
  }
  return result;
}

}  // namespace

std::string list_word(const Family& family) {
  std::string word(family.plural);
  std::ranges::replace(word, ' ', '-');
  return word;
}

Result<Expression> parse_text(const Catalogue& catalogue, std::string_view text) {
  const Family& family = catalogue.family;
  return parse_expression(
      text, fmt::format("{}, such as {},", with_article(family.noun), family.example));
}

Status check_joined(const Catalogue& catalogue, const Expression& expression, std::string_view text,
                    std::size_t calls_max) {
  if (expression.calls.size() == 1) return {};
  for (const Call& call : expression.calls) {
    BALLAST_TRY(const std::size_t index, find_entry(catalogue, call, text));
    if (catalogue.entries[index]->can_be_joined) continue;
    return invalid_argument(point_at(
        text, call.position, fmt::format("'{}' cannot be joined with others by '&'", call.name)));
  }
  if (expression.calls.size() <= calls_max) return {};
  return invalid_argument(
      point_at(text, expression.calls[calls_max].position,
               fmt::format("there is place for {} {} only", calls_max, catalogue.family.noun)));
}

Result<std::size_t> find_entry(const Catalogue& catalogue, const Call& call,
                               std::string_view text) {
  const auto found = std::ranges::find(catalogue.entries, call.name, &Entry::name);
  if (found != catalogue.entries.end()) {
    return static_cast<std::size_t>(found - catalogue.entries.begin());
  }
  std::vector<std::string_view> names;
  for (const Entry* entry : catalogue.entries) names.push_back(entry->name);
  const Family& family = catalogue.family;
  const auto nearest = nearest_word(call.name, names);
  const std::string hint =
      nearest ? fmt::format("did you mean '{}'?", *nearest)
              : fmt::format("{} shows the {} there are", see_text(family), family.plural);
  return not_found(point_at(text, call.position,
                            fmt::format("there is no {} '{}'; {}", family.noun, call.name, hint)));
}

Result<Arguments> check_call(const Catalogue& catalogue, std::size_t entry, const Call& call,
                             std::string_view text) {
  return Arguments::check(*catalogue.entries[entry], call, text, see_text(catalogue.family));
}

Result<std::string> canonical_text(const Catalogue& catalogue, std::string_view text) {
  BALLAST_TRY(const Expression expression, parse_text(catalogue, text));
  BALLAST_TRY(const Expression result, canonical(catalogue, expression, text));
  std::string written = to_string(result);
  if (written.size() <= kCharactersMax) return written;  // keys can make it longer than the text
  return invalid_argument(
      point_at(text, 0, fmt::format("more than {} characters once written out", kCharactersMax)));
}

}  // namespace ballast::expression
