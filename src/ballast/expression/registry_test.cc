#include "ballast/expression/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ballast::expression {
namespace {

using testing::HasSubstr;

// A family of shapes whose product is a text that says what it was made from.
constexpr std::string_view kColours[] = {"red", "green"};
constexpr Parameter kBoxParameters[] = {
    Parameter::number("width", "how wide it is").above(0),
    Parameter::number("height", "how high it is").from(0).up_to(10).otherwise(1.5),
    Parameter::word("colour", kColours, "what it looks like").otherwise("red")};
constexpr Parameter kTurnParameters[] = {
    Parameter::nested("shape", "shape", "what is turned").otherwise("dot"),
    Parameter::whole("times", "how often").from(1).up_to(4).optional("for ever")};
constexpr Parameter kPairParameters[] = {
    Parameter::nested("left", "shape", "what is on the left"),
    Parameter::nested("right", "shape", "what is on the right")};

const Registry<std::string>& shapes();

constexpr Item<std::string> kDot = {{.name = "dot", .help = "a point"},
                                    [](const Arguments&) -> Result<std::string> { return "dot"; }};
constexpr Item<std::string> kBox = {
    {.name = "box", .help = "a box", .parameters = kBoxParameters, .can_be_joined = true},
    [](const Arguments& arguments) -> Result<std::string> {
      if (arguments.number("width") == 13) return arguments.refuse("width", "13 brings bad luck");
      return "box " + to_string(arguments.number("width")) + " x " +
             to_string(arguments.number("height")) + " " + std::string(arguments.word("colour"));
    }};
constexpr Item<std::string> kTurn = {
    {.name = "turn-around", .help = "a shape, turned", .parameters = kTurnParameters},
    [](const Arguments& arguments) -> Result<std::string> {
      BALLAST_TRY(const std::string shape, shapes().make_argument(arguments, "shape"));
      const std::string times =
          arguments.is_given("times") ? std::to_string(arguments.whole("times")) : "for ever";
      return "turn (" + shape + ") " + times;
    }};
constexpr Item<std::string> kPair = {
    {.name = "pair", .help = "two shapes", .parameters = kPairParameters},
    [](const Arguments& arguments) -> Result<std::string> {
      BALLAST_TRY(const auto left, shapes().make_all_of_argument(arguments, "left"));
      BALLAST_TRY(const std::string right, shapes().make_argument(arguments, "right"));
      return std::to_string(left.size()) + " and " + right;
    }};

constexpr const Item<std::string>* kItems[] = {&kDot, &kBox, &kTurn, &kPair};

const Registry<std::string>& shapes() {
  static const Registry<std::string> registry(
      {.noun = "shape", .plural = "odd shapes", .example = "dot or box(2)"}, kItems);
  return registry;
}

std::string made(std::string_view text) {
  const auto shape = shapes().parse(text);
  return shape ? *shape : shape.error().message;
}

std::string refusal(std::string_view text) {
  const auto shape = shapes().parse(text);
  EXPECT_FALSE(shape.has_value()) << "accepted: " << text;
  return shape ? "" : shape.error().message;
}

TEST(Registry, MakesWhatTheTextNames) {
  EXPECT_EQ(made("dot"), "dot");
  EXPECT_EQ(made("box(2)"), "box 2 x 1.5 red");
  EXPECT_EQ(made("box(2, 3, green)"), "box 2 x 3 green");
  EXPECT_EQ(made("box(1/4, colour=green)"), "box 0.25 x 1.5 green");
  EXPECT_EQ(made("turn-around(box(2), 3)"), "turn (box 2 x 1.5 red) 3");
}

TEST(Registry, PositionalArgumentsGoPastWhatKeysName) {
  EXPECT_EQ(made("box(3, width=2)"), "box 2 x 3 red");
  EXPECT_EQ(made("turn-around(2, shape=dot)"), "turn (dot) 2");
}

TEST(Registry, UsesDefaultsOfEveryKind) {
  EXPECT_EQ(made("turn-around"), "turn (dot) for ever");
  EXPECT_EQ(made("turn-around(times=1)"), "turn (dot) 1");
}

TEST(Registry, MakesSeveralJoinedOnes) {
  const auto joined = shapes().parse_all("box(1) & box(2, colour=green)");
  ASSERT_TRUE(joined.has_value());
  EXPECT_THAT(*joined, testing::ElementsAre("box 1 x 1.5 red", "box 2 x 1.5 green"));
  EXPECT_EQ(made("pair(box(1) & box(2) & box(3), dot)"), "3 and dot");
}

TEST(Registry, PointsAtWhatIsWrong) {
  EXPECT_EQ(refusal("turn-around(boxx(2))"),
            "there is no shape 'boxx'; did you mean 'box'? at column 13\n"
            "  turn-around(boxx(2))\n"
            "              ^");
  struct Case {
    const char* text;
    const char* message;
    std::size_t column;
  };
  for (const auto& [text, message, column] : {
           Case{"", "expected a shape, such as dot or box(2),", 1},
           Case{"hexagon", "there is no shape 'hexagon'; 'ballast list odd-shapes' shows", 1},
           Case{"box", "'box' needs width, how wide it is; see 'ballast list odd-shapes'", 1},
           Case{"box(0)", "width must be above 0, not 0", 5},
           Case{"box(2, 11)", "height must be at least 0 and at most 10, not 11", 8},
           Case{"box(2, height=-1)", "height must be at least 0 and at most 10, not -1", 8},
           Case{"box(dot)", "width must be a number", 5},
           Case{"box(2, 1, blue)", "colour must be one of: red, green", 11},
           Case{"box(2, 1, gren)", "did you mean 'green'?", 11},
           Case{"box(2, 1, 3)", "colour must be one of: red, green", 11},
           Case{"box(2, 1, red(1))", "colour must be one of: red, green", 11},
           Case{"box(2, 1, red & red)", "colour must be one of: red, green", 11},
           Case{"box(2, hieght=3)", "does not take an argument 'hieght'; did you mean 'height'?",
                8},
           Case{"box(2, depth_of_it=3)", "'depth_of_it'; see 'ballast list odd-shapes'", 8},
           Case{"dot(1)", "'dot' does not take so many arguments", 5},
           Case{"box(1, 2, red, 4)", "'box' does not take so many arguments", 16},
           Case{"box(1, 2, red, width=4)", "'box' does not take so many arguments", 11},
           Case{"turn-around(dot, 5)", "times must be a whole number from 1 to 4, not 5", 18},
           Case{"turn-around(dot, 1.5)", "times must be a whole number from 1 to 4, not 1.5", 18},
           Case{"turn-around(3)", "'turn-around' needs a shape here, not a number", 13},
           Case{"pair(dot)", "'pair' needs a shape as its second argument", 1},
           Case{"box(13)", "13 brings bad luck", 5},
           Case{"box(1) & dot", "'dot' cannot be joined with others by '&'", 10},
           Case{"box(1) & box(2)", "there is place for 1 shape only", 10},
           Case{"pair(dot, box(1) & box(2))", "there is place for 1 shape only", 20},
       }) {
    const std::string said = refusal(text);
    EXPECT_THAT(said, HasSubstr(message)) << text;
    EXPECT_THAT(said, HasSubstr("at column " + std::to_string(column) + "\n")) << text;
  }
}

TEST(Registry, TellsUnknownNamesFromWrongOnes) {
  EXPECT_EQ(shapes().parse("bxo").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(shapes().parse("box").error().code, ErrorCode::kInvalidArgument);
}

TEST(Registry, WritesOneTextForAllThatMeanTheSame) {
  for (const char* text : {"box(2)", "box( 2 )", "box(width=2)", "box(2, 1.5)", "box(2, 3/2, red)",
                           "box(2, colour=red)"}) {
    EXPECT_EQ(shapes().canonical(text).value(), "box(2)") << text;
  }
  EXPECT_EQ(shapes().canonical("box(2, 1.5, green)").value(), "box(2, colour=green)");
  EXPECT_EQ(shapes().canonical("turn-around(shape=dot)").value(), "turn-around");
  EXPECT_EQ(shapes().canonical("turn-around(box(width=2), 3)").value(),
            "turn-around(shape=box(2), times=3)");
  EXPECT_EQ(shapes().canonical("box(1)&box(2,2)").value(), "box(1) & box(2, height=2)");
  EXPECT_FALSE(shapes().canonical("turn-around(bxo)").has_value());
}

TEST(Registry, RefusesACanonicalTextThatCouldNotBeReadBack) {
  std::string text = "pair(";
  for (std::size_t i = 0; i < kCallsMax; ++i) {
    text += (i == 0 ? "" : " & ") + std::string("box(1e-300, 1e-300, green)");
  }
  text += ", dot)";
  ASSERT_TRUE(shapes().canonical(text).has_value());
  const std::string one = text;
  for (int i = 0; i < 7; ++i) text = "pair(" + text + ", " + one + ")";
  ASSERT_LT(text.size(), kCharactersMax);
  ASSERT_TRUE(shapes().parse(text).has_value());
  EXPECT_THAT(shapes().canonical(text).error().message, HasSubstr("once written out"));
}

TEST(Registry, CanonicalTextsMakeTheSame) {
  for (const char* text : {"dot", "box(3, width=2)", "turn-around(2, shape=box(3, 2, green))",
                           "pair(box(1, 1.5) & box(2), turn-around)"}) {
    const std::string canonical = shapes().canonical(text).value();
    EXPECT_EQ(made(canonical), made(text));
    EXPECT_EQ(shapes().canonical(canonical).value(), canonical);
  }
}

}  // namespace
}  // namespace ballast::expression
