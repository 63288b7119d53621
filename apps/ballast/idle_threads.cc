#include "apps/ballast/idle_threads.h"

#include <stdlib.h>  // setenv
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

namespace ballast::apps {
namespace {

constexpr const char* kSpinCount = "GOMP_SPINCOUNT";

// The words of the command line as the kernel has them: if a loader was named to start the program,
// that comes first here, and it is what /proc/self/exe is then.
std::vector<std::string> command_line() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\0', begin);
    words.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return words;
}

}  // namespace

void let_idle_threads_sleep() {
  if (getenv(kSpinCount) != nullptr || getenv("OMP_WAIT_POLICY") != nullptr) return;
  std::vector<std::string> words = command_line();
  if (words.empty()) return;
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  setenv(kSpinCount, "0", /*overwrite=*/1);
  // By its path, from which the process has the name that `ps` shows.
  std::error_code ignored;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", ignored);
  execv(program.c_str(), arguments.data());
}

}  // namespace ballast::apps
