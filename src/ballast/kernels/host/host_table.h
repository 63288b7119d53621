#pragma once
// Private to kernels/: a table in host memory.

#include <memory>
#include <span>
#include <vector>

#include "ballast/base/row_buffer.h"
#include "ballast/kernels/host/host_vector.h"
#include "ballast/kernels/host/median_follower.h"
#include "ballast/kernels/host/primitives.h"
#include "ballast/kernels/table.h"

namespace ballast::kernels::host {

class HostTable final : public Table {
 public:
  HostTable(std::shared_ptr<const Primitives> primitives, std::size_t dim)
      : primitives_(std::move(primitives)), dim_(dim) {}
  ~HostTable() override { settle(); }

  std::size_t row_count() const noexcept override { return pointers_.size(); }
  std::size_t dim() const noexcept override { return dim_; }
  bool put(std::size_t index, const Incoming& row) override;
  bool insert(std::size_t index, const Incoming& row) override;
  void remove(std::size_t index) override;
  void borrow(RowsView rows) override;
  void read(std::size_t index, std::span<float> to) const override;
  std::span<const float> host_row(std::size_t index) const noexcept override {
    return rows().row(index);
  }

  RowsView rows() const noexcept { return {pointers_, dim_}; }

  bool has_own_rows() const noexcept { return own_.size() == pointers_.size() && !own_.empty(); }

  // The vector owes a combination of the present rows; one that did so before has it made now.
  void lend_to(const HostVector& vector) const noexcept;
  void let_off(const HostVector& vector) const noexcept;

  // Makes it a table of so many rows of its own, with values of any kind, to be written.
  MutableRowsView overwrite(std::size_t row_count);

  const HostVector& follow_median(const Weights& weights, const Primitives& primitives);

 private:
  RowBuffer make_buffer() { return {dim_, buffers_made_++}; }
  bool take(const Incoming& row);
  void settle() const noexcept;

  std::shared_ptr<const Primitives> primitives_;
  std::size_t dim_;
  std::vector<RowBuffer> own_;          // empty while the rows are borrowed
  std::vector<const float*> pointers_;  // the values of all rows
  std::vector<float*> writable_;        // what overwrite() gave
  RowBuffer spare_;                     // takes the next row; holds what that replaced last was
  std::size_t buffers_made_ = 0;
  mutable const HostVector* debtor_ = nullptr;  // owes a combination of rows
  mutable bool is_spare_owed_ = false;          // it needs the row replaced last
  MedianFollower follower_;
  RowChanges changes_;  // since the follower looked last
};

}  // namespace ballast::kernels::host
