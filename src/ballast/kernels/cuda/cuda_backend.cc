// The backend `cuda`, and the door through which programs find it (plugin/plugin.h).

#include <algorithm>
#include <string>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/kernels/backend.h"
#include "ballast/kernels/cuda/cuda_table.h"
#include "ballast/kernels/cuda/cuda_vector.h"
#include "ballast/kernels/cuda/device.h"
#include "ballast/kernels/cuda/launch.h"
#include "ballast/kernels/plugin/plugin.h"
#include "ballast/kernels/trim_cuts.h"

namespace ballast::kernels::cuda {
namespace {

// The same object by its true type. One of another backend is a bug of the caller.
template <typename Ours, typename Any>
Ours& on_device(Any& object) {
  auto* ours = dynamic_cast<Ours*>(&object);
  BALLAST_CHECK(ours != nullptr, "a table or vector belongs to another backend");
  return *ours;
}

const CudaTable& in(const Table& table) { return on_device<const CudaTable>(table); }

const float* values(const Vector& vector) { return on_device<const CudaVector>(vector).data(); }
const float* values(const Vector* vector) { return vector == nullptr ? nullptr : values(*vector); }

// Where a result of `size` values goes.
float* place(Vector& vector, std::size_t size) {
  BALLAST_CHECK(vector.size() == size, "the result has the wrong size");
  return on_device<CudaVector>(vector).data();
}

// Where the products of a block belong: the row and the column of its first.
struct Corner {
  std::size_t top, left;
};

// Copies the tiles of a block from the diagonal on to their places, and mirrored.
void unpack_block(const double* block, std::size_t side, const Corner& corner, std::size_t m,
                  std::span<double> products) {
  constexpr std::size_t kTile = kTileSide;
  const double* tile = block;
  for (std::size_t top = corner.top; top < corner.top + side; top += kTile) {
    for (std::size_t left = corner.left; left < corner.left + side; left += kTile) {
      for (std::size_t i = top; top <= left && i < std::min(m, top + kTile); ++i) {
        for (std::size_t j = left; j < std::min(m, left + kTile); ++j) {
          products[i * m + j] = products[j * m + i] = tile[(i - top) * kTile + (j - left)];
        }
      }
      tile += kTile * kTile;
    }
  }
}

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(DevicePointer device) : device_(std::move(device)) {}

  std::string_view name() const noexcept override { return "cuda"; }
  std::unique_ptr<Vector> make_vector(std::size_t size) const override {
    return std::make_unique<CudaVector>(device_, size);
  }
  std::unique_ptr<Table> make_table(std::size_t dim) const override {
    return std::make_unique<CudaTable>(device_, dim);
  }
  std::unique_ptr<Vector> view(std::span<float> values) const override {
    return std::make_unique<CudaVector>(device_, values);
  }
  bool can_use(const Vector& vector) const noexcept override {
    return dynamic_cast<const CudaVector*>(&vector) != nullptr;
  }
  bool can_use(const Table& table) const noexcept override {
    return dynamic_cast<const CudaTable*>(&table) != nullptr;
  }
  void use_stream(void* stream) override {
    const Turn turn(device_->mutex());
    device_->use_stream(static_cast<cudaStream_t>(stream));
  }
  void finish() const override {
    const Turn turn(device_->mutex());
    device_->finish();
  }
  void wait_for(void* event) const override {
    if (event == nullptr) return;
    check(cudaEventSynchronize(static_cast<cudaEvent_t>(event)), "wait for an event");
  }

  bool all_finite(const Table& table, std::size_t row) const override {
    const Turn turn(device_->mutex());
    return device_->all_finite([&](std::uint32_t* is_bad) {
      check_finite(row_of(table, row), table.dim(), is_bad, device_->stream());
    });
  }
  void copy_row(const Table& table, std::size_t row, Vector& out) const override {
    const Turn turn(device_->mutex());
    check(cudaMemcpyAsync(place(out, table.dim()), row_of(table, row), table.dim() * sizeof(float),
                          cudaMemcpyDeviceToDevice, device_->stream()),
          "copy a row");
  }
  void inner_products(const Table& table, std::size_t first, std::size_t last, const Vector* centre,
                      std::span<double> products) const override;
  void squared_distances(const Table& table, const Vector* point,
                         std::span<double> distances) const override {
    const Turn turn(device_->mutex());
    const std::size_t m = table.row_count();
    const std::span<double> facts = device_->facts(m);
    cuda::squared_distances(in(table).rows(), values(point),
                            device_->partial(m * pieces(table.dim()).count), facts.data(),
                            device_->stream());
    take_facts(facts, distances);
  }
  void combine(const Table& table, std::span<const double> coefficients,
               Vector& out) const override;
  void mix(const Table& table, MatrixView coefficients, Table& out) const override {
    BALLAST_CHECK(out.dim() == table.dim(), "mixed rows have the length of the rows");
    const Turn turn(device_->mutex());
    float* const* const to = on_device<CudaTable>(out).overwrite(coefficients.rows());
    const std::size_t m = coefficients.columns();
    launch_mix(in(table), {&coefficients.row(0)[0], coefficients.rows() * m}, to);
  }

  void weighted_median(const Table& table, const Weights& weights, Vector& out) const override {
    const Turn turn(device_->mutex());
    const MedianPlaces places{.median = place(out, table.dim())};
    launch_median(in(table), weights, places, device_->stream());
    check(cudaGetLastError(), "find medians");
  }
  const Vector& follow_median(Table& table, const Weights& weights) const override {
    const Turn turn(device_->mutex());
    return on_device<CudaTable>(table).follow_median(weights);
  }
  void weighted_trimmed_mean(const Table& table, const Weights& weights, double trim,
                             Vector& out) const override;

  bool descend(const Vector& w, const Vector& direction, double rate, Vector& next) const override {
    const Turn turn(device_->mutex());
    return device_->all_finite([&](std::uint32_t* is_bad) {
      cuda::descend(values(w), values(direction), rate, w.size(), place(next, w.size()), is_bad,
                    device_->stream());
    });
  }
  bool average(const Vector& newest, const Vector& before, double share,
               Vector& next) const override {
    const Turn turn(device_->mutex());
    return device_->all_finite([&](std::uint32_t* is_bad) {
      cuda::average(values(newest), values(before), share, newest.size(),
                    place(next, newest.size()), is_bad, device_->stream());
    });
  }
  bool descend_and_average(const Vector& w, const Vector& direction, double rate, const Vector& x,
                           double share, Vector& next_w, Vector& next_x) const override {
    const Turn turn(device_->mutex());
    const StepPlaces places{values(w), values(direction), values(x), place(next_w, w.size()),
                            place(next_x, w.size())};
    return device_->all_finite([&](std::uint32_t* is_bad) {
      cuda::descend_and_average(places, rate, share, w.size(), is_bad, device_->stream());
    });
  }
  // On a stream of the caller's it is nobody's turn: nothing of the device's own is touched.
  void correct(const CorrectionVectors& v, double keep, Vector& next, Vector& mark,
               void* stream) const override {
    const std::size_t size = v.gradient.size();
    const CorrectionPlaces places{values(v.gradient), values(v.before), values(v.reference),
                                  place(next, size), place(mark, 1)};
    if (stream != nullptr) {
      cuda::correct(places, keep, size, static_cast<cudaStream_t>(stream));
    } else {
      const Turn turn(device_->mutex());
      cuda::correct(places, keep, size, device_->stream());
    }
    check(cudaGetLastError(), "correct a gradient");
  }

 private:
  static const float* row_of(const Table& table, std::size_t row) { return in(table).row(row); }

  // Waits for facts that were asked for and hands them out.
  void take_facts(std::span<const double> facts, std::span<double> to) const {
    check(cudaGetLastError(), "add up columns");
    device_->finish();
    std::ranges::copy(facts, to.begin());
  }

  void launch_mix(const CudaTable& table, std::span<const double> coefficients,
                  float* const* to) const {
    const auto count = static_cast<unsigned>(coefficients.size() / table.row_count());
    cuda::mix(table.rows(), table.coefficients(coefficients), count, to, device_->stream());
    check(cudaGetLastError(), "mix rows");
  }

  void all_products(const CudaTable& table, const float* centre, std::span<double> products) const;

  DevicePointer device_;
};

// The products of all pairs, as many blocks at once as there is room for their partial sums.
void CudaBackend::all_products(const CudaTable& table, const float* centre,
                               std::span<double> products) const {
  const Rows rows = table.rows();
  const unsigned m = rows.count, all = block_count(m);
  ProductBlocks blocks = table.product_blocks();
  const std::size_t of_block = std::size_t{blocks.side} * blocks.side;
  const std::span<double> facts = device_->facts(all * of_block);
  double* const partial = device_->partial(blocks.count * of_block * blocks.parts);
  for (const unsigned at_once = blocks.count; blocks.first < all; blocks.first += at_once) {
    blocks.count = std::min(at_once, all - blocks.first);
    products_of_blocks(rows, centre, blocks, partial, facts.data() + blocks.first * of_block,
                       device_->stream());
  }
  check(cudaGetLastError(), "multiply rows");
  device_->finish();
  const double* block = facts.data();
  for (std::size_t top = 0; top < m; top += blocks.side) {
    for (std::size_t left = top; left < m; left += blocks.side, block += of_block) {
      unpack_block(block, blocks.side, {top, left}, m, products);
    }
  }
}

void CudaBackend::inner_products(const Table& table, std::size_t first, std::size_t last,
                                 const Vector* centre, std::span<double> products) const {
  const Turn turn(device_->mutex());
  const CudaTable& ours = in(table);
  const std::size_t m = table.row_count();
  if (first == 0 && last == m && m > 1) return all_products(ours, values(centre), products);
  const std::span<double> facts = device_->facts(m);
  double* const partial = device_->partial(m * pieces(table.dim()).count);
  for (std::size_t i = first; i < last; ++i) {
    products_of_row(ours.rows(), ours.row(i), values(centre), partial, facts.data(),
                    device_->stream());
    take_facts(facts, products.subspan((i - first) * m, m));
  }
}

// Rows without a coefficient need not be read: they would add zeros.
void CudaBackend::combine(const Table& table, std::span<const double> coefficients,
                          Vector& out) const {
  const Turn turn(device_->mutex());
  const CudaTable& ours = in(table);
  float* const to = place(out, table.dim());
  const auto used = std::ranges::count_if(coefficients, [](double c) { return c != 0.0; });
  if (used > static_cast<std::ptrdiff_t>(kTermsMax)) {
    cuda::combine(ours.terms(coefficients), table.dim(), to, device_->stream());
  } else {
    Terms terms;
    terms.count = 0;
    for (std::size_t k = 0; k < coefficients.size(); ++k) {
      if (coefficients[k] == 0.0) continue;
      terms.row[terms.count] = ours.row(k);
      terms.coefficient[terms.count++] = coefficients[k];
    }
    cuda::combine(terms, table.dim(), to, device_->stream());
  }
  check(cudaGetLastError(), "combine rows");
}

void CudaBackend::weighted_trimmed_mean(const Table& table, const Weights& weights, double trim,
                                        Vector& out) const {
  const Turn turn(device_->mutex());
  const CudaTable& ours = in(table);
  float* const to = place(out, table.dim());
  const TrimCuts trimmed = trim_cuts(trim, weights.total());
  const Cuts cuts{trimmed.low, trimmed.high};
  if (table.row_count() <= kFewRows && weights.is_narrow()) {
    const CutThresholds at = cut_thresholds(cuts, weights.total());
    trimmed_mean_of_few(ours.rows(), ours.units(weights), rank_range(weights, at.low),
                        rank_range(weights, at.high), cuts, to, device_->stream());
  } else {
    trimmed_mean_of_many(ours.rows(true), ours.units(weights, true), cuts, to, device_->stream());
  }
  check(cudaGetLastError(), "trim means");
}

Backend* make(char* why, std::size_t why_size) {
  auto device = Device::open();
  if (device) return new CudaBackend(*std::move(device));
  const std::string& message = device.error().message;
  if (why_size > 0) why[message.copy(why, why_size - 1)] = '\0';
  return nullptr;
}

constexpr Plugin kPlugin{kSeamVersion, make};

}  // namespace
}  // namespace ballast::kernels::cuda

extern "C" const ballast::kernels::Plugin* ballast_backend_plugin() {
  return &ballast::kernels::cuda::kPlugin;
}
