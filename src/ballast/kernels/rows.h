#pragma once
// Borrowed views of a table of vectors: m rows of dim values each, wherever the rows lie in memory.

#include <cstddef>
#include <span>

#include "ballast/base/check.h"

namespace ballast::kernels {

// Rows to read. The pointers and the values belong to somebody else and outlive the view.
class RowsView {
 public:
  RowsView() = default;
  RowsView(std::span<const float* const> rows, std::size_t dim) noexcept : rows_(rows), dim_(dim) {}

  std::size_t row_count() const noexcept { return rows_.size(); }
  std::size_t dim() const noexcept { return dim_; }
  std::span<const float* const> pointers() const noexcept { return rows_; }
  const float* pointer(std::size_t row) const noexcept {
    BALLAST_DCHECK(row < rows_.size(), "row index past the last row");
    return rows_[row];
  }
  std::span<const float> row(std::size_t row) const noexcept { return {pointer(row), dim_}; }

 private:
  std::span<const float* const> rows_;
  std::size_t dim_ = 0;
};

// Rows to write.
class MutableRowsView {
 public:
  MutableRowsView(std::span<float* const> rows, std::size_t dim) noexcept
      : rows_(rows), dim_(dim) {}

  std::size_t row_count() const noexcept { return rows_.size(); }
  std::size_t dim() const noexcept { return dim_; }
  float* pointer(std::size_t row) const noexcept { return rows_[row]; }

 private:
  std::span<float* const> rows_;
  std::size_t dim_ = 0;
};

// A dense matrix of doubles, stored row by row.
class MatrixView {
 public:
  MatrixView(std::span<const double> values, std::size_t columns) noexcept
      : values_(values), columns_(columns) {}

  std::size_t rows() const noexcept { return columns_ == 0 ? 0 : values_.size() / columns_; }
  std::size_t columns() const noexcept { return columns_; }
  double operator()(std::size_t row, std::size_t column) const noexcept {
    return values_[row * columns_ + column];
  }
  std::span<const double> row(std::size_t row) const noexcept {
    return values_.subspan(row * columns_, columns_);
  }

 private:
  std::span<const double> values_;
  std::size_t columns_;
};

}  // namespace ballast::kernels
