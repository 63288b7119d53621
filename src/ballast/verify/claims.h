#pragma once
// Private to verify/: how each claim is checked. registry.cc says what they claim.

#include "ballast/verify/claim.h"

namespace ballast::verify {

// definition_claim.cc, constants_claim.cc
Result<Findings> check_definitions(const Lab& lab);
Result<Findings> check_constants(const Lab& lab);

// estimator_claims.cc
Result<Findings> check_martingale(const Lab& lab);
Result<Findings> check_estimator(const Lab& lab);
Result<Findings> check_aggregate(const Lab& lab);

// convergence_claims.cc
Result<Findings> check_rate(const Lab& lab);
Result<Findings> check_noise_free(const Lab& lab);
Result<Findings> check_dimension(const Lab& lab);
Result<Findings> check_delay(const Lab& lab);
Result<Findings> check_no_attack(const Lab& lab);

// limit_claims.cc
Result<Findings> check_counter_examples(const Lab& lab);
Result<Findings> check_flood(const Lab& lab);

}  // namespace ballast::verify
