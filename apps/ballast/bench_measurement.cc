#include "apps/ballast/bench_measurement.h"

namespace ballast::apps {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPoll{1};
constexpr std::chrono::seconds kStartMax{60};

}  // namespace

Result<ServeBenchResult> Measurement::run(const std::function<void()>& hang_up) {
  for (std::size_t i = 0; i < options_.workers; ++i) {
    threads_.emplace_back([this, i] {
      if (Status done = work_(i, floor_); !done) floor_.fail(std::move(done).error());
    });
  }
  const ServeBenchResult result = count();
  const bool is_ready = floor_.ready == options_.workers;
  floor_.stop = true;
  hang_up();
  for (std::thread& thread : threads_) thread.join();
  if (floor_.failure) return tl::unexpected(*std::move(floor_.failure));
  if (!is_ready) return io_error("the workers did not get to work within a minute");
  return result;
}

ServeBenchResult Measurement::count() {
  const auto give_up = Clock::now() + kStartMax;
  while (floor_.ready < options_.workers && !floor_.stop && Clock::now() < give_up) {
    std::this_thread::sleep_for(kPoll);
  }
  const std::uint64_t before = floor_.updates;
  const Clock::time_point start = Clock::now();
  const auto end = start + std::chrono::duration<double>(options_.seconds);
  while (Clock::now() < end && !floor_.stop) std::this_thread::sleep_for(kPoll);
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const double rate = static_cast<double>(floor_.updates - before) / seconds;
  return {.updates_per_second = rate,
          .bytes_per_second = rate * 2.0 * sizeof(float) * static_cast<double>(options_.dim)};
}

}  // namespace ballast::apps
