#pragma once
// Private to server/: what table(past=N) judges workers by. For each of them the average, over its
// last N updates or so, of how far its row lay from the server's last direction: honest deviations
// average out, a lie that stays within the noise of every single table does not.
//
// The averages are rows of a table with the rule, so that products are kept up to date as they are
// for latest rows. On a device each average goes once through host memory, since rows go into a
// table from there.
//
// Thread-safety: one thread at a time. Memory: vector_count() * dim floats, and what the rule
// keeps.

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ballast/base/row_buffer.h"
#include "ballast/kernels/backend.h"
#include "ballast/robust/row_table.h"

namespace ballast::server {

class PastRows {
 public:
  // Requires: updates >= 1, a rule that has coefficients.
  PastRows(robust::RulePointer rule, std::shared_ptr<const kernels::Backend> backend,
           std::size_t worker_count, std::size_t dim, std::uint64_t updates);

  // Takes in the row that the worker has in `latest`, its count-th since it has one, and the last
  // result there as the direction that it is compared with, 0 before there is one:
  //   average <- (1 - r) average + r (row - direction), r = max(1/updates, 1/count).
  // Differences beyond the largest finite float count as that. Cost: six reads of a row, four
  // writes.
  void follow(const robust::RowTable& latest, std::size_t worker, std::uint64_t count);

  // Vectors that it may come to keep.
  std::size_t vector_count() const noexcept { return worker_count_ + kVectorsBesideRows; }

  robust::RowTable& table() noexcept { return table_; }
  const robust::RowTable& table() const noexcept { return table_; }

 private:
  // The table's spare row, result and centre; the two vectors and the buffer below, and the third
  // vector where that cannot stand for the buffer.
  static constexpr std::size_t kVectorsBesideRows = 7;

  void compare(const robust::RowTable& latest, std::size_t worker);
  void saturate(kernels::Vector& vector);

  std::shared_ptr<const kernels::Backend> backend_;
  std::size_t worker_count_;
  double share_min_;  // of the newest difference in an average
  robust::RowTable table_;
  std::unique_ptr<kernels::Vector> before_;
  std::unique_ptr<kernels::Vector> difference_;
  std::unique_ptr<kernels::Vector> average_;  // stands for buffer_ where that is possible
  RowBuffer buffer_;
};

}  // namespace ballast::server
