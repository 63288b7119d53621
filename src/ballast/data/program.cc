#include "ballast/data/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "ballast/base/check.h"

namespace ballast::data {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kReadBytes = 4096;
constexpr std::size_t kPipeBytes = 1 << 16;         // what a pipe holds
constexpr std::size_t kOutputBytesMax = 300;        // of the last output, for the error message
constexpr std::chrono::milliseconds kPatience{20};  // between two looks at the child

class FileDescriptor {
 public:
  explicit FileDescriptor(int number) noexcept : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() { close(); }

  int number() const noexcept { return number_; }
  void close() noexcept {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_;
};

class SpawnActions {
 public:
  SpawnActions() noexcept { posix_spawn_file_actions_init(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  posix_spawn_file_actions_t* get() noexcept { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

Result<pid_t> spawn(const ProgramCall& call, int output) {
  SpawnActions actions;
  posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(actions.get(), output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(actions.get(), output, STDERR_FILENO);
  if (!call.folder.empty()) {
    posix_spawn_file_actions_addchdir_np(actions.get(), call.folder.c_str());
  }
  std::vector<char*> arguments;
  for (const std::string& argument : call.arguments) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  pid_t child = -1;
  const int failure =
      posix_spawnp(&child, arguments[0], actions.get(), nullptr, arguments.data(), environ);
  if (failure == ENOENT) return not_found(fmt::format("{} is not installed", call.arguments[0]));
  if (failure != 0) {
    return io_error(fmt::format("{} cannot be run: {}", call.arguments[0], std::strerror(failure)));
  }
  return child;
}

// Takes over what the child wrote within the patience, keeping the end of it; false when that was
// nothing.
bool listen(FileDescriptor& pipe, std::string& output, std::chrono::milliseconds patience) {
  // poll() passes over a closed descriptor and just waits.
  pollfd watched{.fd = pipe.number(), .events = POLLIN, .revents = 0};
  if (poll(&watched, 1, static_cast<int>(patience.count())) <= 0) return false;
  std::array<char, kReadBytes> buffer;
  const ssize_t got = read(pipe.number(), buffer.data(), buffer.size());
  if (got == 0) pipe.close();
  if (got <= 0) return false;
  output.append(buffer.data(), static_cast<std::size_t>(got));
  if (output.size() > kOutputBytesMax) output.erase(0, output.size() - kOutputBytesMax);
  return true;
}

// Takes over what is left in the pipe of a child that has ended. Bounded, because a child of its
// own may have inherited the pipe and write on.
void listen_to_the_rest(FileDescriptor& pipe, std::string& output) {
  for (std::size_t i = 0; i < kPipeBytes / kReadBytes && listen(pipe, output, {}); ++i) continue;
}

// The output as one line.
std::string last_words(std::string output) {
  std::replace(output.begin(), output.end(), '\n', ' ');
  const std::size_t end = output.find_last_not_of(' ');
  output.resize(end == std::string::npos ? 0 : end + 1);
  return output.empty() ? "it printed nothing" : output;
}

Status judge(const std::string& program, int wait_status, const std::string& output) {
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) return {};
  const std::string how = WIFEXITED(wait_status)
                              ? fmt::format("exit status {}", WEXITSTATUS(wait_status))
                              : fmt::format("signal {}", WTERMSIG(wait_status));
  return io_error(fmt::format("{} failed with {}: {}", program, how, last_words(output)));
}

Status watch(const ProgramCall& call, pid_t child, FileDescriptor pipe) {
  const Clock::time_point deadline = Clock::now() + call.time_limit;
  std::string output;
  while (true) {
    listen(pipe, output, kPatience);
    int wait_status = 0;
    const pid_t ended = waitpid(child, &wait_status, WNOHANG);
    if (ended == child) {
      listen_to_the_rest(pipe, output);
      return judge(call.arguments[0], wait_status, output);
    }
    if (ended < 0 && errno != EINTR) {
      return io_error(fmt::format("{} was lost: {}", call.arguments[0], std::strerror(errno)));
    }
    if (Clock::now() >= deadline) break;
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return io_error(fmt::format("{} did not finish within {} s: {}", call.arguments[0],
                              std::chrono::duration<double>(call.time_limit).count(),
                              last_words(output)));
}

}  // namespace

Status run_program(const ProgramCall& call) {
  BALLAST_CHECK(!call.arguments.empty(), "a program without a name");
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) {
    return io_error(fmt::format("no pipe for {}: {}", call.arguments[0], std::strerror(errno)));
  }
  FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  BALLAST_TRY(const pid_t child, spawn(call, write_end.number()));
  write_end.close();
  return watch(call, child, std::move(read_end));
}

bool is_superuser() noexcept { return geteuid() == 0; }

}  // namespace ballast::data
