#pragma once
// Rows of one length in the memory of the backend that made the table. The rows are numbered from 0
// without gaps; what rules need to know about them is asked of the backend (backend.h).
//
// A table either holds rows of its own (put, insert, remove) or shows rows that lie elsewhere
// (borrow); the first kind also keeps what its backend remembers about the rows from one question
// to the next, such as the last median.
//
// Thread-safety: one thread at a time.

#include <cstddef>
#include <span>

#include "ballast/base/row_buffer.h"
#include "ballast/kernels/rows.h"

namespace ballast::kernels {

// Values on their way into a table, in host memory. Where they come with the
// memory they lie in, a table in host memory keeps that and leaves another buffer of the same size,
// with values of any kind, in its place; a device copies the values and leaves the buffer.
struct Incoming {
  std::span<const float> values;
  RowBuffer* memory = nullptr;
  bool is_checked = false;  // somebody has seen that all values are finite
};

class Table {
 public:
  Table() = default;
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;
  virtual ~Table() = default;

  virtual std::size_t row_count() const noexcept = 0;
  virtual std::size_t dim() const noexcept = 0;

  // Replaces row `index`, or inserts a row before it. False if a value is not finite: the rows and
  // the incoming memory are then as they were.
  // Requires: rows of its own, dim() values, index < row_count() (insert: <=).
  // Cost: one pass over the values; nothing is copied where memory comes along and the table is in
  // host memory.
  virtual bool put(std::size_t index, const Incoming& row) = 0;
  virtual bool insert(std::size_t index, const Incoming& row) = 0;

  // Takes row `index` out; the rows behind it move up by one. Requires: rows of its own.
  virtual void remove(std::size_t index) = 0;

  // Shows these rows in host memory instead of what it held. A table in host memory does so without
  // a copy, so the rows outlive its use; a device copies them.
  virtual void borrow(RowsView rows) = 0;

  // Copies a row to host memory. Requires: a span of dim() values.
  virtual void read(std::size_t index, std::span<float> to) const = 0;

  // The row itself where it lies in host memory, else empty. Valid until the table changes.
  virtual std::span<const float> host_row(std::size_t index) const noexcept = 0;
};

}  // namespace ballast::kernels
