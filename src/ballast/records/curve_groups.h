#pragma once
// Private to records/: which runs are one curve.

#include <span>
#include <string>
#include <vector>

#include "ballast/records/records.h"

namespace ballast::records {

struct CurveGroup {
  std::string panel = {};
  std::string curve = {};
  std::vector<const RunRecord*> runs = {};  // at least one; each has an evaluation
};

// The evaluated runs by panel and curve. Panels come in the order they first occur in, and so do
// the curves of each panel, so that curves of one panel stand together.
std::vector<CurveGroup> curve_groups(std::span<const RunRecord> records);

}  // namespace ballast::records
