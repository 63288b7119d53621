#include "ballast/server/table_state.h"

#include <fmt/core.h>

#include <string>

#include "ballast/base/check.h"
#include "ballast/kernels/finite.h"

namespace ballast::server {
namespace {

std::string row_name(const TableNames& names, std::size_t worker) {
  return fmt::format("{}{}", names.row, worker);
}

// None: an empty one.
std::span<const float> values_of(MethodState& state, const char* name) {
  const NamedVector* const vector = state.find_vector(name);
  if (vector == nullptr) return {};
  return vector->values;
}

}  // namespace

void add_vectors(const robust::RowTable& table, const TableNames& names,
                 const TableRevisions& revisions, MethodStateView& view) {
  const std::span<const float> centre = table.centre(), previous = table.previous_result();
  if (!centre.empty()) view.vectors.push_back({names.centre, revisions.table, centre});
  if (!previous.empty()) view.vectors.push_back({names.previous, revisions.table, previous});
  for (std::size_t i = 0; i < revisions.rows.size(); ++i) {
    if (!table.has(i)) continue;
    view.vectors.push_back({row_name(names, i), revisions.rows[i], table.row(i)});
  }
}

Status check_vectors(MethodState& state, std::span<const TableNames> tables,
                     std::span<const double> counts, std::size_t dim) {
  std::size_t vectors = 0;
  for (const TableNames& names : tables) {
    vectors += state.find_vector(names.centre) != nullptr ? 1 : 0;
    vectors += state.find_vector(names.previous) != nullptr ? 1 : 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      const bool has_row = state.find_vector(row_name(names, i)) != nullptr;
      if (has_row != (counts[i] > 0.0)) {
        return invalid_argument(fmt::format("the record of worker {} contradicts itself", i));
      }
      vectors += has_row ? 1 : 0;
    }
  }
  if (vectors != state.vectors.size()) {
    return invalid_argument("the state holds vectors that no table has");
  }
  for (const NamedVector& vector : state.vectors) {
    if (vector.values.size() == dim && kernels::all_finite(vector.values)) continue;
    return invalid_argument(fmt::format("the vector {} is not {} finite values", vector.name, dim));
  }
  return {};
}

void put_back(MethodState& state, const TableNames& names, std::span<const std::uint64_t> counts,
              robust::RowTable& table) {
  for (std::size_t i = 0; i < counts.size(); ++i) {
    table.remove(i);
    if (counts[i] == 0) continue;
    NamedVector& row = *state.find_vector(row_name(names, i));
    const Status is_put = table.put(i, row.values, 1.0);
    BALLAST_CHECK(is_put.has_value(), "a checked row fits the table");
    row.values = {};  // each row is in memory twice only while it is copied
  }
  table.set_centre(values_of(state, names.centre));
  table.set_previous_result(values_of(state, names.previous));
}

}  // namespace ballast::server
