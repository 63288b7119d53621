#pragma once
// A program that is started, watched and ended by this one, and dies with it.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::service {

struct ChildOptions {
  std::vector<std::string> command;   // the program's path and its arguments
  std::filesystem::path output = {};  // where its standard output goes; empty: nowhere
  std::filesystem::path log = {};     // and its standard error
};

// Thread-safety: none. The thread that starts a child must outlive it: the operating system takes
// the end of that thread for the end of the parent.
class ChildProcess {
 public:
  static Result<ChildProcess> start(const ChildOptions& options);

  ChildProcess(ChildProcess&& other) noexcept
      : id_(std::exchange(other.id_, -1)), code_(other.code_) {}
  ChildProcess& operator=(ChildProcess&&) = delete;
  ~ChildProcess();  // kills it, if it still runs

  // Its exit code once it has ended, 128 and the signal's number if a signal ended it.
  std::optional<int> exit_code();

  // Asks it to end (SIGTERM), unless it has ended.
  void terminate();

  // Waits for its end; after so long it is killed.
  int wait(std::chrono::milliseconds time_max);

 private:
  explicit ChildProcess(pid_t id) noexcept : id_(id) {}
  void send(int signal);

  pid_t id_;  // -1: moved from
  std::optional<int> code_;
};

}  // namespace ballast::service
