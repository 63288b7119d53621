#pragma once
// Parts with a planted bug, and the claims that must catch them: what the claims are worth.
//
// A mutant replaces one of the Components. It is caught if a claim that holds for the library's own
// parts does not hold with it.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/verify/claim.h"

namespace ballast::verify {

struct Mutant {
  std::string_view name;
  std::string_view bug;
  std::vector<std::string_view> claims{};  // each of which must catch it
  Components components = {};
};

// Every mutant, those of workers first, then rules, servers and attacks.
std::vector<Mutant> all_mutants();

// Refuses unknown names and tells the nearest known one.
Result<Mutant> find_mutant(std::string_view name);

// What became of one mutant under one claim.
struct MutantVerdict {
  std::string name = {}, bug = {};
  std::string claim = {};
  std::optional<Check> violated = {};  // the check that fails by most; none: the mutant survives
};

// Checks each mutant with each of its claims, by the lab's settings and with the mutant's parts,
// telling its name before its turn.
Result<std::vector<MutantVerdict>> check_mutants(
    const Lab& lab, const std::vector<Mutant>& mutants,
    const std::function<void(std::string_view)>& on_mutant = {});

// The claims of the registry that catch none of them.
std::vector<std::string> idle_claims(std::span<const MutantVerdict> verdicts);

// A Markdown table: mutant, bug, claim, check, predicted, measured.
std::string mutant_table(std::span<const MutantVerdict> verdicts);

}  // namespace ballast::verify
