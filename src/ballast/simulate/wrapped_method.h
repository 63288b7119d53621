#pragma once
// Private to simulate/: a method that does what another one does. A mutant changes one thing of it.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ballast/server/method.h"

namespace ballast::simulate {

class WrappedMethod : public server::Method {
 public:
  explicit WrappedMethod(server::MethodPointer inner) : inner_(std::move(inner)) {}

  std::string description() const override { return inner_->description(); }
  server::Answer on_update(const server::AdmittedUpdate& update) override {
    return inner_->on_update(update);
  }
  void remove(std::uint32_t worker) override { inner_->remove(worker); }
  void on_enrol() override { inner_->on_enrol(); }
  bool is_ready() const override { return inner_->is_ready(); }
  std::string pause_reason() const override { return inner_->pause_reason(); }
  bool wants(std::uint32_t worker) const override { return inner_->wants(worker); }
  server::WorkerShare worker(std::uint32_t worker) const override { return inner_->worker(worker); }
  std::span<const float> row(std::uint32_t worker) const override { return inner_->row(worker); }
  std::size_t further_vectors() const override { return inner_->further_vectors(); }
  std::vector<robust::RowMeasure> measure_rows() const override { return inner_->measure_rows(); }
  std::vector<server::NamedNumber> figures() const override { return inner_->figures(); }
  server::MethodStateView state() const override { return inner_->state(); }
  Status restore(server::MethodState state,
                 std::span<const std::uint64_t> lifetime_counts) override {
    return inner_->restore(std::move(state), lifetime_counts);
  }

 protected:
  server::Method& inner() const noexcept { return *inner_; }

 private:
  server::MethodPointer inner_;
};

}  // namespace ballast::simulate
