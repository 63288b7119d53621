#include "ballast/expression/render.h"

#include <gtest/gtest.h>

namespace ballast::expression {
namespace {

constexpr std::string_view kStarts[] = {"mean", "zero"};
constexpr Parameter kParameters[] = {
    Parameter::nested("base", "rule", "the rule below"),
    Parameter::number("lambda", "the share").from(0).below(0.5),
    Parameter::number("scale", "of the result").otherwise(-1),
    Parameter::whole("steps", "how many").from(1).optional("until converged"),
    Parameter::word("start", kStarts, "where it begins").otherwise("mean")};
constexpr Entry kPlain = {.name = "plain", .help = "nothing special"};
constexpr Entry kRich = {.name = "rich",
                         .help = "everything",
                         .paper = "Somebody 2024",
                         .parameters = kParameters,
                         .can_be_joined = true};

Catalogue catalogue() {
  return {.family = {.noun = "attack", .plural = "attacks", .example = "plain"},
          .entries = {&kPlain, &kRich}};
}

TEST(Render, UsageShowsWhatMustBeGivenAndTheDefaults) {
  EXPECT_EQ(usage(kPlain), "plain");
  EXPECT_EQ(usage(kRich), "rich(BASE, LAMBDA, scale=-1, steps=N, start=mean)");
}

TEST(Render, TextHasAParagraphPerName) {
  EXPECT_EQ(to_text(catalogue()),
            "plain\n"
            "    nothing special\n"
            "rich(BASE, LAMBDA, scale=-1, steps=N, start=mean)\n"
            "    everything\n"
            "    base        the rule below; a rule\n"
            "    lambda      the share; at least 0 and below 1/2\n"
            "    scale       of the result; any number; else -1\n"
            "    steps       how many; a whole number from 1; else until converged\n"
            "    start       where it begins; one of: mean, zero; else mean\n"
            "    several are joined by '&'\n"
            "    [Somebody 2024]\n");
}

TEST(Render, JsonHasALinePerName) {
  const std::string lines = to_json_lines(catalogue());
  const std::size_t end = lines.find('\n');
  EXPECT_EQ(lines.substr(0, end),
            R"({"kind":"attack","name":"plain","usage":"plain","help":"nothing special",)"
            R"("paper":"-","joins":false,"parameters":[]})");
  EXPECT_NE(lines.find(R"({"name":"lambda","kind":"number","range":"at least 0 and below 1/2",)"
                       R"("default":null,"help":"the share"})"),
            std::string::npos);
  EXPECT_NE(lines.find(R"("name":"steps","kind":"whole number","range":"a whole number from 1",)"
                       R"("default":"until converged")"),
            std::string::npos);
}

TEST(Render, MarkdownIsATable) {
  EXPECT_EQ(to_markdown(catalogue()).substr(0, 100),
            "| attack | what it does | parameters | paper |\n|---|---|---|---|\n"
            "| `plain` | nothing special | - | -");
  EXPECT_NE(to_markdown(catalogue()).find("<br>`lambda`: the share; at least 0 and below 1/2<br>"),
            std::string::npos);
}

TEST(Render, ArticlesFollowTheVowel) {
  EXPECT_EQ(with_article("attack"), "an attack");
  EXPECT_EQ(with_article("rule"), "a rule");
}

}  // namespace
}  // namespace ballast::expression
