#pragma once
// Private to verify/: rules with a planted bug, in the place of the library's own.

#include <string>

#include "ballast/verify/components.h"

namespace ballast::verify {

// cwmed takes the upper neighbour where a prefix weighs exactly half.
Components with_upper_median();

enum class TrimSlip { kKeepsTheFarthest, kKeepsTheSplitRowWhole, kDropsTheSplitRow, kCutsHalf };

// Requires: rules written as "ctma(BASE, LAMBDA)" with a base of one word.
Components with_ctma(TrimSlip slip);

// Every gm is this one.
Components with_gm(const std::string& wrong);

// Every rule is this one.
Components with_rule(const std::string& wrong);

Components with_rules_that_drop_weights();

// Every weight is one update too large.
Components with_one_update_more();

// The result is divided by the number of rows: once more than it should be.
Components with_rows_averaged_twice();

// Each call answers what the one before should have.
Components with_late_rules();

}  // namespace ballast::verify
