#pragma once
// What a claim of the theory is, and what checking it leaves behind.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/records/figure.h"
#include "ballast/verify/components.h"
#include "ballast/verify/statistics.h"

namespace ballast::verify {

// Theory gives slopes for ever longer runs; measured ones are fitted over a few octaves, and may be
// off by this much there. The exponents that are told apart differ by 1/2 or more.
inline constexpr double kSlopeTolerance = 0.1;

enum class Relation : std::uint8_t {
  kAtMost,
  kAtLeast,
  kEqual,  // to the limit, up to the tolerance
};

// What a measured number could come to if the method were arbitrarily wrong.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

// One number against what the theory says of it. It holds if all of the confidence interval does.
struct Check {
  std::string what = {};
  Estimate measured = {};
  Relation relation = Relation::kAtMost;
  double limit = 0.0;
  double tolerance = 0.0;   // of kEqual
  std::string reason = {};  // where the limit comes from, in a few words
  Range possible = {};

  bool holds() const noexcept;

  // Whether some possible number would fail. A check that cannot fail is a bug of ours:
  // check_claims() does not let one pass.
  bool can_fail() const noexcept;
};

struct Findings {
  std::vector<Check> checks{};
  std::vector<records::Figure> figures{};

  bool hold() const noexcept;
};

// What the claims are given to work with.
struct Lab {
  bool is_quick = true;  // fewer seeds and updates
  std::size_t threads = 1;
  Components components = {};
  // One of the components has a planted bug: limits that follow from what a run did may then be
  // anything, also beyond what is possible.
  bool has_mutant = false;
  const std::atomic<bool>* stop = nullptr;  // looked at between runs; borrowed

  std::size_t pick(std::size_t quick, std::size_t full) const { return is_quick ? quick : full; }
};

struct TheoryClaim {
  std::string_view name;
  std::string_view source;     // in the paper, or where else it comes from
  std::string_view statement;  // one or two sentences
  Result<Findings> (*check)(const Lab& lab);
};

}  // namespace ballast::verify
