#include "ballast/optim/iterates.h"

#include <utility>

#include "ballast/base/check.h"
#include "ballast/optim/elementwise.h"

namespace ballast::optim {

Iterates<float>::Iterates(std::shared_ptr<const kernels::Backend> backend, std::size_t dim)
    : backend_(std::move(backend)), dim_(dim), pool_(dim) {
  if (backend_ == nullptr) backend_ = kernels::make_cpu_backend(1);
}

// An iterate in the host memory that its readers will share or, on a device, in memory of its own.
Iterate<float> Iterates<float>::stand_for(const std::shared_ptr<std::vector<float>>& memory) {
  std::unique_ptr<kernels::Vector> vector;
  if (given_back_.empty()) {
    vector = backend_->make_vector(0);
  } else {
    vector = std::move(given_back_.back());
    given_back_.pop_back();
  }
  if (vector->borrow(*memory)) return {std::move(vector), memory, memory};
  if (vector->size() != dim_) vector = backend_->make_vector(dim_);
  return {std::move(vector), nullptr, nullptr};
}

Iterate<float> Iterates<float>::make(std::vector<float> values) {
  const auto memory = std::make_shared<std::vector<float>>(std::move(values));
  Iterate<float> iterate = stand_for(memory);
  if (iterate.memory == nullptr) iterate.vector->write(*memory);
  return iterate;
}

Iterate<float> Iterates<float>::take() { return stand_for(pool_.take()); }

// The host memory goes back to the pool by itself, when its last reader lets go.
void Iterates<float>::give_back(Iterate<float> iterate) {
  given_back_.push_back(std::move(iterate.vector));
}

const std::shared_ptr<const std::vector<float>>& Iterates<float>::host(
    const Iterate<float>& iterate) const {
  if (iterate.host == nullptr) {
    auto memory = pool_.take();
    iterate.vector->read(*memory);
    iterate.host = std::move(memory);
  }
  return iterate.host;
}

const kernels::Vector& Iterates<float>::direction(std::span<const float> values) {
  BALLAST_CHECK(values.size() == dim_, "the direction has the wrong size");
  if (direction_ == nullptr) direction_ = backend_->make_vector(0);
  // The values are only read: the vector is handed on as one that cannot be written.
  const std::span<float> place(const_cast<float*>(values.data()), values.size());
  if (direction_->borrow(place)) return *direction_;
  if (direction_->size() != dim_) direction_ = backend_->make_vector(dim_);
  direction_->write(values);
  return *direction_;
}

const kernels::Vector& Iterates<float>::direction(const kernels::Vector& vector) {
  BALLAST_CHECK(vector.size() == dim_, "the direction has the wrong size");
  if (backend_->can_use(vector)) return vector;
  if (!vector.host_view().empty()) return direction(vector.host_view());
  foreign_.resize(dim_);
  vector.read(foreign_);
  return direction(std::span<const float>(foreign_));
}

namespace {

// The vector of an iterate, to be written: what was read back from a device is true no more.
kernels::Vector& rewrite(Iterate<float>& next) {
  if (next.memory == nullptr) next.host = nullptr;
  return *next.vector;
}

}  // namespace

bool Iterates<float>::descend(const Iterate<float>& w, const kernels::Vector& direction,
                              double rate, Iterate<float>& next) const {
  return backend_->descend(*w.vector, direction, rate, rewrite(next));
}

bool Iterates<float>::average(const Iterate<float>& newest, const Iterate<float>& before,
                              double share, Iterate<float>& next) const {
  return backend_->average(*newest.vector, *before.vector, share, rewrite(next));
}

bool Iterates<float>::descend_and_average(const Iterate<float>& w, const kernels::Vector& direction,
                                          double rate, const Iterate<float>& x, double share,
                                          Iterate<float>& next_w, Iterate<float>& next_x) const {
  return backend_->descend_and_average(*w.vector, direction, rate, *x.vector, share,
                                       rewrite(next_w), rewrite(next_x));
}

void Iterates<float>::project(const Projection& projection, Iterate<float>& iterate) {
  if (std::holds_alternative<NoProjection>(projection)) return;
  if (iterate.memory != nullptr) return optim::project<float>(projection, *iterate.memory);
  const auto copy = pool_.take();
  iterate.vector->read(*copy);
  optim::project<float>(projection, *copy);
  rewrite(iterate).write(*copy);
}

Iterate<double> Iterates<double>::make(std::vector<double> values) {
  const auto memory = std::make_shared<std::vector<double>>(std::move(values));
  return {memory, memory};
}

Iterate<double> Iterates<double>::take() {
  const auto memory = pool_.take();
  return {memory, memory};
}

std::span<const double> Iterates<double>::direction(std::span<const double> values) const {
  BALLAST_CHECK(values.size() == dim_, "the direction has the wrong size");
  return values;
}

std::span<const double> Iterates<double>::direction(const kernels::Vector& vector) {
  std::vector<float> values(vector.size());
  vector.read(values);
  direction_.assign(values.begin(), values.end());
  return direction(direction_);
}

bool Iterates<double>::descend(const Iterate<double>& w, std::span<const double> direction,
                               double rate, Iterate<double>& next) const {
  return optim::descend(*w.memory, direction, rate, *next.memory);
}

bool Iterates<double>::average(const Iterate<double>& newest, const Iterate<double>& before,
                               double share, Iterate<double>& next) const {
  return optim::average(*newest.memory, *before.memory, share, *next.memory);
}

bool Iterates<double>::descend_and_average(const Iterate<double>& w,
                                           std::span<const double> direction, double rate,
                                           const Iterate<double>& x, double share,
                                           Iterate<double>& next_w, Iterate<double>& next_x) const {
  return descend(w, direction, rate, next_w) && average(next_w, x, share, next_x);
}

void Iterates<double>::project(const Projection& projection, Iterate<double>& iterate) const {
  optim::project<double>(projection, *iterate.memory);
}

}  // namespace ballast::optim
