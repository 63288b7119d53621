#pragma once
// What was checked, for people and for programs: a table, claims.json, figures and report.html.

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/verify/claim.h"

namespace ballast::verify {

struct CheckedClaim {
  TheoryClaim claim = {};
  Findings findings = {};
};

// Checks the claims one after the other, telling each one's name before its turn. An error of a
// claim names it. A check that cannot fail ends the program: that is a bug of the claim.
Result<std::vector<CheckedClaim>> check_claims(
    std::span<const TheoryClaim> claims, const Lab& lab,
    const std::function<void(std::string_view)>& on_claim = {});

bool all_hold(std::span<const CheckedClaim> checked);

// How far a check is from failing, relative to its limit; negative if it fails, as what is not a
// number does.
double margin(const Check& check);

// "<= -0.5", ">= 10" or "1 +- 0.1", and "-0.971 [-1.02, -0.92]".
std::string predicted_text(const Check& check);
std::string measured_text(const Check& check);

// One line per claim with the check that comes nearest to failing, then every check that fails. Of
// a single claim, every check.
std::string claim_table(std::span<const CheckedClaim> checked);

// {"quick", "holds", "claims": [{"name", "source", "statement", "holds", "checks": [...],
// "figures": [...]}]}.
std::string claims_json(std::span<const CheckedClaim> checked, bool is_quick);

// Writes claims.json, the figures and report.html. Without matplotlib the figures are missing and
// the result is a warning that says so; it is empty otherwise.
Result<std::string> write_report(const std::filesystem::path& folder,
                                 std::span<const CheckedClaim> checked, bool is_quick);

}  // namespace ballast::verify
