#include "ballast/kernels/cuda/cuda_table.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <utility>

#include "ballast/base/check.h"

namespace ballast::kernels::cuda {

// What calls on the table will need, so that they take no memory.
void CudaTable::make_room(std::size_t row_count) {
  constexpr std::size_t kPartialMax = std::size_t{1} << 23;  // 64 MiB
  const unsigned pieces = cuda::pieces(dim_).count;
  const auto m = static_cast<unsigned>(row_count);
  product_blocks_ = {.side = block_side(m), .first = 0, .count = block_count(m), .parts = pieces};
  const std::size_t of_block = std::size_t{product_blocks_.side} * product_blocks_.side;
  if (product_blocks_.count * of_block * pieces > kPartialMax) {
    product_blocks_.parts = std::min(pieces, kStrands);
    product_blocks_.count = static_cast<unsigned>(std::min<std::size_t>(
        product_blocks_.count, kPartialMax / (of_block * product_blocks_.parts)));
  }
  device_->partial(
      std::max(row_count * pieces, product_blocks_.count * of_block * product_blocks_.parts));
  device_->facts(block_count(m) * of_block);
  rows_on_device_.reserve(row_count);
  units_on_device_.reserve(row_count);
  coefficients_on_device_.reserve(row_count);
  terms_on_device_.reserve(2 * row_count);
  terms_.reserve(2 * row_count);
}

// Brings the incoming values into landing_, or refuses them.
bool CudaTable::take(const Incoming& row) {
  BALLAST_CHECK(!is_borrowed_, "borrowed rows cannot be changed");
  BALLAST_CHECK(row.values.size() == dim_, "a row has the wrong size");
  if (landing_.is_empty()) landing_ = DeviceArray<float>(dim_);
  const cudaStream_t stream = device_->stream();
  if (!is_on_device(row.values.data())) {
    return device_->staging().copy(row.values, {landing_.data(), is_landing_free_, stream},
                                   row.is_checked);
  }
  const auto copy = [&](std::uint32_t* is_bad) {
    copy_finite(row.values.data(), dim_, landing_.data(), is_bad, stream);
  };
  if (!row.is_checked) return device_->all_finite(copy);
  copy(device_->is_bad());
  return true;
}

// The old values of the row survive until the median has been brought up to date; what was kept so
// before takes the next row, which comes from the host while the device works on what is queued
// from here on.
bool CudaTable::put(std::size_t index, const Incoming& row) {
  const Turn turn(device_->mutex());
  BALLAST_CHECK(index < row_count(), "there is no such row to replace");
  if (!take(row)) return false;
  std::swap(own_[index], landing_);
  std::swap(landing_, spare_);
  is_landing_free_.record(device_->stream());
  pointers_[index] = own_[index].data();
  changes_.note(index);
  return true;
}

bool CudaTable::insert(std::size_t index, const Incoming& row) {
  const Turn turn(device_->mutex());
  BALLAST_CHECK(index <= row_count(), "a row cannot be inserted behind a gap");
  if (!take(row)) return false;
  make_room(row_count() + 1);
  own_.reserve(own_.size() + 1);
  const auto place = static_cast<std::ptrdiff_t>(index);
  pointers_.insert(pointers_.begin() + place, landing_.data());
  own_.insert(own_.begin() + place, std::exchange(landing_, {}));
  changes_.note_many();
  return true;
}

void CudaTable::remove(std::size_t index) {
  const Turn turn(device_->mutex());
  BALLAST_CHECK(!is_borrowed_, "borrowed rows cannot be changed");
  BALLAST_CHECK(index < row_count(), "there is no such row to remove");
  const auto place = static_cast<std::ptrdiff_t>(index);
  device_->finish();
  own_.erase(own_.begin() + place);
  pointers_.erase(pointers_.begin() + place);
  changes_.note_many();
}

// Rows in host memory are copied, into what the last ones lay in if that fits.
void CudaTable::borrow(RowsView rows) {
  const Turn turn(device_->mutex());
  device_->finish();
  pointers_.clear();  // without rows until all are there
  if (rows.dim() != dim_) own_.clear();
  dim_ = rows.dim();
  spare_ = {};
  landing_ = {};
  is_borrowed_ = true;
  changes_.note_many();
  std::vector<const float*> pointers;
  std::size_t copied = 0;
  for (const float* const row : rows.pointers()) {
    if (is_on_device(row)) {
      pointers.push_back(row);
      continue;
    }
    if (copied == own_.size()) own_.emplace_back(dim_);
    float* const place = own_[copied++].data();
    check(cudaMemcpyAsync(place, row, dim_ * sizeof(float), cudaMemcpyHostToDevice,
                          device_->stream()),
          "copy a row to the device");
    pointers.push_back(place);
  }
  own_.resize(copied);
  device_->finish();
  make_room(pointers.size());
  pointers_ = std::move(pointers);
}

void CudaTable::read(std::size_t index, std::span<float> to) const {
  const Turn turn(device_->mutex());
  BALLAST_CHECK(to.size() == dim_, "read() needs room for every value");
  check(cudaMemcpyAsync(to.data(), pointers_[index], to.size_bytes(), cudaMemcpyDefault,
                        device_->stream()),
        "copy a row from the device");
  device_->finish();
}

float* const* CudaTable::overwrite(std::size_t row_count) {
  if (own_.size() > row_count) device_->finish();
  pointers_.clear();  // without rows until there is room for all
  changes_.note_many();
  while (own_.size() > row_count) own_.pop_back();
  while (own_.size() < row_count) own_.emplace_back(dim_);
  make_room(row_count);
  for (const auto& row : own_) pointers_.push_back(row.data());
  is_borrowed_ = false;
  return const_cast<float* const*>(rows(true).many);
}

Rows CudaTable::rows(bool everywhere) const {
  Rows rows{};
  rows.count = static_cast<unsigned>(row_count());
  rows.dim = dim_;
  rows.is_aligned = std::ranges::all_of(pointers_, is_aligned_for_four);
  if (rows.count <= kFewRows) std::ranges::copy(pointers_, rows.few);
  if (rows.count > kFewRows || everywhere) {
    static_assert(sizeof(const float*) == sizeof(std::uint64_t));
    const std::span words(reinterpret_cast<const std::uint64_t*>(pointers_.data()), rows.count);
    rows.many =
        reinterpret_cast<const float* const*>(rows_on_device_.update(words, device_->stream()));
  }
  return rows;
}

Units CudaTable::units(const Weights& weights, bool everywhere) const {
  BALLAST_CHECK(weights.size() == row_count(), "there must be one weight for each row");
  Units units{};
  units.total = weights.total();
  units.is_narrow = weights.is_narrow();
  const bool travels = units.is_narrow && weights.size() <= kFewRows;
  if (travels) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      units.few[i] = static_cast<std::uint32_t>(weights.units()[i]);
    }
  }
  if (!travels || everywhere) {
    units.many = units_on_device_.update(weights.units(), device_->stream());
  }
  return units;
}

const double* CudaTable::coefficients(std::span<const double> values) const {
  coefficients_on_device_.reserve(values.size());
  const std::span words(reinterpret_cast<const std::uint64_t*>(values.data()), values.size());
  return reinterpret_cast<const double*>(coefficients_on_device_.update(words, device_->stream()));
}

// First the rows, then their coefficients, in one list: they travel together.
ManyTerms CudaTable::terms(std::span<const double> coefficients) const {
  terms_.clear();
  for (std::size_t k = 0; k < coefficients.size(); ++k) {
    if (coefficients[k] != 0.0) terms_.push_back(std::bit_cast<std::uint64_t>(pointers_[k]));
  }
  const std::size_t count = terms_.size();
  for (const double coefficient : coefficients) {
    if (coefficient != 0.0) terms_.push_back(std::bit_cast<std::uint64_t>(coefficient));
  }
  const std::uint64_t* const words = terms_on_device_.update(terms_, device_->stream());
  return {reinterpret_cast<const float* const*>(words),
          reinterpret_cast<const double*>(words + count), static_cast<unsigned>(count)};
}

// Whether the standing of the last median can be brought up to date: exactly one row was replaced
// and no other weight has changed.
bool CudaTable::is_followed(const Weights& weights) const noexcept {
  const auto row = changes_.single();
  if (!has_standing_ || !row || !weights.is_narrow() || weights.size() != weights_.size()) {
    return false;
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (i != *row && weights.units()[i] != weights_.units()[i]) return false;
  }
  return true;
}

// Room for a median and its standing, all of it or nothing.
void CudaTable::make_median() {
  if (median_ != nullptr && median_->size() == dim_) return;
  auto median = std::make_unique<CudaVector>(device_, dim_);
  DeviceArray<std::uint32_t> below(dim_), at(dim_);
  DeviceArray<float> lower(dim_), upper(dim_);
  auto searched = std::make_unique<SharedNumbers>(kSampleMax);
  median_ = std::move(median);
  below_ = std::move(below);
  at_ = std::move(at);
  lower_ = std::move(lower);
  upper_ = std::move(upper);
  searched_ = std::move(searched);
  has_median_ = has_standing_ = false;
}

void CudaTable::follow(const Weights& weights, const MedianPlaces& places) {
  const std::size_t row = *changes_.single();
  const RowReplacement replacement{spare_.data(),
                                   pointers_[row],
                                   {static_cast<std::uint32_t>(weights_.units()[row]),
                                    static_cast<std::uint32_t>(weights.units()[row])}};
  sampled_ = cuda::follow_median(rows(), units(weights), replacement, places, searched_->data(),
                                 device_->stream());
}

// Looks at what the last following left, which is there unless nobody has waited for the device
// since; then it is that of an earlier one, and the time may be longer but never the result wrong.
void CudaTable::judge_following() noexcept {
  // Above about this share of columns to find all medians anew is faster: an estimate from the
  // times of both with many and with few columns searched (docs/performance.md).
  const double share_max = row_count() <= kFewRows ? 0.04 : 0.08;
  if (sampled_ == 0) return;
  std::size_t searched = 0;
  for (unsigned i = 0; i < kSampleMax; ++i) {
    searched += std::atomic_ref(searched_->data()[i]).load(std::memory_order_relaxed);
  }
  const double share = static_cast<double>(searched) / static_cast<double>(sampled_);
  sampled_ = 0;
  const bool pays = share <= share_max;
  sorts_between_ = pays ? kSortsBetweenMin : std::min(2 * sorts_between_, kSortsBetweenMax);
  sorts_left_ = pays ? 0 : sorts_between_;
}

// The standing is remembered unless following does not pay for now.
void CudaTable::sort(const Weights& weights, const MedianPlaces& places) {
  const bool remembers = sorts_left_ == 0 && weights.is_narrow();
  if (sorts_left_ > 0) --sorts_left_;
  launch_median(*this, weights, remembers ? places : MedianPlaces{places.median},
                device_->stream());
  has_standing_ = remembers;
}

const CudaVector& CudaTable::follow_median(const Weights& weights) {
  BALLAST_CHECK(!is_borrowed_, "borrowed rows may change unseen");
  make_median();
  if (has_median_ && changes_.is_none() && weights == weights_) return *median_;
  judge_following();
  const MedianPlaces places{median_->data(), below_.data(), at_.data(), lower_.data(),
                            upper_.data()};
  if (sorts_left_ == 0 && is_followed(weights)) {
    follow(weights, places);
  } else {
    sort(weights, places);
  }
  check(cudaGetLastError(), "find medians");
  has_median_ = true;
  weights_ = weights;
  changes_.clear();
  return *median_;
}

RankRange rank_range(const Weights& weights, std::uint64_t threshold) {
  std::array<std::uint64_t, kFewRows> sorted{};
  std::ranges::copy(weights.units(), sorted.begin());
  const std::span units = std::span(sorted).first(weights.size());
  std::ranges::sort(units);
  RankRange range{0, 0};
  for (std::uint64_t sum = units[0]; sum < threshold; sum += units[++range.last]) {
  }
  const auto heaviest = [&](unsigned i) { return units[units.size() - 1 - i]; };
  for (std::uint64_t sum = heaviest(0); sum < threshold; sum += heaviest(++range.first)) {
  }
  return range;
}

void launch_median(const CudaTable& table, const Weights& weights, const MedianPlaces& out,
                   cudaStream_t stream) {
  if (table.row_count() <= kFewRows && weights.is_narrow()) {
    const std::uint64_t threshold = weights.total() - weights.total() / 2;
    median_of_few(table.rows(), table.units(weights), rank_range(weights, threshold), out, stream);
  } else {
    median_of_many(table.rows(true), table.units(weights, true), out, stream);
  }
}

}  // namespace ballast::kernels::cuda
