#pragma once
// How far a long job is, on standard error.
//
// On a terminal one line is redrawn in place, at most ten times a second; into a file or a pipe
// goes a plain line at each tenth of the work.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>

namespace ballast::apps {

// What a progress line says.
struct ProgressState {
  std::string text = {};  // what is being done, such as the name of a run
  std::string unit = "updates";
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  std::uint64_t resumed = 0;  // of done, what was there before the start and so took no time
  std::chrono::duration<double> elapsed{};
};

// "[####......]  43 %  1234/2800 updates  412/s  0:00:38 left  text", without a line feed. Bar and
// per cent are rounded down, so that only what is done looks done; the rate and the time left, or
// at the end the time it took, appear once something was done.
std::string progress_line(const ProgressState& state);

// The line cut to `columns` characters of a terminal, never within a character.
std::string cut_to_columns(const std::string& line, std::size_t columns);

// Thread-safety: all members may be called from any thread.
class Progress {
 public:
  // Draws to `stream`, which outlives this object; standard error in the program.
  Progress(std::uint64_t total, std::string unit, std::FILE* stream = stderr);
  ~Progress();  // ends the line, as finish() does
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Counts work that was done in an earlier run of the program.
  void resume(std::uint64_t count);
  void add(std::uint64_t count);
  void set_text(std::string text);

  // Draws the last state and ends the line. Later calls draw nothing.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void draw_if_due();
  void draw();
  std::size_t columns() const;

  std::mutex mutex_;
  ProgressState state_;
  std::FILE* stream_;
  bool is_terminal_;
  bool is_finished_ = false;
  Clock::time_point start_;
  Clock::time_point last_drawn_;
  std::uint64_t tenths_printed_ = 0;
};

}  // namespace ballast::apps
