#pragma once
// Private to verify/: how each claim is checked. registry.cc says what they claim.

#include "ballast/verify/claim.h"

namespace ballast::verify {

Result<Findings> check_definitions(const Lab& lab);
Result<Findings> check_attacks(const Lab& lab);
Result<Findings> check_algorithm(const Lab& lab);
Result<Findings> check_constants(const Lab& lab);
Result<Findings> check_martingale(const Lab& lab);
Result<Findings> check_estimator(const Lab& lab);
Result<Findings> check_query_points(const Lab& lab);
Result<Findings> check_aggregate(const Lab& lab);
Result<Findings> check_regret(const Lab& lab);
Result<Findings> check_rate(const Lab& lab);
Result<Findings> check_noise_free(const Lab& lab);
Result<Findings> check_dimension(const Lab& lab);
Result<Findings> check_delay(const Lab& lab);
Result<Findings> check_no_attack(const Lab& lab);
Result<Findings> check_synchronous(const Lab& lab);
Result<Findings> check_counter_examples(const Lab& lab);
Result<Findings> check_flood(const Lab& lab);

}  // namespace ballast::verify
