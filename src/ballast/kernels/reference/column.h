#pragma once
// One column of a table with its weights, sorted by value: what the order-statistic rules look at.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ballast/kernels/rows.h"
#include "ballast/kernels/weights.h"

namespace ballast::kernels::reference {

struct ColumnEntry {
  double value;
  std::uint64_t weight;
};

inline std::vector<ColumnEntry> sorted_column(RowsView rows, const Weights& weights,
                                              std::size_t coordinate) {
  std::vector<ColumnEntry> column;
  for (std::size_t i = 0; i < rows.row_count(); ++i) {
    column.push_back({static_cast<double>(rows.row(i)[coordinate]), weights.units()[i]});
  }
  std::sort(column.begin(), column.end(),
            [](const ColumnEntry& a, const ColumnEntry& b) { return a.value < b.value; });
  return column;
}

}  // namespace ballast::kernels::reference
