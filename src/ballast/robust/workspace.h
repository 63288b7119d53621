#pragma once
// Scratch memory of the rules, owned by the caller and used again from call to call: after the
// first calls of a size nothing is allocated any more.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "ballast/base/aligned.h"
#include "ballast/kernels/backend.h"
#include "ballast/kernels/weights.h"

namespace ballast::robust {

class Workspace {
 public:
  // Memory for count values, uninitialised, valid until the next reset().
  template <typename T>
  std::span<T> take(std::size_t count) {
    return {reinterpret_cast<T*>(take_bytes(count * sizeof(T))), count};
  }

  // The same, every value set to `value`.
  template <typename T>
  std::span<T> take(std::size_t count, T value) {
    const std::span<T> taken = take<T>(count);
    std::fill(taken.begin(), taken.end(), value);
    return taken;
  }

  // A list of weights to assign to, valid until the next reset(). It keeps its memory.
  kernels::Weights& take_weights();

  // A vector, or a table to mix rows into, of that backend, valid until the next reset(). They keep
  // their memory, values of any kind in it.
  kernels::Vector& take_vector(const kernels::Backend& backend, std::size_t size);
  kernels::Table& take_table(const kernels::Backend& backend, std::size_t dim);

  // A table that shows the caller's rows and a vector that stands for the caller's `out`, both in
  // host memory; valid until the next call of its kind. Where the backend cannot work there, the
  // vector is one of its own and the result has to be read back.
  kernels::Table& show(const kernels::Backend& backend, kernels::RowsView rows);
  kernels::Vector& show(const kernels::Backend& backend, std::span<float> out);

  // Takes everything back. Joins what was allocated in pieces into one piece for the next time.
  void reset();

 private:
  std::byte* take_bytes(std::size_t bytes);

  std::vector<AlignedVector<std::byte>> pieces_;
  std::size_t used_ = 0;  // of the last piece
  std::deque<kernels::Weights> weights_;
  std::size_t weights_used_ = 0;
  std::vector<std::unique_ptr<kernels::Vector>> vectors_;
  std::size_t vectors_used_ = 0;
  std::vector<std::unique_ptr<kernels::Table>> tables_;
  std::size_t tables_used_ = 0;
  std::unique_ptr<kernels::Table> shown_rows_;
  std::unique_ptr<kernels::Vector> shown_out_;
};

}  // namespace ballast::robust
