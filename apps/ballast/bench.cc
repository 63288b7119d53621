#include "apps/ballast/bench.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <vector>

#include "ballast/base/aligned.h"
#include "ballast/base/rng.h"
#include "ballast/kernels/peak.h"
#include "ballast/robust/aggregate.h"
#include "ballast/robust/registry.h"
#include "ballast/robust/row_table.h"

namespace ballast::apps {
namespace {

constexpr int kStreamReads = 7;

double now_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since).count();
}

double lower_quartile(std::vector<double> times) {
  std::ranges::sort(times);
  return times[times.size() / 4];
}

// A table of normal rows with counts as after many updates that arrive in proportion to the row's
// number, and an endless supply of noise.
class Workload {
 public:
  explicit Workload(const BenchSize& size)
      : size_(size), values_(size.rows * size.dim), noise_(2 * size.dim), rng_(1) {
    for (float& value : values_) value = static_cast<float>(rng_.normal());
    for (float& value : noise_) value = static_cast<float>(rng_.normal());
    for (std::size_t i = 0; i < size.rows; ++i) {
      pointers_.push_back(values_.data() + i * size.dim);
      counts_.push_back(100.0 * static_cast<double>(i + 1));
    }
  }

  std::span<float> row(std::size_t i) {
    return std::span<float>(values_).subspan(i * size_.dim, size_.dim);
  }
  kernels::RowsView view() const { return {pointers_, size_.dim}; }
  std::span<const double> counts() const { return counts_; }

  // Replaces the next row's values by a move of the given kind and counts the update.
  std::size_t move_next_row(BenchMode mode) {
    const std::size_t row = next_++ % size_.rows;
    const float keep = mode == BenchMode::kNoisy ? 0.75f : 1.0f;
    const float add = mode == BenchMode::kNoisy ? 0.66f : 0.01f;
    const float* noise = noise_.data() + rng_.below(size_.dim);
    float* values = values_.data() + row * size_.dim;
    for (std::size_t j = 0; j < size_.dim; ++j) values[j] = keep * values[j] + add * noise[j];
    counts_[row] += 1.0;
    return row;
  }

 private:
  BenchSize size_;
  AlignedVector<float> values_;
  AlignedVector<float> noise_;
  std::vector<const float*> pointers_;
  std::vector<double> counts_;
  Rng rng_;
  std::size_t next_ = 0;
};

// Reads the whole table, as fast as this machine can. In host memory the finiteness check is a read
// and a maximum; a device is asked but once, for the norms of all rows.
void read_all(const kernels::Table& table, const kernels::Backend& backend,
              std::span<double> norms) {
  if (table.host_row(0).empty()) return backend.squared_distances(table, nullptr, norms);
  for (std::size_t i = 0; i < table.row_count(); ++i) {
    if (!backend.all_finite(table, i)) return;
  }
}

void time_reads(const Workload& work, const kernels::Backend& backend, std::vector<double>& times) {
  const auto table = backend.make_table(work.view().dim());
  table->borrow(work.view());
  std::vector<double> norms(table->row_count());
  for (int read = 0; read < kStreamReads; ++read) {
    const double start = now_ms();
    read_all(*table, backend, norms);
    times.push_back(now_ms() - start);
  }
}

// Calls until there are enough times. `call` returns its own duration.
template <typename Call>
std::vector<double> repeat(const BenchEffort& effort, const Call& call) {
  const double begin = now_ms();
  for (int warm_up = 0; warm_up < effort.warm_up_calls; ++warm_up) {
    call();
    if (now_ms() - begin > effort.time_ms_max) break;
  }
  std::vector<double> times;
  const double start = now_ms();
  do {
    times.push_back(call());
    if (now_ms() - start > effort.time_ms_max) break;
  } while (std::ssize(times) < effort.calls_min || now_ms() - start < effort.measure_ms);
  return times;
}

// Takes in one row and aggregates all, remembering nothing from before: what one update costs
// without a RowTable.
std::vector<double> time_full(const robust::Rule& rule, Workload& work,
                              const kernels::Backend& backend, const BenchSize& size,
                              const BenchEffort& effort) {
  robust::Workspace workspace;
  robust::Report report;
  const kernels::Weights weights = *kernels::Weights::make(work.counts());
  const auto table = backend.make_table(size.dim);
  const auto out = backend.make_vector(size.dim);
  for (std::size_t i = 0; i < size.rows; ++i) table->insert(i, {work.row(i)});
  std::size_t calls = 0;
  return repeat(effort, [&] {
    const std::size_t row = calls++ % size.rows;
    const double start = now_ms();
    if (!table->put(row, {work.row(row)})) return 0.0;
    robust::aggregate_unchecked(rule, *table, weights, *out, backend, workspace, {}, report);
    backend.finish();
    return now_ms() - start;
  });
}

Result<std::vector<double>> time_incremental(robust::RulePointer rule, BenchMode mode,
                                             Workload& work,
                                             const std::shared_ptr<const kernels::Backend>& backend,
                                             const BenchSize& size, const BenchEffort& effort) {
  robust::RowTable table(std::move(rule), backend, size.rows, size.dim);
  for (std::size_t i = 0; i < size.rows; ++i) {
    BALLAST_TRY_STATUS(table.put(i, work.view().row(i), work.counts()[i]));
  }
  BALLAST_TRY_STATUS(table.aggregate());
  return repeat(effort, [&] {
    const std::size_t row = work.move_next_row(mode);
    const double start = now_ms();
    const bool is_done = table.put(row, work.view().row(row), work.counts()[row]).has_value() &&
                         table.aggregate().has_value();
    backend->finish();
    return is_done ? now_ms() - start : 0.0;
  });
}

}  // namespace

std::string_view to_string(BenchMode mode) noexcept {
  switch (mode) {
    case BenchMode::kFull:
      return "full";
    case BenchMode::kNoisy:
      return "noisy";
    case BenchMode::kSettled:
      return "settled";
  }
  return "";
}

Result<BenchResult> bench_rule(std::string_view text, BenchMode mode, const BenchSize& size,
                               const BenchEffort& effort) {
  BALLAST_TRY(robust::RulePointer rule, robust::parse_rule(text));
  BALLAST_TRY_STATUS(rule->check_row_count(size.rows));
  BALLAST_TRY(const std::shared_ptr<const kernels::Backend> backend,
              kernels::make_backend(size.device, size.threads));
  Workload work(size);
  std::vector<double> reads, calls;
  time_reads(work, *backend, reads);
  reads.clear();  // the first reads only warm up
  time_reads(work, *backend, reads);
  if (mode == BenchMode::kFull) {
    calls = time_full(*rule, work, *backend, size, effort);
  } else {
    BALLAST_TRY(calls, time_incremental(std::move(rule), mode, work, backend, size, effort));
  }
  time_reads(work, *backend, reads);
  return BenchResult{lower_quartile(calls), lower_quartile(reads)};
}

double products_work(const BenchSize& size) noexcept {
  const auto rows = static_cast<double>(size.rows);
  return rows * (rows + 1.0) / 2.0 * static_cast<double>(size.dim);
}

ProductsResult bench_products(const BenchSize& size) {
  const auto backend = kernels::make_cpu_backend(size.threads);
  const Workload work(size);
  const auto table = backend->make_table(size.dim);
  table->borrow(work.view());
  std::vector<double> products(size.rows * size.rows);
  const double peak_before = kernels::measure_peak(size.threads);
  const double ms = lower_quartile(repeat(kQuickEffort, [&] {
    const double start = now_ms();
    backend->inner_products(*table, 0, size.rows, nullptr, products);
    return now_ms() - start;
  }));
  const double peak = std::max(peak_before, kernels::measure_peak(size.threads));
  return {.ms = ms, .rate = products_work(size) / (ms / 1000.0), .peak = peak};
}

}  // namespace ballast::apps
