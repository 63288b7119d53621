// Both backends in host memory: tables and vectors are those of host_table.h and host_vector.h, so
// either works on what the other made; the arithmetic is that of the given primitives.

#include <limits>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/kernels/backend.h"
#include "ballast/kernels/host/host_table.h"
#include "ballast/kernels/host/host_vector.h"
#include "ballast/kernels/host/primitives.h"

namespace ballast::kernels {
namespace host {
namespace {

// The same object by its true type. One of another backend is a bug of the caller.
template <typename Ours, typename Any>
Ours& in_host(Any& object) {
  auto* ours = dynamic_cast<Ours*>(&object);
  BALLAST_CHECK(ours != nullptr, "a table or vector belongs to another backend");
  return *ours;
}

RowsView rows(const Table& table) { return in_host<const HostTable>(table).rows(); }

std::span<const float> values(const Vector& vector) {
  return in_host<const HostVector>(vector).values();
}
std::span<const float> values(const Vector* vector) {
  return vector == nullptr ? std::span<const float>() : values(*vector);
}

// Where a result of `size` values goes.
std::span<float> place(Vector& vector, std::size_t size) {
  BALLAST_CHECK(vector.size() == size, "the result has the wrong size");
  return in_host<HostVector>(vector).values();
}

// A combination of so many values is not in a cache any more when a step reads it.
constexpr std::size_t kOwedMin = std::size_t{1} << 20;

class HostBackend final : public Backend {
 public:
  explicit HostBackend(std::unique_ptr<const Primitives> primitives)
      : primitives_(std::move(primitives)) {}

  std::string_view name() const noexcept override { return primitives_->name(); }
  std::unique_ptr<Vector> make_vector(std::size_t size) const override {
    return std::make_unique<HostVector>(size);
  }
  std::unique_ptr<Table> make_table(std::size_t dim) const override {
    return std::make_unique<HostTable>(primitives_, dim);
  }
  std::unique_ptr<Vector> view(std::span<float> values) const override {
    return std::make_unique<HostVector>(values);
  }
  bool can_use(const Vector& vector) const noexcept override {
    return dynamic_cast<const HostVector*>(&vector) != nullptr;
  }
  bool can_use(const Table& table) const noexcept override {
    return dynamic_cast<const HostTable*>(&table) != nullptr;
  }

  bool all_finite(const Table& table, std::size_t row) const override {
    return primitives_->all_finite(rows(table).row(row));
  }
  void copy_row(const Table& table, std::size_t row, Vector& out) const override {
    table.read(row, place(out, table.dim()));
  }
  void inner_products(const Table& table, std::size_t first, std::size_t last, const Vector* centre,
                      std::span<double> products) const override {
    primitives_->inner_products(rows(table), first, last, values(centre), products);
  }
  void squared_distances(const Table& table, const Vector* point,
                         std::span<double> distances) const override {
    primitives_->squared_distances(rows(table), values(point), distances);
  }
  void combine(const Table& table, std::span<const double> coefficients,
               Vector& out) const override {
    BALLAST_CHECK(out.size() == table.dim(), "the result has the wrong size");
    if (table.dim() >= kOwedMin &&
        in_host<HostVector>(out).owe(in_host<const HostTable>(table), coefficients, primitives_)) {
      return;
    }
    float* const to[] = {place(out, table.dim()).data()};
    primitives_->mix(rows(table), MatrixView(coefficients, table.row_count()),
                     MutableRowsView(to, table.dim()));
  }
  void mix(const Table& table, MatrixView coefficients, Table& out) const override {
    BALLAST_CHECK(out.dim() == table.dim(), "mixed rows have the length of the rows");
    primitives_->mix(rows(table), coefficients,
                     in_host<HostTable>(out).overwrite(coefficients.rows()));
  }
  void weighted_median(const Table& table, const Weights& weights, Vector& out) const override {
    primitives_->weighted_median(rows(table), weights, place(out, table.dim()));
  }
  const Vector& follow_median(Table& table, const Weights& weights) const override {
    return in_host<HostTable>(table).follow_median(weights, *primitives_);
  }
  void weighted_trimmed_mean(const Table& table, const Weights& weights, double trim,
                             Vector& out) const override {
    primitives_->weighted_trimmed_mean(rows(table), weights, trim, place(out, table.dim()));
  }

  bool descend(const Vector& w, const Vector& direction, double rate, Vector& next) const override {
    const auto& along = in_host<const HostVector>(direction);
    if (along.owes()) {
      return primitives_->descend_along(values(w), along.debt(), rate, place(next, w.size()));
    }
    return primitives_->descend(values(w), values(direction), rate, place(next, w.size()));
  }
  bool average(const Vector& newest, const Vector& before, double share,
               Vector& next) const override {
    return primitives_->average(values(newest), values(before), share, place(next, newest.size()));
  }
  bool descend_and_average(const Vector& w, const Vector& direction, double rate, const Vector& x,
                           double share, Vector& next_w, Vector& next_x) const override {
    return primitives_->descend_and_average(
        {values(w), values(direction), values(x), place(next_w, w.size()), place(next_x, w.size())},
        rate, share);
  }
  void correct(const CorrectionVectors& v, double keep, Vector& next, Vector& mark,
               void*) const override {
    const std::span<float> to = place(next, v.gradient.size()), flag = place(mark, 1);
    const CorrectionSpans spans{values(v.gradient), values(v.before), values(v.reference), to};
    if (!primitives_->correct(spans, keep)) flag[0] = std::numeric_limits<float>::quiet_NaN();
  }

 private:
  std::shared_ptr<const Primitives> primitives_;  // with the tables, which may outlive the backend
};

}  // namespace
}  // namespace host

std::unique_ptr<Backend> make_reference_backend() {
  return std::make_unique<host::HostBackend>(host::make_reference_primitives());
}

std::unique_ptr<Backend> make_cpu_backend(std::size_t threads) {
  return std::make_unique<host::HostBackend>(host::make_cpu_primitives(threads));
}

}  // namespace ballast::kernels
