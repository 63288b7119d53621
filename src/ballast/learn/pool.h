#pragma once
// Things that calls need for themselves while they run and that are worth keeping: scratch memory,
// copies of a network. So one object can serve several threads.

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ballast::learn {

// Thread-safety: any number of threads; a lent thing is its borrower's alone.
template <typename T>
class Pool {
 public:
  // Gives its thing back when it is destroyed. Requires: the pool lives longer.
  class Loan {
   public:
    Loan(Pool& pool, std::unique_ptr<T> thing) : pool_(&pool), thing_(std::move(thing)) {}
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    ~Loan() { pool_->take_back(std::move(thing_)); }

    T& operator*() const noexcept { return *thing_; }
    T* operator->() const noexcept { return thing_.get(); }

   private:
    Pool* pool_;
    std::unique_ptr<T> thing_;
  };

  explicit Pool(std::function<std::unique_ptr<T>()> make) : make_(std::move(make)) {}

  // The thing that came back last, whose memory is warm in some cache; a new one if all are lent.
  // Throws what make() throws.
  Loan borrow() {
    {
      const std::scoped_lock lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<T> thing = std::move(idle_.back());
        idle_.pop_back();
        return Loan(*this, std::move(thing));
      }
    }
    return Loan(*this, make_());
  }

 private:
  void take_back(std::unique_ptr<T> thing) {
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(thing));
  }

  std::function<std::unique_ptr<T>()> make_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace ballast::learn
