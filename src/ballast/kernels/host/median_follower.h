#pragma once
// Private to kernels/: keeps the coordinate-wise weighted median of a table up to date while its
// rows are replaced one at a time. Always exact; what varies is how it gets there:
// - from what it remembers of each column, when exactly one row and its weight changed and few of
//   the medians moved (while the rows settle, much less than one read of the table);
// - else by a search, or from nothing (one read of the table or more).
// Remembering takes time and pays only in the first case, so while it does not pay it is tried
// again ever more rarely.

#include <optional>
#include <span>

#include "ballast/kernels/host/host_vector.h"
#include "ballast/kernels/host/primitives.h"

namespace ballast::kernels::host {

// What happened to the rows since the last call of MedianFollower::update.
class RowChanges {
 public:
  // A row replaced twice counts twice: only its latest old values are at hand.
  void note(std::size_t row) noexcept {
    count_ = count_ == 0 ? 1 : kMany;
    row_ = row;
  }
  void note_many() noexcept { count_ = kMany; }
  // The old values of a row that was noted are lost.
  void forget_old_values() noexcept { count_ = count_ == 0 ? 0 : kMany; }
  void clear() noexcept { count_ = 0; }

  bool is_none() const noexcept { return count_ == 0; }
  // The only row that changed, if it is the only one.
  std::optional<std::size_t> single() const noexcept {
    return count_ == 1 ? std::optional(row_) : std::nullopt;
  }

 private:
  static constexpr std::size_t kMany = 2;
  std::size_t count_ = 0;
  std::size_t row_ = 0;
};

class MedianFollower {
 public:
  // The median of the rows as they are now. `changes` says what happened since the last call, with
  // row numbers as in `rows`; `old_values` is what the single changed row held before.
  const HostVector& update(RowsView rows, const Weights& weights, const RowChanges& changes,
                           std::span<const float> old_values, const Primitives& primitives);

 private:
  bool follows(const Weights& weights, const RowChanges& changes) const noexcept;
  void search(RowsView rows, const Weights& weights, const Primitives& primitives);
  void note_gain(double gain) noexcept;

  HostVector median_{0};
  MedianState state_;
  Weights weights_;  // of the last call
  bool has_state_ = false;
  double gain_ = 0.0;           // by following, over searching
  unsigned searches_left_ = 0;  // before remembering is tried again
  unsigned searches_between_ = 8;
};

}  // namespace ballast::kernels::host
