#pragma once
// What a contest is: a specification (experiment/spec.h) whose curves are methods, whose panels are
// the worlds they are tried in and whose grid has the attacks, and a table of its own:
//
//   [arena]
//   title = "MNIST"
//   recommended = "recommended"          # the curve that the others are compared with
//   best = 5                             # no curves of its own: the best of the contest before
//   worlds = ["one fast liar"]           # with best: panels of the contest before
//   [arena.search]                       # how each method finds its step size; with best and left
//                                        # out: as in the contest before
//   eta = [0.01, 0.1]
//   validation_samples = 10000
//   attacks = ["none", "sign-flip"]
//   panels = ["one fast liar"]
//   seeds = [101]
//   [[arena.size]]                       # a shorter version, for --size
//   name = "quick"
//   set = ["updates=600", "seeds=[1]"]   # as --set
//   panels = ["one fast liar"]           # only these; left out: all
//   search = { attacks = ["sign-flip"] } # in place of what [arena.search] says

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/experiment/spec.h"

namespace ballast::arena {

// How step sizes are searched for: the same for all methods of a contest.
struct StepSearch {
  std::vector<double> etas = {};          // at least one, all different
  std::uint64_t validation_samples = 0;   // at least one
  std::vector<std::string> attacks = {};  // expressions; at least one
  std::vector<std::string> panels = {};   // labels; at least one
  std::vector<std::uint64_t> seeds = {};  // at least one

  bool operator==(const StepSearch&) const = default;
};

// What a size has in place of the search's own.
struct SearchChanges {
  std::optional<std::vector<double>> etas = {};
  std::optional<std::uint64_t> validation_samples = {};
  std::optional<std::vector<std::string>> attacks = {};
  std::optional<std::vector<std::string>> panels = {};
  std::optional<std::vector<std::uint64_t>> seeds = {};
};

struct ContestSize {
  std::string name;
  std::vector<std::string> settings = {};  // as apply_override() takes them
  std::vector<std::string> panels = {};    // labels; empty: all
  std::optional<std::size_t> best = {};
  SearchChanges search = {};
};

// Invariants: the grid has attacks and nothing else; no curve sets eta; curves and `recommended`
// are there, or else `best` is; every label names a panel.
struct ContestSpec {
  experiment::Spec spec;
  std::string title = {};
  std::string recommended = {};
  std::size_t best = 0;                  // 0: it has curves of its own
  std::vector<std::string> worlds = {};  // labels of panels that are those of the contest before
  StepSearch search = {};
  std::vector<ContestSize> sizes = {};
};

// The size of a contest that is not shortened.
inline constexpr std::string_view kFullSize = "full";

// `before` is the contest whose best take part in this one, null where there is none. Its panels
// and its search are taken over where the text says so.
Result<ContestSpec> parse_contest(std::string_view text, const std::filesystem::path& file,
                                  const ContestSpec* before = nullptr);

// Those that the program carries, in their order: arena.toml, arena-adaptive.toml and
// arena-cifar10.toml of experiments/. Each has the best of the one before.
Result<std::vector<ContestSpec>> carried_contests();

// The contest at one of its sizes, which then has no others, or as it is for kFullSize.
Result<ContestSpec> at_size(ContestSpec contest, std::string_view name);

// The specification of the search: every method at every step size, tested on samples that are held
// out of the training set.
Result<experiment::Spec> search_spec(const ContestSpec& contest);

// The contest's specification with a step size for each curve.
// Requires: one per curve.
experiment::Spec with_steps(const experiment::Spec& spec, const std::vector<double>& etas);

}  // namespace ballast::arena
