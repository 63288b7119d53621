#pragma once
// Private to server/: how the tables of a method become named vectors of its state, and come back.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ballast/base/error.h"
#include "ballast/robust/row_table.h"
#include "ballast/server/method.h"

namespace ballast::server {

struct TableNames {
  const char* centre;
  const char* previous;  // the last result, where later ones depend on it
  const char* row;       // before the worker's number
};
inline constexpr TableNames kLatestNames = {"centre", "previous", "row-"};
inline constexpr TableNames kPastNames = {"past-centre", "past-previous", "past-"};

struct TableRevisions {
  std::uint64_t table = 0;
  std::span<const std::uint64_t> rows;
};

// Borrows the vectors, as MethodStateView does.
void add_vectors(const robust::RowTable& table, const TableNames& names,
                 const TableRevisions& revisions, MethodStateView& view);

// Refuses a state in which the workers that have a count are not those that have a row in each of
// these tables, or whose vectors are not `dim` finite values.
Status check_vectors(MethodState& state, std::span<const TableNames> tables,
                     std::span<const double> counts, std::size_t dim);

// Fills the table with what add_vectors() wrote, and takes the rows out of the state. Requires:
// check_vectors() holds for it, a count for each row that the table has room for.
void put_back(MethodState& state, const TableNames& names, std::span<const std::uint64_t> counts,
              robust::RowTable& table);

}  // namespace ballast::server
