#pragma once
// Every claim by name: the one table that the program and the documents print.

#include <span>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/verify/claim.h"

namespace ballast::verify {

// In the order of the paper.
std::span<const TheoryClaim> claim_registry() noexcept;

// The claim of that name, or all of them for "all". Refuses unknown names and tells the nearest
// known one.
Result<std::vector<TheoryClaim>> find_claims(std::string_view name);

}  // namespace ballast::verify
