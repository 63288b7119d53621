#include "ballast/service/child_process.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

namespace ballast::service {
namespace {

constexpr int kExecFailed = 127;  // as shells say
constexpr std::chrono::milliseconds kPoll{10};

void redirect(const char* path, int descriptor) {
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) _exit(kExecFailed);
  ::dup2(file, descriptor);
}

// Between fork() and exec() only what is safe there: no allocation, no locks.
[[noreturn]] void become(char* const* arguments, const char* output, const char* log,
                         pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) _exit(kExecFailed);  // it died before it could be watched
  redirect(output, STDOUT_FILENO);
  redirect(log, STDERR_FILENO);
  ::execv(arguments[0], arguments);
  _exit(kExecFailed);
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

std::string or_nowhere(const std::filesystem::path& path) {
  return path.empty() ? std::string("/dev/null") : path.string();
}

}  // namespace

Result<ChildProcess> ChildProcess::start(const ChildOptions& options) {
  std::vector<std::string> words = options.command;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string output = or_nowhere(options.output), log = or_nowhere(options.log);
  const pid_t parent = ::getpid();
  const pid_t id = ::fork();
  if (id < 0) {
    return io_error(fmt::format("cannot start {}: {}", words[0], std::strerror(errno)));
  }
  if (id == 0) become(arguments.data(), output.c_str(), log.c_str(), parent);
  return ChildProcess(id);
}

ChildProcess::~ChildProcess() {
  if (id_ < 0 || exit_code()) return;
  send(SIGKILL);
  wait(std::chrono::milliseconds(0));
}

std::optional<int> ChildProcess::exit_code() {
  int status = 0;
  if (!code_ && ::waitpid(id_, &status, WNOHANG) == id_) code_ = code_of(status);
  return code_;
}

void ChildProcess::terminate() { send(SIGTERM); }

void ChildProcess::send(int signal) {
  if (!exit_code()) ::kill(id_, signal);
}

int ChildProcess::wait(std::chrono::milliseconds time_max) {
  const auto end = std::chrono::steady_clock::now() + time_max;
  while (!exit_code() && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kPoll);
  if (exit_code()) return *code_;
  send(SIGKILL);
  int status = 0;
  if (::waitpid(id_, &status, 0) == id_) code_ = code_of(status);
  return code_.value_or(128 + SIGKILL);
}

}  // namespace ballast::service
