#pragma once
// Private to optim/: the vectors of an optimizer and the arithmetic on them. An iterate of floats
// is a vector of a backend and is stepped where that keeps it; its readers share a host vector. In
// host memory the two are one memory, so publishing a model copies nothing; from a device it is
// read back when somebody asks. Iterates of doubles, for checks against the theory, are plain
// vectors.

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "ballast/kernels/backend.h"
#include "ballast/optim/projection.h"
#include "ballast/optim/vector_pool.h"

namespace ballast::optim {

template <typename Real>
struct Iterate;

template <>
struct Iterate<float> {
  std::unique_ptr<kernels::Vector> vector;
  std::shared_ptr<std::vector<float>> memory;              // of the vector; null on a device
  mutable std::shared_ptr<const std::vector<float>> host;  // what readers share; null until asked
};

template <>
struct Iterate<double> {
  std::shared_ptr<std::vector<double>> memory;
  std::shared_ptr<const std::vector<double>> host;  // the same
};

// All steps write every value of `next` and return whether the results are finite; backend.h states
// them. Requires: nobody reads `next`.
template <typename Real>
class Iterates;

template <>
class Iterates<float> {
 public:
  // No backend: the CPU, with one thread.
  Iterates(std::shared_ptr<const kernels::Backend> backend, std::size_t dim);

  Iterate<float> make(std::vector<float> values);

  // One with values of any kind, in memory that was used before if there is some.
  Iterate<float> take();
  void give_back(Iterate<float> iterate);

  const std::shared_ptr<const std::vector<float>>& host(const Iterate<float>& iterate) const;
  void read(const Iterate<float>& iterate, std::span<float> to) const { iterate.vector->read(to); }

  // The direction as a vector of the backend, until the next call; copied only where the backend
  // cannot read it in its place.
  const kernels::Vector& direction(std::span<const float> values);
  const kernels::Vector& direction(const kernels::Vector& vector);

  bool descend(const Iterate<float>& w, const kernels::Vector& direction, double rate,
               Iterate<float>& next) const;
  bool average(const Iterate<float>& newest, const Iterate<float>& before, double share,
               Iterate<float>& next) const;
  bool descend_and_average(const Iterate<float>& w, const kernels::Vector& direction, double rate,
                           const Iterate<float>& x, double share, Iterate<float>& next_w,
                           Iterate<float>& next_x) const;

  // In host memory, also where the iterate is on a device: sets are for checks of the theory.
  void project(const Projection& projection, Iterate<float>& iterate);

 private:
  Iterate<float> stand_for(const std::shared_ptr<std::vector<float>>& memory);

  std::shared_ptr<const kernels::Backend> backend_;
  std::size_t dim_;
  mutable VectorPool<float> pool_;  // of what readers share
  std::vector<std::unique_ptr<kernels::Vector>> given_back_;
  std::unique_ptr<kernels::Vector> direction_;
  std::vector<float> foreign_;  // a direction read back from another device
};

template <>
class Iterates<double> {
 public:
  Iterates(const std::shared_ptr<const kernels::Backend>&, std::size_t dim)
      : dim_(dim), pool_(dim) {}

  Iterate<double> make(std::vector<double> values);
  Iterate<double> take();
  void give_back(const Iterate<double>&) {}
  const std::shared_ptr<const std::vector<double>>& host(const Iterate<double>& iterate) const {
    return iterate.host;
  }
  void read(const Iterate<double>& iterate, std::span<double> to) const {
    std::ranges::copy(*iterate.host, to.begin());
  }

  std::span<const double> direction(std::span<const double> values) const;
  std::span<const double> direction(const kernels::Vector& vector);

  bool descend(const Iterate<double>& w, std::span<const double> direction, double rate,
               Iterate<double>& next) const;
  bool average(const Iterate<double>& newest, const Iterate<double>& before, double share,
               Iterate<double>& next) const;
  bool descend_and_average(const Iterate<double>& w, std::span<const double> direction, double rate,
                           const Iterate<double>& x, double share, Iterate<double>& next_w,
                           Iterate<double>& next_x) const;
  void project(const Projection& projection, Iterate<double>& iterate) const;

 private:
  std::size_t dim_;
  VectorPool<double> pool_;
  std::vector<double> direction_;
};

}  // namespace ballast::optim
