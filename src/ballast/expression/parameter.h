#pragma once
// What a registry states of each name: its parameters with kinds, ranges and defaults, a line of
// help and the paper. Checking, errors, `ballast list` and the tables of the documents are all made
// from this.
//
//   constexpr Parameter kParameters[] = {
//       Parameter::nested("base", "rule", "the rule whose result distances are measured from"),
//       Parameter::number("lambda", "the share to defend against").from(0).below(0.5),
//       Parameter::whole("seed", "of the permutation").from(0).otherwise(0),
//       Parameter::word("start", kStarts, "where iterations begin").otherwise("mean")};
//
// Parameters without a default must be given; they come first.

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ballast::expression {

// Whole numbers up to here are exact as doubles.
inline constexpr double kWholeMax = 0x1.0p53;

enum class ParameterKind : std::uint8_t {
  kNumber,
  kWhole,       // a whole number, 0 or more
  kWord,        // one of some words
  kExpression,  // again an expression, of a registry that the parameter names
};

struct Parameter {
  std::string_view name;
  ParameterKind kind = ParameterKind::kNumber;
  std::string_view help;  // a few words that can follow the name in a sentence
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool is_low_allowed = true;
  bool is_high_allowed = true;
  std::span<const std::string_view> words = {};  // of a kWord
  std::string_view noun = {};                    // of a kExpression: "rule"
  bool is_required = true;
  std::optional<double> absent_number = {};  // the default of a kNumber or kWhole, where it has one
  std::string_view absent_text = {};         // the default of the others; else what absence means

  static constexpr Parameter number(std::string_view name, std::string_view help) {
    return {.name = name, .kind = ParameterKind::kNumber, .help = help};
  }
  static constexpr Parameter whole(std::string_view name, std::string_view help) {
    return {
        .name = name, .kind = ParameterKind::kWhole, .help = help, .low = 0.0, .high = kWholeMax};
  }
  static constexpr Parameter word(std::string_view name, std::span<const std::string_view> words,
                                  std::string_view help) {
    return {.name = name, .kind = ParameterKind::kWord, .help = help, .words = words};
  }
  static constexpr Parameter nested(std::string_view name, std::string_view noun,
                                    std::string_view help) {
    return {.name = name, .kind = ParameterKind::kExpression, .help = help, .noun = noun};
  }

  constexpr Parameter from(double value) const {
    Parameter copy = *this;
    copy.low = value;
    return copy;
  }
  constexpr Parameter above(double value) const {
    Parameter copy = from(value);
    copy.is_low_allowed = false;
    return copy;
  }
  constexpr Parameter up_to(double value) const {
    Parameter copy = *this;
    copy.high = value;
    return copy;
  }
  constexpr Parameter below(double value) const {
    Parameter copy = up_to(value);
    copy.is_high_allowed = false;
    return copy;
  }

  // The default, in the kind's own form: a number, a word or an expression.
  constexpr Parameter otherwise(double value) const {
    Parameter copy = *this;
    copy.is_required = false;
    copy.absent_number = value;
    return copy;
  }
  constexpr Parameter otherwise(std::string_view text) const {
    Parameter copy = *this;
    copy.is_required = false;
    copy.absent_text = text;
    return copy;
  }
  // A number that may be left out and has no default: `meaning` says what happens then.
  constexpr Parameter optional(std::string_view meaning) const { return otherwise(meaning); }

  bool has_default() const noexcept {
    const bool is_number = kind == ParameterKind::kNumber || kind == ParameterKind::kWhole;
    return !is_required && (!is_number || absent_number.has_value());
  }
};

// One name of a registry.
struct Entry {
  std::string_view name;
  std::string_view help;         // one line
  std::string_view paper = "-";  // where it comes from
  std::span<const Parameter> parameters = {};
  bool can_be_joined = false;  // with others, by '&'
};

// "at least 0 and below 1/2", "a whole number from 1", "one of: mean, zero", "a rule"; empty for
// any number.
std::string range_text(const Parameter& parameter);

// "0.1", "mean", "until converged"; empty for a parameter that must be given.
std::string default_text(const Parameter& parameter);

// "ctma(BASE, LAMBDA)", "gm(tolerance=1e-06, iterations=N, start=mean)".
std::string usage(const Entry& entry);

// "a rule", "an attack".
std::string with_article(std::string_view noun);

// A number for people: 1/2 for 0.5, else the fewest digits.
std::string number_text(double number);

}  // namespace ballast::expression
