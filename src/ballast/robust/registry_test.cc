#include "ballast/robust/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace ballast::robust {
namespace {

using testing::HasSubstr;

// Each rule as users may write it, and as it writes itself.
struct Example {
  const char* text;
  const char* canonical;
};
constexpr Example kExamples[] = {
    {"mean", "mean"},
    {"cwmed", "cwmed"},
    {"gm", "gm"},
    {"gm()", "gm"},
    {"gm(1e-8)", "gm(tolerance=1e-08)"},
    {"gm(tolerance=1e-6)", "gm"},
    {"gm(iterations=3)", "gm(iterations=3)"},
    {"gm(iterations=3, start=zero)", "gm(iterations=3, start=zero)"},
    {"gm(iterations=3, start=mean)", "gm(iterations=3)"},
    {"gm(start=mean)", "gm"},
    {"cwtm(0.2)", "cwtm(0.2)"},
    {"cwtm(lambda=1/4)", "cwtm(0.25)"},
    {"ctma(gm, 0.4)", "ctma(gm, 0.4)"},
    {"ctma(base=gm, lambda=0.4)", "ctma(gm, 0.4)"},
    {"ctma(gm(tolerance=1e-9), 1/3)", "ctma(gm(tolerance=1e-09), 0.3333333333333333)"},
    {"krum(0.2)", "krum(0.2)"},
    {"krum(0)", "krum(0)"},
    {"multikrum(0.2)", "multikrum(0.2)"},
    {"mda(0.3)", "mda(0.3)"},
    {"meamed(0.2)", "meamed(0.2)"},
    {"bulyan(1/8)", "bulyan(0.125)"},
    {"cge(0.2)", "cge(0.2)"},
    {"monna(0.2, row=0)", "monna(0.2)"},
    {"monna(0.2, 3)", "monna(0.2, row=3)"},
    {"smea(0.2)", "smea(0.2)"},
    {"caf(1/4)", "caf(0.25)"},
    {"dnc(0.2)", "dnc(0.2)"},
    {"dnc(0.2, 1, 10000, 1, 0)", "dnc(0.2)"},
    {"dnc(0.2, 3, filter=0.5, seed=7)", "dnc(0.2, iterations=3, filter=0.5, seed=7)"},
    {"dnc(0.2, coordinates=100)", "dnc(0.2, coordinates=100)"},
    {"cclip(cwmed, 10, steps=1)", "cclip(cwmed, 10)"},
    {"cclip(gm, 2.5, 3)", "cclip(gm, 2.5, steps=3)"},
    {"previous", "previous"},
    {"cclip(previous, 10)", "cclip(previous, 10)"},
    {"clip(gm, 2)", "clip(gm, 2)"},
    {"arc(gm, 0.2)", "arc(gm, 0.2)"},
    {"nnm(cwmed, 0.2)", "nnm(cwmed, 0.2)"},
    {"distinct(gm, 0.45)", "distinct(gm)"},
    {"bucketing(gm, 2)", "bucketing(gm, 2)"},
    {"bucketing(gm, size=2, seed=7)", "bucketing(gm, 2, seed=7)"},
    {"unweighted(ctma(nnm(gm, 0.1), 0.2))", "unweighted(ctma(nnm(gm, 0.1), 0.2))"},
};

std::string refusal(std::string_view text) {
  const auto rule = parse_rule(text);
  EXPECT_FALSE(rule.has_value()) << "accepted: " << text;
  return rule ? "" : rule.error().message;
}

TEST(Registry, ParsesEveryRuleFromAnExample) {
  for (const auto& [text, canonical] : kExamples) {
    const auto rule = parse_rule(text);
    ASSERT_TRUE(rule.has_value()) << text << ": " << rule.error().message;
    EXPECT_EQ((*rule)->text(), canonical) << text;
  }
}

TEST(Registry, ReadsBackWhatARuleCallsItself) {
  for (const auto& [text, canonical] : kExamples) {
    const auto rule = parse_rule(canonical);
    ASSERT_TRUE(rule.has_value()) << canonical << ": " << rule.error().message;
    EXPECT_EQ((*rule)->text(), canonical);
  }
}

// The tables that each rule states of itself say the same as the rule.
TEST(Registry, WritesTheCanonicalTextAsTheRuleDoes) {
  for (const auto& [text, canonical] : kExamples) {
    const auto written = rule_registry().canonical(text);
    ASSERT_TRUE(written.has_value()) << text << ": " << written.error().message;
    EXPECT_EQ(*written, canonical) << text;
  }
}

TEST(Registry, HasAnExampleAndAHelpOfEveryEntry) {
  for (const expression::Entry* entry : rule_registry().catalogue().entries) {
    EXPECT_TRUE(std::ranges::any_of(kExamples, [&](const Example& example) {
      return std::string_view(example.text).starts_with(entry->name);
    })) << entry->name;
    EXPECT_FALSE(entry->help.empty()) << entry->name;
    EXPECT_FALSE(entry->paper.empty()) << entry->name;
  }
}

TEST(Registry, NamesNoRuleTwice) {
  std::vector<std::string_view> names;
  for (const expression::Entry* entry : rule_registry().catalogue().entries) {
    names.push_back(entry->name);
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

TEST(Registry, SuggestsTheNearestName) {
  EXPECT_THAT(refusal("cwmde"), HasSubstr("there is no rule 'cwmde'; did you mean 'cwmed'?"));
  EXPECT_THAT(refusal("krumm(0.2)"), HasSubstr("did you mean 'krum'?"));
  EXPECT_THAT(refusal("ctma(median_of_sorts, 0.2)"), HasSubstr("'ballast list rules'"));
  EXPECT_EQ(parse_rule("cwmde").error().code, ErrorCode::kNotFound);
}

// The whole message, so that one sees that the caret stands under the right character.
TEST(Registry, PointsAtWhatItDoesNotKnow) {
  EXPECT_EQ(refusal("ctma(gmm, 0.4)"),
            "there is no rule 'gmm'; did you mean 'gm'? at column 6\n"
            "  ctma(gmm, 0.4)\n"
            "       ^");
  EXPECT_EQ(refusal("ctma(gm, 0.5)"),
            "lambda must be at least 0 and below 1/2, not 0.5 at column 10\n"
            "  ctma(gm, 0.5)\n"
            "           ^");
}

TEST(Registry, SaysWhatIsWrongWithTheArgumentsAndWhere) {
  struct Case {
    const char* text;
    const char* message;
    std::size_t column;
  };
  for (const auto& [text, message, column] : {
           Case{"ctma(gm, -0.1)", "lambda must be at least 0 and below 1/2, not -0.1", 10},
           Case{"cwtm(1/2)", "lambda must be at least 0 and below 1/2", 6},
           Case{"nnm(gm, lambda=0.7)", "lambda must be at least 0 and below 1/2", 9},
           Case{"cwtm", "'cwtm' needs lambda", 1},
           Case{"ctma(gm)", "'ctma' needs lambda", 1},
           Case{"ctma", "'ctma' needs a rule as its first argument", 1},
           Case{"unweighted(ctma(gm))", "'ctma' needs lambda", 12},
           Case{"bucketing(gm)", "'bucketing' needs size", 1},
           Case{"unweighted()", "'unweighted' needs a rule", 1},
           Case{"mean(1)", "'mean' does not take so many arguments", 6},
           Case{"cwmed(lambda=0.2)", "'cwmed' does not take an argument 'lambda'", 7},
           Case{"ctma(gm, 0.2, 0.3)", "'ctma' does not take so many arguments", 15},
           Case{"gm(iteration=3)",
                "'gm' does not take an argument 'iteration'; did you mean 'iterations'?", 4},
           Case{"gm & cwmed", "'gm' cannot be joined with others by '&'", 1},
           Case{"ctma(gm & cwmed, 0.2)", "'gm' cannot be joined with others by '&'", 6},
           Case{"ctma(0.4, gm)", "'ctma' needs a rule here, not a number", 6},
           Case{"ctma(gm, cwmed)", "lambda must be a number", 10},
           Case{"krum(gm)", "lambda must be a number", 6},
           Case{"gm(tolerance=0)", "tolerance must be above 0, not 0", 4},
           Case{"gm(tolerance=fine)", "tolerance must be a number", 4},
           Case{"gm(iterations=2.5)", "iterations must be a whole number from 1, not 2.5", 4},
           Case{"gm(iterations=0)", "iterations must be a whole number from 1, not 0", 4},
           Case{"gm(iterations=3, start=one)", "start must be one of: mean, zero", 18},
           Case{"gm(iterations=3, start=1)", "start must be one of: mean, zero", 18},
           Case{"gm(start=zero)", "start=zero needs iterations=N", 4},
           Case{"bucketing(gm, 0)", "size must be a whole number from 1, not 0", 15},
           Case{"bucketing(gm, 2, seed=-1)", "seed must be a whole number from 0, not -1", 18},
           Case{"bucketing(gm, 1e300)", "size must be a whole number", 15},
       }) {
    const std::string said = refusal(text);
    EXPECT_THAT(said, HasSubstr(message)) << text;
    EXPECT_THAT(said, HasSubstr("at column " + std::to_string(column) + "\n")) << text;
    EXPECT_THAT(said, testing::EndsWith("\n  " + std::string(column - 1, ' ') + "^")) << text;
  }
}

TEST(Registry, PassesOnWhatTheParserRefuses) {
  EXPECT_THAT(refusal("ctma(gm, 0.4"), HasSubstr("expected ',' or ')' at column 13\n"));
}

}  // namespace
}  // namespace ballast::robust
