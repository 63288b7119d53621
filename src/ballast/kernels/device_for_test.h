#pragma once
// A backend whose memory nobody can look into, as that of a GPU: the plain loops of the reference,
// on tables and vectors that offer no view of the host's memory, cannot borrow it, and count what
// is read back. What works on it needs nothing but the contract of backend.h.

#include <memory>
#include <utility>
#include <vector>

#include "ballast/kernels/backend.h"

namespace ballast::kernels {

struct DeviceTraffic {
  std::size_t values_read = 0;  // from the device to the host, facts not counted
};

class DeviceVector final : public Vector {
 public:
  DeviceVector(std::unique_ptr<Vector> memory, std::shared_ptr<DeviceTraffic> traffic)
      : memory_(std::move(memory)), traffic_(std::move(traffic)) {}
  std::size_t size() const noexcept override { return memory_->size(); }
  void read(std::span<float> to) const override {
    traffic_->values_read += to.size();
    memory_->read(to);
  }
  void write(std::span<const float> from) override { memory_->write(from); }
  std::span<const float> host_view() const noexcept override { return {}; }
  bool borrow(std::span<float>) override { return false; }
  Vector& memory() const { return *memory_; }

 private:
  std::unique_ptr<Vector> memory_;
  std::shared_ptr<DeviceTraffic> traffic_;
};

class DeviceTable final : public Table {
 public:
  DeviceTable(std::unique_ptr<Table> memory, std::shared_ptr<DeviceTraffic> traffic)
      : memory_(std::move(memory)), traffic_(std::move(traffic)) {}
  std::size_t row_count() const noexcept override { return memory_->row_count(); }
  std::size_t dim() const noexcept override { return memory_->dim(); }
  bool put(std::size_t index, const Incoming& row) override {
    return memory_->put(index, {.values = row.values});
  }
  bool insert(std::size_t index, const Incoming& row) override {
    return memory_->insert(index, {.values = row.values});
  }
  void remove(std::size_t index) override { memory_->remove(index); }
  void borrow(RowsView rows) override {
    borrowed_.clear();
    pointers_.clear();
    for (std::size_t i = 0; i < rows.row_count(); ++i) {
      borrowed_.emplace_back(rows.row(i).begin(), rows.row(i).end());
    }
    for (const auto& row : borrowed_) pointers_.push_back(row.data());
    memory_->borrow({pointers_, rows.dim()});
  }
  void read(std::size_t index, std::span<float> to) const override {
    traffic_->values_read += to.size();
    memory_->read(index, to);
  }
  std::span<const float> host_row(std::size_t) const noexcept override { return {}; }
  Table& memory() const { return *memory_; }

 private:
  std::unique_ptr<Table> memory_;
  std::shared_ptr<DeviceTraffic> traffic_;
  std::vector<std::vector<float>> borrowed_;
  std::vector<const float*> pointers_;
};

class DeviceBackend final : public Backend {
 public:
  const DeviceTraffic& traffic() const noexcept { return *traffic_; }

  std::string_view name() const noexcept override { return "device"; }
  std::unique_ptr<Vector> make_vector(std::size_t size) const override {
    return std::make_unique<DeviceVector>(plain_->make_vector(size), traffic_);
  }
  std::unique_ptr<Table> make_table(std::size_t dim) const override {
    return std::make_unique<DeviceTable>(plain_->make_table(dim), traffic_);
  }
  std::unique_ptr<Vector> view(std::span<float> values) const override {
    return std::make_unique<DeviceVector>(plain_->view(values), traffic_);
  }
  bool can_use(const Vector& vector) const noexcept override {
    return dynamic_cast<const DeviceVector*>(&vector) != nullptr;
  }
  bool can_use(const Table& table) const noexcept override {
    return dynamic_cast<const DeviceTable*>(&table) != nullptr;
  }
  bool all_finite(const Table& table, std::size_t row) const override {
    return plain_->all_finite(in(table), row);
  }
  void copy_row(const Table& table, std::size_t row, Vector& out) const override {
    plain_->copy_row(in(table), row, in(out));
  }
  void inner_products(const Table& table, std::size_t first, std::size_t last, const Vector* centre,
                      std::span<double> products) const override {
    plain_->inner_products(in(table), first, last, in(centre), products);
  }
  void squared_distances(const Table& table, const Vector* point,
                         std::span<double> distances) const override {
    plain_->squared_distances(in(table), in(point), distances);
  }
  void combine(const Table& table, std::span<const double> coefficients,
               Vector& out) const override {
    plain_->combine(in(table), coefficients, in(out));
  }
  void mix(const Table& table, MatrixView coefficients, Table& out) const override {
    plain_->mix(in(table), coefficients, in(out));
  }
  void weighted_median(const Table& table, const Weights& weights, Vector& out) const override {
    plain_->weighted_median(in(table), weights, in(out));
  }
  const Vector& follow_median(Table& table, const Weights& weights) const override {
    median_ = make_vector(table.dim());
    plain_->weighted_median(in(table), weights, in(*median_));
    return *median_;
  }
  void weighted_trimmed_mean(const Table& table, const Weights& weights, double trim,
                             Vector& out) const override {
    plain_->weighted_trimmed_mean(in(table), weights, trim, in(out));
  }
  bool descend(const Vector& w, const Vector& direction, double rate, Vector& next) const override {
    return plain_->descend(in(w), in(direction), rate, in(next));
  }
  bool average(const Vector& newest, const Vector& before, double share,
               Vector& next) const override {
    return plain_->average(in(newest), in(before), share, in(next));
  }
  bool descend_and_average(const Vector& w, const Vector& direction, double rate, const Vector& x,
                           double share, Vector& next_w, Vector& next_x) const override {
    return plain_->descend_and_average(in(w), in(direction), rate, in(x), share, in(next_w),
                                       in(next_x));
  }
  void correct(const CorrectionVectors& vectors, double keep, Vector& next, Vector& mark,
               void* stream) const override {
    plain_->correct({in(vectors.gradient), in(vectors.before), in(vectors.reference)}, keep,
                    in(next), in(mark), stream);
  }

 private:
  static Table& in(const Table& table) { return dynamic_cast<const DeviceTable&>(table).memory(); }
  static Vector& in(const Vector& vector) {
    return dynamic_cast<const DeviceVector&>(vector).memory();
  }
  static const Vector* in(const Vector* vector) {
    return vector == nullptr ? nullptr : &in(*vector);
  }

  std::unique_ptr<Backend> plain_ = make_reference_backend();
  std::shared_ptr<DeviceTraffic> traffic_ = std::make_shared<DeviceTraffic>();
  mutable std::unique_ptr<Vector> median_;
};

}  // namespace ballast::kernels
