#pragma once
// Private to optim/: vectors of one size that are shared out and come back when their last owner,
// on whatever thread, lets go. A model that is published with every step then takes memory that was
// used before; fresh memory costs more, page by page, than the step itself.
//
// Thread-safety: take() by one thread at a time; owners anywhere. They may outlive the pool.

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ballast::optim {

template <typename Real>
class VectorPool {
 public:
  explicit VectorPool(std::size_t size) : size_(size), shelf_(std::make_shared<Shelf>()) {}

  // A vector of the pool's size that nobody else holds, with values of any kind.
  std::shared_ptr<std::vector<Real>> take() {
    auto vector = shelf_->get();
    if (!vector) vector = std::make_unique<std::vector<Real>>(size_);
    return {vector.release(), [shelf = shelf_](std::vector<Real>* returned) {
              shelf->put(std::unique_ptr<std::vector<Real>>(returned));
            }};
  }

 private:
  // Two, because one comes back while the next is being written.
  static constexpr std::size_t kShelvedMax = 2;

  class Shelf {
   public:
    Shelf() { vectors_.reserve(kShelvedMax); }

    std::unique_ptr<std::vector<Real>> get() {
      const std::lock_guard lock(mutex_);
      if (vectors_.empty()) return nullptr;
      auto vector = std::move(vectors_.back());
      vectors_.pop_back();
      return vector;
    }

    // What finds no place is freed, after the lock.
    void put(std::unique_ptr<std::vector<Real>> vector) {
      const std::lock_guard lock(mutex_);
      if (vectors_.size() < kShelvedMax) vectors_.push_back(std::move(vector));
    }

   private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<std::vector<Real>>> vectors_;
  };

  std::size_t size_;
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace ballast::optim
