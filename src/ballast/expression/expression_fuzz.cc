// Any text is either refused or has a canonical text that reads back as the same expression; and a
// registry with parameters of every kind either refuses it, pointing into the text, or has a
// canonical text of its own that makes the same.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ballast/base/check.h"
#include "ballast/expression/registry.h"

namespace {

using ballast::Result;
using ballast::expression::Arguments;
using ballast::expression::Item;
using ballast::expression::Parameter;
using ballast::expression::Registry;

const Registry<std::string>& registry();

constexpr std::string_view kWords[] = {"a", "zero"};
constexpr Parameter kParameters[] = {
    Parameter::nested("base", "thing", "again a thing"),
    Parameter::number("lambda", "a share").from(0).below(0.5),
    Parameter::whole("size", "a size").from(1).otherwise(2),
    Parameter::whole("steps", "perhaps").from(1).up_to(9).optional("none"),
    Parameter::word("start", kWords, "a word").otherwise("a")};

// What the arguments were, as a text.
Result<std::string> describe(const Arguments& arguments) {
  BALLAST_TRY(const auto base, registry().make_all_of_argument(arguments, "base"));
  std::string text = "(";
  for (const std::string& part : base) text += part + ";";
  text += ballast::expression::to_string(arguments.number("lambda")) + "," +
          std::to_string(arguments.whole("size"));
  if (arguments.is_given("steps")) text += "," + std::to_string(arguments.whole("steps"));
  return text + "," + std::string(arguments.word("start")) + ")";
}

constexpr Item<std::string> kLeaf = {{.name = "gm", .help = "a leaf"},
                                     [](const Arguments&) -> Result<std::string> { return "gm"; }};
constexpr Item<std::string> kNode = {
    {.name = "ctma", .help = "a node", .parameters = kParameters, .can_be_joined = true}, describe};
constexpr const Item<std::string>* kItems[] = {&kLeaf, &kNode};

const Registry<std::string>& registry() {
  static const Registry<std::string> made({.noun = "thing", .plural = "things", .example = "gm"},
                                          kItems);
  return made;
}

void check_syntax(std::string_view text) {
  using ballast::expression::parse_expression;
  const auto expression = parse_expression(text);
  if (!expression) return;
  const std::string canonical = to_string(*expression);
  const auto again = parse_expression(canonical);
  BALLAST_CHECK(again.has_value(), "the canonical text is an expression");
  BALLAST_CHECK(*again == *expression, "the canonical text means the same");
  BALLAST_CHECK(to_string(*again) == canonical, "the canonical text is a fixed point");
}

bool is_too_long(const ballast::Error& error) {
  return error.message.find(" once written out") != std::string::npos;
}

bool has_place(const ballast::Error& error) {
  return error.message.find(" at column ") != std::string::npos;
}

void check_registry(std::string_view text) {
  const auto made = registry().parse_all(text);
  const auto canonical = registry().canonical(text);
  if (!made) {
    BALLAST_CHECK(!canonical.has_value(), "what is refused has no canonical text");
    BALLAST_CHECK(has_place(made.error()), "an error has a place");
    return;
  }
  if (!canonical) {
    BALLAST_CHECK(is_too_long(canonical.error()), "only length keeps a text from being canonical");
    return;
  }
  const auto again = registry().parse_all(*canonical);
  BALLAST_CHECK(again.has_value() && *again == *made, "the canonical text makes the same");
  BALLAST_CHECK(registry().canonical(*canonical).value() == *canonical, "it is a fixed point");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_syntax(text);
  check_registry(text);
  return 0;
}
