#pragma once
// Runs another program: no shell in between, a time limit on it, and its last words in the error.

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::data {

struct ProgramCall {
  std::vector<std::string> arguments;  // the first is the program, looked up on the PATH
  std::filesystem::path folder = {};   // where it runs; the current folder when empty
  std::chrono::milliseconds time_limit = std::chrono::minutes(10);
};

// Waits for the program; it reads nothing, and what it prints is kept only for the error message.
// Succeeds when the program exits with status 0. A program over its time limit is killed.
//
// Requires: at least one argument.
Status run_program(const ProgramCall& call);

// Whether this process has all rights.
bool is_superuser() noexcept;

// run_program, or what a test puts in its place.
using ProgramRunner = std::function<Status(const ProgramCall&)>;

}  // namespace ballast::data
