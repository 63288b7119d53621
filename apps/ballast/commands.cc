#include "apps/ballast/commands.h"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace ballast::apps {
namespace {

std::string_view without_indent(std::string_view line) {
  const std::size_t start = line.find_first_not_of(' ');
  return start == std::string_view::npos ? std::string_view() : line.substr(start);
}

}  // namespace

// A message that points into a text has three lines: what is wrong, the text, and a caret. The
// caret is for eyes; logs and scripts get the first two in one line.
void print_error(const std::string& message) {
  const std::size_t first_end = message.find('\n');
  if (first_end == std::string::npos || isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "ballast: {}\n", message);
    return;
  }
  const std::string_view all = message;
  const std::size_t second_end = message.find('\n', first_end + 1);
  const auto text = without_indent(all.substr(first_end + 1, second_end - first_end - 1));
  fmt::print(stderr, "ballast: {}{}{}\n", all.substr(0, first_end), text.empty() ? "" : ": ", text);
}

Status print(const std::string& text) {
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (is_written && std::fflush(stdout) == 0) return {};
  return io_error("cannot write to standard output");
}

}  // namespace ballast::apps
