#include "ballast/assembly/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace ballast::assembly {
namespace {

Result<Value> read_back(const Key& key, const Value& value) {
  const auto table = parse_toml("key = " + to_toml(value), "text");
  if (!table) return tl::unexpected(table.error());
  return read_value(key, table->front().node);
}

TEST(Keys, HaveDifferentNamesAndAreExplained) {
  std::set<std::string_view> names;
  for (const Key& key : keys()) {
    EXPECT_TRUE(names.insert(key.name).second) << key.name;
    EXPECT_FALSE(key.help.empty()) << key.name;
    EXPECT_EQ(key.help.find('|'), std::string_view::npos) << key.name;
  }
}

TEST(Keys, DefaultsReadBack) {
  for (const Key& key : keys()) {
    const Value value = key.get(RunSpec());
    const auto again = read_back(key, value);
    ASSERT_TRUE(again.has_value()) << key.name << ": " << again.error().message;
    EXPECT_EQ(*again, value) << key.name;
  }
}

TEST(Keys, EveryWordSetsItsOwnValue) {
  for (const Key& key : keys()) {
    if (key.type != KeyType::kWord) continue;
    ASSERT_GE(key.words.size(), 2u) << key.name;
    for (const std::string_view word : key.words) {
      RunSpec run;
      key.set(run, Value(std::string(word)));
      EXPECT_EQ(key.get(run), Value(std::string(word))) << key.name;
    }
  }
}

// Sets each key to another value than its default and looks that no other key moved.
TEST(Keys, SetTheirOwnMemberOnly) {
  const RunSpec before;
  for (const Key& key : keys()) {
    if (!key.is_of_run()) continue;
    Value other = key.get(before);
    if (auto* flag = std::get_if<bool>(&other)) *flag = !*flag;
    if (auto* whole = std::get_if<std::uint64_t>(&other)) *whole += 1;
    if (auto* number = std::get_if<double>(&other)) *number += 1.0;
    if (auto* text = std::get_if<std::string>(&other)) {
      *text = key.type == KeyType::kWord ? std::string(key.words.back()) : *text + "x";
      if (*text == std::get<std::string>(key.get(before))) *text = std::string(key.words.front());
    }
    if (auto* list = std::get_if<std::vector<std::uint64_t>>(&other)) list->push_back(1);
    RunSpec run;
    key.set(run, other);
    for (const Key& seen : keys()) {
      EXPECT_EQ(seen.get(run) != seen.get(before), seen.name == key.name)
          << key.name << " against " << seen.name;
    }
  }
}

TEST(Keys, SuggestTheNearestName) {
  const auto key = find_key("evaluate-every");

  ASSERT_FALSE(key.has_value());
  EXPECT_EQ(key.error().message,
            "there is no key 'evaluate-every'; did you mean 'evaluate_every'?");
}

TEST(Values, NumbersKeepEveryBit) {
  const Key* key = find_key("eta").value();
  for (const double number : {0.1, 1.0 / 3.0, 1.0, -0.0, 1e-5, 1e300, 123456789012345680.0,
                              std::numeric_limits<double>::denorm_min(), -2.5}) {
    const auto again = read_back(*key, Value(number));
    ASSERT_TRUE(again.has_value()) << to_toml(Value(number));
    EXPECT_EQ(std::get<double>(*again), number);
    EXPECT_EQ(std::signbit(std::get<double>(*again)), std::signbit(number));
  }
}

TEST(Values, TextsKeepEveryCharacter) {
  const Key* key = find_key("rule").value();
  std::string text;
  for (char c = 1; c < 127; ++c) text += c;
  text += std::string("\0\x7f\xcf\x89", 4);

  const auto again = read_back(*key, Value(text));

  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(std::get<std::string>(*again), text);
}

TEST(Values, PlainTextHasNoQuotes) {
  EXPECT_EQ(to_plain_text(Value(std::string("id^2"))), "id^2");
  EXPECT_EQ(to_plain_text(Value(0.4)), "0.4");
  EXPECT_EQ(to_toml(Value(std::string("id^2"))), "\"id^2\"");
  EXPECT_EQ(to_toml(Value(true)), "true");
  EXPECT_EQ(to_toml(Value(2.0)), "2.0");
  EXPECT_EQ(to_toml(Value(std::vector<std::uint64_t>{1, 2})), "[1, 2]");
}

TEST(Keys, OfExpressionsHaveARegistryThatTakesTheirDefault) {
  int expressions = 0;
  for (const Key& key : keys()) {
    if (key.type != KeyType::kExpression) continue;
    ++expressions;
    const std::string text = std::get<std::string>(key.get(RunSpec()));
    EXPECT_TRUE(canonical_text(key.catalogue(), text).has_value()) << key.name;
  }
  EXPECT_EQ(expressions, 6);
}

}  // namespace
}  // namespace ballast::assembly
