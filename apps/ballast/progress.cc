#include "apps/ballast/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast::apps {
namespace {

constexpr std::uint64_t kBarCells = 24;
constexpr std::size_t kColumnsUnknown = 100;  // where the terminal does not tell its width
constexpr std::chrono::milliseconds kRedrawPause{100};
constexpr double kSecondsShownMax = 360'000.0;  // a hundred hours; beyond that nobody waits

// Scaled without overflow and rounded down, so that only a finished job looks finished.
std::uint64_t part_of(std::uint64_t whole, std::uint64_t done, std::uint64_t total) {
  if (total == 0 || done >= total) return whole;
  const double share = static_cast<double>(done) / static_cast<double>(total);
  return std::min(whole - 1, static_cast<std::uint64_t>(share * static_cast<double>(whole)));
}

std::string clock_text(double seconds) {
  if (!(seconds < kSecondsShownMax)) return "more than 100 h";
  const auto whole = static_cast<std::uint64_t>(std::ceil(seconds));
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string rate_text(double rate) {
  return rate < 10.0 ? fmt::format("{:.1f}/s", rate) : fmt::format("{:.0f}/s", rate);
}

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

std::string without_control_characters(std::string text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  std::ranges::replace_if(text, is_control, '?');
  return text;
}

}  // namespace

std::string progress_line(const ProgressState& state) {
  const std::uint64_t cells = part_of(kBarCells, state.done, state.total);
  std::string line =
      fmt::format("[{:#<{}}{:.<{}}] {:3} %  {}/{} {}", "", cells, "", kBarCells - cells,
                  part_of(100, state.done, state.total), state.done, state.total, state.unit);
  const double seconds = state.elapsed.count();
  const auto worked = static_cast<double>(state.done - std::min(state.resumed, state.done));
  if (worked > 0.0 && seconds > 0.0) {
    const double rate = worked / seconds;
    line += "  " + rate_text(rate);
    if (state.done < state.total) {
      const auto left = static_cast<double>(state.total - state.done);
      line += fmt::format("  {} left", clock_text(left / rate));
    } else {
      line += fmt::format("  {}", clock_text(seconds));
    }
  }
  if (!state.text.empty()) line += "  " + without_control_characters(state.text);
  return line;
}

std::string cut_to_columns(const std::string& line, std::size_t columns) {
  std::size_t end = 0;
  for (; end < line.size(); ++end) {
    if (is_continuation(line[end])) continue;
    if (columns == 0) break;
    --columns;
  }
  return line.substr(0, end);
}

Progress::Progress(std::uint64_t total, std::string unit, std::FILE* stream)
    : state_{.unit = std::move(unit), .total = total},
      stream_(stream),
      is_terminal_(::isatty(::fileno(stream)) != 0),
      start_(Clock::now()),
      last_drawn_(start_ - kRedrawPause) {}

Progress::~Progress() { finish(); }

void Progress::resume(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  state_.resumed += count;
  state_.done += count;
  tenths_printed_ = part_of(10, state_.done, state_.total);
}

void Progress::add(std::uint64_t count) {
  const std::lock_guard lock(mutex_);
  state_.done += count;
  draw_if_due();
}

void Progress::set_text(std::string text) {
  const std::lock_guard lock(mutex_);
  state_.text = std::move(text);
  if (is_terminal_) draw_if_due();
}

void Progress::finish() {
  const std::lock_guard lock(mutex_);
  if (is_finished_) return;
  if (is_terminal_) {
    draw();
    std::fputc('\n', stream_);
    std::fflush(stream_);
  } else if (part_of(10, state_.done, state_.total) > tenths_printed_) {
    draw();
  }
  is_finished_ = true;
}

void Progress::draw_if_due() {
  if (is_finished_) return;
  const Clock::time_point now = Clock::now();
  const std::uint64_t tenths = part_of(10, state_.done, state_.total);
  const bool is_due = is_terminal_ ? now - last_drawn_ >= kRedrawPause : tenths > tenths_printed_;
  if (!is_due) return;
  last_drawn_ = now;
  tenths_printed_ = tenths;
  draw();
}

void Progress::draw() {
  state_.elapsed = Clock::now() - start_;
  const std::string line = progress_line(state_);
  // On a terminal: back to the first column, the line, and clear what a longer one left behind.
  // A stream that is gone is no reason to stop the work, so nothing is checked.
  const std::string drawn =
      is_terminal_ ? "\r" + cut_to_columns(line, columns()) + "\x1B[K" : line + "\n";
  std::fputs(drawn.c_str(), stream_);
  std::fflush(stream_);
}

std::size_t Progress::columns() const {
  winsize size{};
  const bool is_known = ::ioctl(::fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? std::size_t{size.ws_col} - 1 : kColumnsUnknown;
}

}  // namespace ballast::apps
