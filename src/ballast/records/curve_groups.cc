#include "ballast/records/curve_groups.h"

#include <algorithm>

namespace ballast::records {
namespace {

// The group of the record, made behind the last one of its panel if there is none yet.
CurveGroup& group_of(const RunRecord& record, std::vector<CurveGroup>& groups) {
  auto place = groups.end();
  for (auto group = groups.begin(); group != groups.end(); ++group) {
    if (group->panel != record.panel) continue;
    if (group->curve == record.curve) return *group;
    place = group + 1;
  }
  return *groups.insert(place, {.panel = record.panel, .curve = record.curve});
}

}  // namespace

std::vector<CurveGroup> curve_groups(std::span<const RunRecord> records) {
  std::vector<CurveGroup> groups;
  for (const RunRecord& record : records) {
    if (!record.evaluations.empty()) group_of(record, groups).runs.push_back(&record);
  }
  return groups;
}

}  // namespace ballast::records
