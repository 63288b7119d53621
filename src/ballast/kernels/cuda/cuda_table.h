#pragma once
// Private to kernels/: a table in the memory of the device, with what it remembers of its median.
// Rows come from host memory or from the device's; what is borrowed there is used where it lies.

#include <memory>
#include <span>
#include <vector>

#include "ballast/kernels/cuda/cuda_vector.h"
#include "ballast/kernels/cuda/device.h"
#include "ballast/kernels/cuda/launch.h"
#include "ballast/kernels/host/median_follower.h"
#include "ballast/kernels/table.h"
#include "ballast/kernels/weights.h"

namespace ballast::kernels::cuda {

class CudaTable final : public Table {
  static constexpr unsigned kSortsBetweenMin = 8;
  static constexpr unsigned kSortsBetweenMax = 256;

 public:
  CudaTable(DevicePointer device, std::size_t dim) : device_(std::move(device)), dim_(dim) {}

  std::size_t row_count() const noexcept override { return pointers_.size(); }
  std::size_t dim() const noexcept override { return dim_; }
  bool put(std::size_t index, const Incoming& row) override;
  bool insert(std::size_t index, const Incoming& row) override;
  void remove(std::size_t index) override;
  void borrow(RowsView rows) override;
  void read(std::size_t index, std::span<float> to) const override;
  std::span<const float> host_row(std::size_t) const noexcept override { return {}; }

  // What follows is for a caller that holds the device's turn.

  // Makes it a table of so many rows of its own, with values of any kind, and gives their places
  // on the device.
  float* const* overwrite(std::size_t row_count);

  // The rows and weights as kernels take them; `everywhere` also where they could travel with the
  // launch.
  Rows rows(bool everywhere = false) const;
  Units units(const Weights& weights, bool everywhere = false) const;
  const double* coefficients(std::span<const double> values) const;
  const float* row(std::size_t index) const noexcept { return pointers_[index]; }

  // The rows that have a coefficient.
  ManyTerms terms(std::span<const double> coefficients) const;

  // All products of pairs: how many blocks at once, in how many parts.
  const ProductBlocks& product_blocks() const noexcept { return product_blocks_; }

  const CudaVector& follow_median(const Weights& weights);

 private:
  bool take(const Incoming& row);
  void make_room(std::size_t row_count);
  void make_median();
  bool is_followed(const Weights& weights) const noexcept;
  void follow(const Weights& weights, const MedianPlaces& places);
  void judge_following() noexcept;
  void sort(const Weights& weights, const MedianPlaces& places);

  DevicePointer device_;
  std::size_t dim_;
  std::vector<DeviceArray<float>> own_;  // the rows, or the copies of borrowed ones
  std::vector<const float*> pointers_;   // the values of all rows
  DeviceArray<float> landing_;           // takes the next row
  StreamMark is_landing_free_;           // when nothing queued uses it any more
  DeviceArray<float> spare_;             // holds what the row replaced last was
  host::RowChanges changes_;             // since the median was asked for

  std::unique_ptr<CudaVector> median_;
  DeviceArray<std::uint32_t> below_, at_;  // see Remembered
  DeviceArray<float> lower_, upper_;
  Weights weights_;  // of that median
  bool has_median_ = false;
  bool has_standing_ = false;
  bool is_borrowed_ = false;
  // Whether following pays, as host::MedianFollower asks it: how many columns of a sample were
  // searched the last time, and how often to sort before following is tried again.
  std::unique_ptr<SharedNumbers> searched_;
  std::size_t sampled_ = 0;  // columns; 0: nothing to judge
  unsigned sorts_left_ = 0;
  unsigned sorts_between_ = kSortsBetweenMin;

  ProductBlocks product_blocks_{};
  mutable Mirror rows_on_device_, units_on_device_, coefficients_on_device_, terms_on_device_;
  mutable std::vector<std::uint64_t> terms_;
};

// The median of the rows, and where its standing goes if that is wanted.
void launch_median(const CudaTable& table, const Weights& weights, const MedianPlaces& out,
                   cudaStream_t stream);

// Where the sorted rows can reach the threshold.
RankRange rank_range(const Weights& weights, std::uint64_t threshold);

}  // namespace ballast::kernels::cuda
