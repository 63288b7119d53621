#include "ballast/expression/syntax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "ballast/base/rng.h"

namespace ballast::expression {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Expression parsed(std::string_view text) {
  auto expression = parse_expression(text);
  EXPECT_TRUE(expression.has_value()) << expression.error().message;
  return expression.value_or(Expression{.calls = std::vector<Call>(1)});
}

// Of a text that is one call.
Call parsed_call(std::string_view text) {
  const Expression expression = parsed(text);
  EXPECT_EQ(expression.calls.size(), 1u) << text;
  return expression.calls.front();
}

const Call& call_in(const Argument& argument) {
  return std::get<Expression>(argument.value).calls.front();
}

std::string refusal(std::string_view text) {
  const auto expression = parse_expression(text);
  EXPECT_FALSE(expression.has_value()) << "accepted: " << text;
  return expression ? "" : expression.error().message;
}

double number_in(const std::string& text) {
  const Call call = parsed_call("f(" + text + ")");
  EXPECT_EQ(call.arguments.size(), 1u);
  return std::get<double>(call.arguments.at(0).value);
}

// The text with `levels` names, one inside the other: f(f(f)).
std::string nested(std::size_t levels) {
  std::string text = "f";
  for (std::size_t level = 1; level < levels; ++level) text = "f(" + text + ")";
  return text;
}

std::string with_arguments(std::size_t count, const std::string& argument) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + argument;
  return "f(" + text + ")";
}

TEST(ParseExpression, ReadsABareName) {
  const Call call = parsed_call("cw_med2");
  EXPECT_EQ(call.name, "cw_med2");
  EXPECT_TRUE(call.arguments.empty());
}

TEST(ParseExpression, ReadsNumbersNamesAndKeys) {
  const Call call = parsed_call("ctma(gm(tolerance=1e-8, start=zero), lambda=0.4)");

  EXPECT_EQ(call.name, "ctma");
  ASSERT_EQ(call.arguments.size(), 2u);
  EXPECT_EQ(call.arguments[0].key, "");
  const Call& base = call_in(call.arguments[0]);
  EXPECT_EQ(base.name, "gm");
  ASSERT_EQ(base.arguments.size(), 2u);
  EXPECT_EQ(base.arguments[0].key, "tolerance");
  EXPECT_EQ(std::get<double>(base.arguments[0].value), 1e-8);
  EXPECT_EQ(base.arguments[1].key, "start");
  EXPECT_EQ(call_in(base.arguments[1]).name, "zero");
  EXPECT_EQ(call.arguments[1].key, "lambda");
  EXPECT_EQ(std::get<double>(call.arguments[1].value), 0.4);
}

TEST(ParseExpression, RemembersWhereThingsStood) {
  const Call call = parsed_call(" ctma( gm, lambda = 0.4)");
  EXPECT_EQ(call.position, 1u);
  EXPECT_EQ(call.arguments[0].position, 7u);
  EXPECT_EQ(call_in(call.arguments[0]).position, 7u);
  EXPECT_EQ(call.arguments[1].position, 11u);
}

TEST(ParseExpression, IgnoresSpaces) {
  EXPECT_EQ(parsed(" \tctma (\n gm ,lambda\r=  1 / 3 ) "), parsed("ctma(gm,lambda=1/3)"));
}

TEST(ParseExpression, TakesEmptyParenthesesAsNone) { EXPECT_EQ(parsed("gm( )"), parsed("gm")); }

TEST(ParseExpression, ReadsEveryFormOfNumber) {
  EXPECT_EQ(number_in("3"), 3.0);
  EXPECT_EQ(number_in("-2.5"), -2.5);
  EXPECT_EQ(number_in(".5"), 0.5);
  EXPECT_EQ(number_in("5."), 5.0);
  EXPECT_EQ(number_in("1E+3"), 1000.0);
  EXPECT_EQ(number_in("1/3"), 1.0 / 3.0);
  EXPECT_EQ(number_in("-2/8"), -0.25);
  EXPECT_EQ(number_in("5e-324"), std::numeric_limits<double>::denorm_min());
}

TEST(ParseExpression, PointsAtTheWrongCharacter) {
  EXPECT_EQ(refusal("ctma(gm, )"),
            "expected a number or a name after ',' at column 10\n"
            "  ctma(gm, )\n"
            "           ^");
  EXPECT_EQ(refusal("ctma(gm 0.4)"),
            "expected ',' or ')' at column 9\n"
            "  ctma(gm 0.4)\n"
            "          ^");
}

TEST(ParseExpression, SaysWhatItExpected) {
  struct Case {
    const char* text;
    const char* message;
  };
  for (const auto& [text, message] : {
           Case{"", "expected a name at column 1"},
           Case{"3", "expected a name at column 1"},
           Case{"GM", "expected a name at column 1"},
           Case{"gm cwmed", "expected the end at column 4"},
           Case{"gm(1) x", "expected the end at column 7"},
           Case{"gm)", "expected the end at column 3"},
           Case{"gm(", "expected a number or a name after '(' at column 4"},
           Case{"gm(,1)", "expected a number or a name after '(' at column 4"},
           Case{"gm(1", "expected ',' or ')' at column 5"},
           Case{"gm(1,", "expected a number or a name after ',' at column 6"},
           Case{"gm(a=)", "expected a number or a name after '=' at column 6"},
           Case{"gm(a=b=c)", "expected ',' or ')' at column 7"},
           Case{"gm(1x)", "expected ',' or ')' at column 5"},
           Case{"gm(-)", "expected a number, such as 0.4, 1e-8 or 1/3, at column 4"},
           Case{"gm(.)", "expected a number, such as 0.4, 1e-8 or 1/3, at column 4"},
           Case{"gm(-inf)", "expected a number, such as 0.4, 1e-8 or 1/3, at column 4"},
           Case{"gm(-nan)", "expected a number, such as 0.4, 1e-8 or 1/3, at column 4"},
           Case{"gm(1e999)", "the number is too large or too small for a double at column 4"},
           Case{"gm(1e-999)", "the number is too large or too small for a double at column 4"},
           Case{"gm(1/0)", "a fraction cannot divide by 0 at column 6"},
           Case{"gm(1/)", "expected a whole number after '/' at column 6"},
           Case{"gm(1/-3)", "expected a whole number after '/' at column 6"},
           Case{"gm(1/3.5)", "expected a whole number after '/' at column 6"},
           Case{"gm(0.5/3)", "expected a whole number before '/' at column 4"},
           Case{"gm(1/2/3)", "expected ',' or ')' at column 7"},
           Case{"gm(a=1, a=2)", "'a' is given twice at column 9"},
           Case{"gm &", "expected a name after '&' at column 5"},
           Case{"gm & 3", "expected a name after '&' at column 6"},
           Case{"& gm", "expected a name at column 1"},
           Case{"gm(3 & 4)", "expected ',' or ')' at column 6"},
           Case{"gm(a=1, 2)", "an argument without a key cannot follow one with a key at column 9"},
       }) {
    EXPECT_THAT(refusal(text), StartsWith(std::string(message) + "\n")) << text;
  }
}

TEST(ParseExpression, TreatsAZeroByteAsAnyWrongCharacter) {
  EXPECT_THAT(refusal(std::string("gm\0", 3)), StartsWith("expected the end at column 3\n"));
  EXPECT_THAT(refusal(std::string("gm(\0)", 5)), HasSubstr("at column 4\n  gm(?)\n"));
}

TEST(ParseExpression, LimitsTheDepth) {
  EXPECT_EQ(to_string(parsed(nested(kDepthMax))), nested(kDepthMax));
  EXPECT_THAT(refusal(nested(kDepthMax + 1)),
              StartsWith("names are nested more than 16 deep at column 33\n"));
  EXPECT_THAT(refusal(nested(1300)), StartsWith("names are nested more than 16 deep"));
}

TEST(ParseExpression, LimitsTheNumberOfArguments) {
  EXPECT_EQ(parsed_call(with_arguments(kArgumentsMax, "1")).arguments.size(), 16u);
  EXPECT_THAT(refusal(with_arguments(kArgumentsMax + 1, "1")),
              StartsWith("more than 16 arguments at column 35\n"));
}

TEST(ParseExpression, LimitsTheLength) {
  const std::string longest = "gm" + std::string(kCharactersMax - 2, ' ');
  EXPECT_EQ(parsed_call(longest).name, "gm");
  EXPECT_THAT(refusal(longest + " "), StartsWith("more than 4096 characters at column 4097\n"));
}

TEST(ParseExpression, LimitsTheLengthOfTheCanonicalTextToo) {
  std::string fractions = with_arguments(16, with_arguments(16, "1/3"));
  ASSERT_LT(fractions.size(), kCharactersMax);
  EXPECT_THAT(refusal(fractions), StartsWith("more than 4096 characters once written out"));
}

TEST(ToString, IsCanonical) {
  EXPECT_EQ(to_string(parsed("ctma( gm(tolerance =1e-8),lambda= 2/5 )")),
            "ctma(gm(tolerance=1e-08), lambda=0.4)");
  EXPECT_EQ(to_string(parsed("f(1/3,100,-0.50,1e22)")), "f(0.3333333333333333, 100, -0.5, 1e+22)");
}

// Expressions drawn at random, printed and read back.
TEST(ToString, ReadsBackAsTheSameExpression) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  Rng rng(kSeed);
  const auto draw = [&](const auto& self, std::size_t depth) -> Expression {
    Expression expression{.calls = std::vector<Call>(1 + rng.below(4) / 3)};
    for (Call& call : expression.calls) {
      call.name = "r-" + std::to_string(rng.below(9));
      for (std::uint64_t left = depth < 5 ? rng.below(4) : 0; left > 0; --left) {
        Argument argument{.key = left == 1 ? "key" : "", .value = std::ldexp(rng.normal(), 30)};
        if (rng.below(2) == 0) argument.value = self(self, depth + 1);
        call.arguments.push_back(std::move(argument));
      }
    }
    return expression;
  };
  for (int repeat = 0; repeat < 500; ++repeat) {
    const Expression expression = draw(draw, 1);
    EXPECT_EQ(parsed(to_string(expression)), expression) << to_string(expression);
  }
}

TEST(ParseExpression, ReadsPartsJoinedByAnd) {
  const Expression joined = parsed("f-cap(1, 0.2)&f-cap( 8,share=0.45 ) & id^2");
  ASSERT_EQ(joined.calls.size(), 3u);
  EXPECT_EQ(joined.calls[0], parsed_call("f-cap(1, 0.2)"));
  EXPECT_EQ(joined.calls[1], parsed_call("f-cap(8, share=0.45)"));
  EXPECT_EQ(joined.calls[1].position, 14u);
  EXPECT_EQ(joined.calls[2].name, "id^2");
  EXPECT_EQ(to_string(joined), "f-cap(1, 0.2) & f-cap(8, share=0.45) & id^2");
  EXPECT_FALSE(parsed("a & b") == parsed("b & a"));
}

TEST(ParseExpression, ReadsJoinedPartsInsideArguments) {
  const Call call = parsed_call("table(gm, weights = a(1) & b)");
  ASSERT_EQ(call.arguments.size(), 2u);
  EXPECT_EQ(std::get<Expression>(call.arguments[1].value), parsed("a(1) & b"));
  EXPECT_EQ(to_string(call), "table(gm, weights=a(1) & b)");
}

TEST(ParseExpression, LimitsTheNumberOfJoinedParts) {
  std::string text = "f";
  for (std::size_t i = 1; i < kCallsMax; ++i) text += " & f";
  EXPECT_EQ(parsed(text).calls.size(), kCallsMax);
  EXPECT_THAT(refusal(text + " & f"), StartsWith("more than 16 parts joined by '&' at column 65"));
}

TEST(ParseExpression, SaysWhatTheCallerExpected) {
  const auto nothing = parse_expression("", "a rule, such as gm,");
  ASSERT_FALSE(nothing.has_value());
  EXPECT_THAT(nothing.error().message, StartsWith("expected a rule, such as gm, at column 1\n"));
}

TEST(Equality, SeesNamesKeysAndValuesButNotPositions) {
  EXPECT_EQ(parsed("f(g, a=1)"), parsed("  f ( g,a = 1)"));
  EXPECT_FALSE(parsed("f(g)") == parsed("f(h)"));
  EXPECT_FALSE(parsed("f(a=1)") == parsed("f(b=1)"));
  EXPECT_FALSE(parsed("f(a=1)") == parsed("f(a=2)"));
  EXPECT_FALSE(parsed("f(1)") == parsed("f(1, 1)"));
}

TEST(PointAt, PutsTheCaretBehindTheTextWhenItEndsTooEarly) {
  EXPECT_EQ(point_at("gm(", 3, "unfinished"), "unfinished at column 4\n  gm(\n     ^");
  EXPECT_EQ(point_at("", 0, "empty"), "empty at column 1\n  \n  ^");
}

TEST(PointAt, ShowsTheNeighbourhoodOfALongText) {
  const std::string text = std::string(1000, 'a') + "!" + std::string(1000, 'b');
  EXPECT_EQ(point_at(text, 1000, "wrong"), "wrong at column 1001\n  ..." + std::string(36, 'a') +
                                               "!" + std::string(35, 'b') + "...\n" +
                                               std::string(41, ' ') + "^");
}

TEST(PointAt, ShowsNothingATerminalWouldObey) {
  EXPECT_EQ(point_at("a\x1b[2J\t\xc3\xa9", 1, "wrong"), "wrong at column 2\n  a?[2J ??\n   ^");
}

}  // namespace
}  // namespace ballast::expression
