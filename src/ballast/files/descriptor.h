#pragma once
// A file descriptor with an owner: of a file, a folder or a socket.

#include <unistd.h>

#include <utility>

namespace ballast::files {

class Descriptor {
 public:
  explicit Descriptor(int number = -1) noexcept : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (is_open()) ::close(number_);
  }
  bool is_open() const noexcept { return number_ >= 0; }
  int get() const noexcept { return number_; }
  int release() noexcept { return std::exchange(number_, -1); }

 private:
  int number_;
};

}  // namespace ballast::files
