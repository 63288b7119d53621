#include "ballast/kernels/host/host_table.h"

#include <algorithm>
#include <utility>

#include "ballast/base/check.h"

namespace ballast::kernels::host {

void HostTable::lend_to(const HostVector& vector) const noexcept {
  settle();
  debtor_ = &vector;
  is_spare_owed_ = false;
}

void HostTable::let_off(const HostVector& vector) const noexcept {
  if (debtor_ == &vector) debtor_ = nullptr;
}

void HostTable::settle() const noexcept {
  if (debtor_ != nullptr) debtor_->settle();
}

// Brings the incoming values into spare_, or refuses them.
bool HostTable::take(const Incoming& row) {
  BALLAST_CHECK(own_.size() == pointers_.size(), "borrowed rows cannot be changed");
  BALLAST_CHECK(row.values.size() == dim_, "a row has the wrong size");
  if (row.memory != nullptr && !row.is_checked && !primitives_->all_finite(row.values)) {
    return false;
  }
  if (is_spare_owed_) settle();
  if (spare_.is_empty()) spare_ = make_buffer();
  if (row.memory != nullptr) {
    std::swap(*row.memory, spare_);
    return true;
  }
  if (primitives_->copy_finite(row.values, spare_.values())) return true;
  changes_.forget_old_values();
  return false;
}

// The new values lie where the row replaced before lay, so that the old ones of this row survive
// until the median has been brought up to date, and what is owed need not be made for this.
bool HostTable::put(std::size_t index, const Incoming& row) {
  BALLAST_CHECK(index < row_count(), "there is no such row to replace");
  if (!take(row)) return false;
  std::swap(own_[index], spare_);
  is_spare_owed_ = true;
  pointers_[index] = own_[index].values().data();
  changes_.note(index);
  return true;
}

bool HostTable::insert(std::size_t index, const Incoming& row) {
  BALLAST_CHECK(index <= row_count(), "a row cannot be inserted behind a gap");
  if (!take(row)) return false;
  const auto place = static_cast<std::ptrdiff_t>(index);
  pointers_.insert(pointers_.begin() + place, spare_.values().data());
  own_.insert(own_.begin() + place, std::move(spare_));
  changes_.note_many();
  return true;
}

void HostTable::remove(std::size_t index) {
  BALLAST_CHECK(own_.size() == pointers_.size(), "borrowed rows cannot be changed");
  BALLAST_CHECK(index < row_count(), "there is no such row to remove");
  settle();
  const auto place = static_cast<std::ptrdiff_t>(index);
  own_.erase(own_.begin() + place);
  pointers_.erase(pointers_.begin() + place);
  changes_.note_many();
}

void HostTable::borrow(RowsView rows) {
  settle();
  own_.clear();
  spare_ = {};
  dim_ = rows.dim();
  pointers_.assign(rows.pointers().begin(), rows.pointers().end());
  changes_.note_many();
}

void HostTable::read(std::size_t index, std::span<float> to) const {
  BALLAST_CHECK(to.size() == dim_, "read() needs room for every value");
  std::ranges::copy(rows().row(index), to.begin());
}

MutableRowsView HostTable::overwrite(std::size_t row_count) {
  settle();
  while (own_.size() > row_count) own_.pop_back();
  while (own_.size() < row_count) own_.push_back(make_buffer());
  writable_.clear();
  for (RowBuffer& row : own_) writable_.push_back(row.values().data());
  pointers_.assign(writable_.begin(), writable_.end());
  changes_.note_many();
  return {writable_, dim_};
}

const HostVector& HostTable::follow_median(const Weights& weights, const Primitives& primitives) {
  BALLAST_CHECK(own_.size() == pointers_.size(), "borrowed rows may change unseen");
  const std::span<const float> old_values =
      spare_.is_empty() ? std::span<const float>() : spare_.values();
  const HostVector& median = follower_.update(rows(), weights, changes_, old_values, primitives);
  changes_.clear();
  return median;
}

}  // namespace ballast::kernels::host
