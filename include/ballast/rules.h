#pragma once
// Aggregation rules: rows and weights in, one vector out. docs/rules.md has the definitions.
//
// Whatever is wrong with the arguments (sizes, values that are not finite, weights that are not
// positive, null spans, an output among the rows, an object that was moved from) is an error and
// changes nothing.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/compute.h"
#include "ballast/error.h"

namespace ballast {

namespace robust {
class Rule;
}

// What a call tells besides its result.
struct Report {
  std::vector<double> kept;    // the fraction of each row's weight that was used
  std::size_t iterations = 0;  // of the geometric median
};

struct Aggregate {
  std::vector<float> values;
  Report report;
};

// A rule, read once and used often. Cheap to copy; immutable, so any number of threads may share
// one.
class Rule {
 public:
  // For example "ctma(gm, 0.4)". An error points at the character that is wrong.
  static Result<Rule> parse(std::string_view text);

  // The canonical text; empty after a move.
  std::string text() const;

  // Whether it can aggregate so many rows; the error says why not.
  Status check_row_count(std::size_t count) const;

 private:
  friend class Aggregator;
  explicit Rule(std::shared_ptr<const robust::Rule> rule) : rule_(std::move(rule)) {}

  std::shared_ptr<const robust::Rule> rule_;
};

// The short form: the rule as a text, rows of one length, one positive weight per row. Runs on
// every hardware thread; parses and allocates on each call. Rules that draw random numbers draw the
// same ones for the same `draw`.
Result<Aggregate> aggregate(std::string_view rule, std::span<const std::vector<float>> rows,
                            std::span<const double> weights, std::uint64_t draw = 0);

// The long form: rows wherever they lie, the result into memory of the caller's. Once it has seen a
// size it allocates nothing but the report.
//
// Thread-safety: one thread at a time; several aggregators may work side by side.
class Aggregator {
 public:
  static Result<Aggregator> make(const Rule& rule, const Compute& compute = {});

  Aggregator(Aggregator&&) noexcept;
  Aggregator& operator=(Aggregator&&) noexcept;
  ~Aggregator();

  Result<Report> aggregate(std::span<const std::span<const float>> rows,
                           std::span<const double> weights, std::span<float> out,
                           std::uint64_t draw = 0);

 private:
  class Body;
  explicit Aggregator(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

// Every rule on a line of its own, with its parameters and what it does.
std::string list_rules();

}  // namespace ballast
