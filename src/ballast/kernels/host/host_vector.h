#pragma once
// Private to kernels/: a vector in host memory, of its own or borrowed.
//
// A long combination of a table's rows that goes to memory of the vector's own is not made at once
// but owed: whoever only takes a step along it makes it stretch by stretch in the cache (debt()),
// and nobody writes and reads it, which is a third of what an average and a step cost together.
// Every look at the values makes them first, and so does the table before a row that they need goes
// away. So nothing can be told from a vector that has its values.

#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "ballast/base/aligned.h"
#include "ballast/base/check.h"
#include "ballast/kernels/host/primitives.h"
#include "ballast/kernels/vector.h"

namespace ballast::kernels::host {

class HostTable;

class HostVector final : public Vector {
 public:
  explicit HostVector(std::size_t size) : own_(size), values_(own_) {}
  explicit HostVector(std::span<float> values) : values_(values) {}
  ~HostVector() override { forget(); }

  std::size_t size() const noexcept override { return values_.size(); }
  void read(std::span<float> to) const override {
    BALLAST_CHECK(to.size() == size(), "read() needs room for every value");
    std::ranges::copy(values(), to.begin());
  }
  void write(std::span<const float> from) override {
    BALLAST_CHECK(from.size() == size(), "write() needs a value for each place");
    forget();
    std::ranges::copy(from, values_.begin());
  }
  std::span<const float> host_view() const noexcept override { return values(); }
  bool borrow(std::span<float> values) override {
    forget();
    own_ = {};
    values_ = values;
    return true;
  }

  std::span<float> values() noexcept {
    settle();
    return values_;
  }
  std::span<const float> values() const noexcept {
    settle();
    return values_;
  }

  // Memory of its own for so many values.
  void resize(std::size_t size) {
    forget();
    own_.resize(size);
    values_ = own_;
  }

  // From now on stands for this combination of the table's rows, computed with these primitives.
  // Refuses, and changes nothing, where the values would lie in memory of somebody else, who could
  // look without asking.
  bool owe(const HostTable& table, std::span<const double> coefficients,
           const std::shared_ptr<const Primitives>& primitives);

  bool owes() const noexcept { return debt_.table != nullptr; }
  // Requires: owes().
  Combination debt() const noexcept { return {{debt_.rows, size()}, debt_.coefficients}; }

  // Makes what is owed.
  void settle() const noexcept;

 private:
  struct Debt {
    const HostTable* table = nullptr;  // null: there is none
    std::vector<const float*> rows;    // where they lay then
    std::vector<double> coefficients;
    std::shared_ptr<const Primitives> primitives;
  };

  void forget() const noexcept;

  AlignedVector<float> own_;
  std::span<float> values_;
  mutable Debt debt_;
};

}  // namespace ballast::kernels::host
