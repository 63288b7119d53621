// How fast the rules are on a CUDA device whose memory holds the rows: what `ballast bench`
// measures, but new rows come from the device's memory and nothing goes over the bus but facts.
//
// gpu_bench ROWS DIM RULE...: one JSON object per line and mode. Every time is the host's, from the
// call to the moment at which the device has finished; the lower quartile.

#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/robust/aggregate.h"
#include "ballast/robust/registry.h"
#include "ballast/robust/row_table.h"

namespace ballast {
namespace {

constexpr int kWarmUpCalls = 5;
constexpr int kCallsMin = 11;
constexpr double kMeasureMs = 250.0;
constexpr std::size_t kPool = std::size_t{1} << 22;
constexpr std::size_t kBlock = std::size_t{1} << 20;

void must(cudaError_t error) {
  if (error == cudaSuccess) return;
  fmt::print(stderr, "gpu_bench: {}\n", cudaGetErrorString(error));
  std::exit(1);
}

double now_ms() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double, std::milli>(since).count();
}

// Values in the device's memory.
class Values {
 public:
  explicit Values(std::size_t size) : size_(size) {
    void* memory = nullptr;
    must(cudaMalloc(&memory, size * sizeof(float)));
    values_ = static_cast<float*>(memory);
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  ~Values() { cudaFree(values_); }
  std::span<float> span() const { return {values_, size_}; }

 private:
  float* values_ = nullptr;
  std::size_t size_;
};

void copy(std::span<const float> from, const Values& to) {
  must(cudaMemcpy(to.span().data(), from.data(), from.size_bytes(), cudaMemcpyDefault));
  must(cudaDeviceSynchronize());
}

// Normal rows, and new ones for old: pieces of a pool of normal values, from random places.
class Workload {
 public:
  Workload(const kernels::Backend& backend, std::size_t rows, std::size_t dim)
      : backend_(backend), dim_(dim), pool_(kPool), noise_(dim), next_(dim), rng_(1) {
    std::vector<float> normal(kPool);
    for (float& value : normal) value = static_cast<float>(rng_.normal());
    must(cudaMemcpy(pool_.span().data(), normal.data(), kPool * sizeof(float), cudaMemcpyDefault));
    for (std::size_t i = 0; i < rows; ++i)
      counts_.push_back(100.0 * static_cast<double>(i + 1) + 1);
    next_vector_ = backend.make_vector(0);
    next_vector_->borrow(next_.span());
    pair_ = backend.make_table(dim);
  }

  std::span<const float> normal_row() {
    for (std::size_t start = 0; start < dim_; start += kBlock) {
      const std::size_t size = std::min(kBlock, dim_ - start);
      must(cudaMemcpy(noise_.span().data() + start, pool_.span().data() + rng_.below(kPool - size),
                      size * sizeof(float), cudaMemcpyDefault));
    }
    must(cudaDeviceSynchronize());
    return noise_.span();
  }

  // keep * row + add * noise.
  std::span<const float> moved_row(std::span<const float> row, double keep, double add) {
    const std::span<const float> noise = normal_row();
    const float* const both[] = {row.data(), noise.data()};
    pair_->borrow({both, dim_});
    const double coefficients[] = {keep, add};
    backend_.combine(*pair_, coefficients, *next_vector_);
    backend_.finish();
    return next_.span();
  }

  std::vector<double>& counts() { return counts_; }

 private:
  const kernels::Backend& backend_;
  std::size_t dim_;
  Values pool_, noise_, next_;
  Rng rng_;
  std::vector<double> counts_;
  std::unique_ptr<kernels::Vector> next_vector_;
  std::unique_ptr<kernels::Table> pair_;
};

template <typename Prepare, typename Call>
double lower_quartile_ms(const kernels::Backend& backend, const Prepare& prepare,
                         const Call& call) {
  std::vector<double> times;
  const double begin = now_ms();
  for (int calls = 0;
       calls < kWarmUpCalls + kCallsMin || (now_ms() - begin < kMeasureMs && times.size() < 200);
       ++calls) {
    prepare();
    backend.finish();
    const double start = now_ms();
    call();
    backend.finish();
    if (calls >= kWarmUpCalls) times.push_back(now_ms() - start);
  }
  std::ranges::sort(times);
  return times[times.size() / 4];
}

void print(const std::string& rule, const char* mode, std::size_t rows, std::size_t dim,
           double ms) {
  fmt::print(
      "{{\"rule\": \"{}\", \"mode\": \"{}\", \"rows\": {}, \"dim\": {}, \"ms\": {:.4f}, "
      "\"table_gb_per_s\": {:.0f}}}\n",
      rule, mode, rows, dim, ms, static_cast<double>(rows * dim) * 4e-6 / ms);
  std::fflush(stdout);
}

void bench_full(const std::string& text, const std::shared_ptr<const kernels::Backend>& backend,
                std::size_t rows, std::size_t dim) {
  Workload work(*backend, rows, dim);
  const auto table = backend->make_table(dim);
  for (std::size_t i = 0; i < rows; ++i) (void)table->insert(i, {.values = work.normal_row()});
  const auto out = backend->make_vector(dim);
  const auto rule = robust::parse_rule(text).value();
  const kernels::Weights weights = *kernels::Weights::make(work.counts());
  robust::Workspace workspace;
  robust::Report report;
  const double ms = lower_quartile_ms(
      *backend, [] {},
      [&] {
        robust::aggregate_unchecked(*rule, *table, weights, *out, *backend, workspace, {}, report);
      });
  print(rule->text(), "full", rows, dim, ms);
}

void bench_incremental(const std::string& text,
                       const std::shared_ptr<const kernels::Backend>& backend, std::size_t rows,
                       std::size_t dim) {
  Workload work(*backend, rows, dim);
  robust::RowTable table(robust::parse_rule(text).value(), backend, rows, dim);
  std::vector<std::unique_ptr<Values>> current;  // what the table holds
  for (std::size_t i = 0; i < rows; ++i) {
    current.push_back(std::make_unique<Values>(dim));
    copy(work.normal_row(), *current[i]);
    (void)table.put(i, current[i]->span(), work.counts()[i]);
  }
  (void)table.aggregate();
  std::size_t calls = 0;
  for (const bool is_noisy : {true, false}) {
    std::size_t row = 0;
    double put_ms = 0.0;
    const double ms = lower_quartile_ms(
        *backend,
        [&] {
          row = calls++ % rows;
          work.counts()[row] += 1.0;
          copy(work.moved_row(current[row]->span(), is_noisy ? 0.75 : 1.0, is_noisy ? 0.66 : 0.01),
               *current[row]);
        },
        [&] {
          const double start = now_ms();
          (void)table.put(row, current[row]->span(), work.counts()[row]);
          backend->finish();
          put_ms = now_ms() - start;
          (void)table.aggregate();
        });
    print(text, is_noisy ? "noisy" : "settled", rows, dim, ms);
    print(text, is_noisy ? "noisy, of which put" : "settled, of which put", rows, dim, put_ms);
  }
}

int run(int count, char** arguments) {
  if (count < 4) {
    fmt::print(stderr, "usage: gpu_bench ROWS DIM RULE...\n");
    return 2;
  }
  auto made = kernels::make_cuda_backend();
  if (!made) {
    fmt::print(stderr, "gpu_bench: {}\n", made.error().message);
    return 1;
  }
  const std::shared_ptr<const kernels::Backend> backend = *std::move(made);
  const std::size_t rows = std::strtoul(arguments[1], nullptr, 10);
  const std::size_t dim = std::strtoul(arguments[2], nullptr, 10);
  for (int i = 3; i < count; ++i) {
    bench_full(arguments[i], backend, rows, dim);
    bench_incremental(arguments[i], backend, rows, dim);
  }
  return 0;
}

}  // namespace
}  // namespace ballast

int main(int count, char** arguments) { return ballast::run(count, arguments); }
