#pragma once
// The paper's method: a row per worker, weights from the counts of accepted updates, and a robust
// rule that combines the rows anew at every arrival (Algorithm 2, Dahan and Levy 2024).
//
// With a past, rows are judged by it: the rule's coefficients are those of the averages that
// past_rows.h keeps of the workers' deviations, and the direction is the combination of the latest
// rows with them.
//
// Below the quorum of the weight policy it collects rows without answering: no weights exist then
// that keep every worker below its share.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ballast/base/error.h"
#include "ballast/kernels/backend.h"
#include "ballast/robust/rule.h"
#include "ballast/server/method.h"
#include "ballast/server/weight_policy.h"

namespace ballast::server {

struct TableOptions {
  std::size_t worker_count = 1;
  std::size_t dim = 1;
  WeightPolicy weights = CountWeights{};
  std::size_t rows_min = 1;  // before a step, beside what the weights need
  std::uint64_t seed = 0;    // of rules that draw random numbers
  // Of how many updates of a worker the average is by which its row is judged; 0: its latest row.
  std::uint64_t past = 0;
};

// Refuses a rule whose coefficients rows could not be judged by.
Status check_past(std::uint64_t past, const robust::Rule& rule);

// Refuses no workers, an empty model, an impossible weight policy, a rule that cannot take so many
// rows, and with a past one that check_past() refuses.
Result<MethodPointer> make_table_method(const TableOptions& options, robust::RulePointer rule,
                                        std::shared_ptr<const kernels::Backend> backend);

}  // namespace ballast::server
