#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/ballast/bench_train.h"
#include "apps/ballast/commands.h"

namespace ballast::apps {
namespace {

using assembly::Engine;
using assembly::Optimizer;

struct Flags {
  std::uint64_t updates = 300;
  std::size_t threads_max = 2;
  std::string instructions = "best";
  bool as_json = false;
};

struct Setting {
  const char* data;
  std::uint64_t batch;
};

// The paper's two: its batch sizes, and 9 or 17 workers.
constexpr Setting kSettings[] = {{"mnist", 16}, {"cifar10", 8}};
constexpr std::uint64_t kWorkers[] = {9, 17};
constexpr std::pair<Optimizer, const char*> kOptimizers[] = {
    {Optimizer::kMu2, "mu2"}, {Optimizer::kMomentum, "momentum"}, {Optimizer::kSgd, "sgd"}};
constexpr const char* kRules[] = {"gm", "cwmed", "ctma(gm, 0.4)", "ctma(cwmed, 0.4)"};

Status print_json(const Flags& flags, nlohmann::ordered_json line) {
  line["instructions"] = flags.instructions;
  return print(line.dump() + "\n");
}

// One gradient by both engines, in turn. Without LibTorch only ours.
Status compare_engines(const Setting& setting, const Flags& flags) {
  BALLAST_TRY(const auto native, random_material(setting.data, Engine::kNative));
  BALLAST_TRY(const double native_ms, bench_gradient(native, setting.batch));
  const auto torch = random_material(setting.data, Engine::kTorch);
  std::optional<double> torch_ms;
  if (torch) {
    BALLAST_TRY(torch_ms, bench_gradient(*torch, setting.batch));
  }
  if (flags.as_json) {
    nlohmann::ordered_json line = {
        {"data", setting.data}, {"batch", setting.batch}, {"native_gradient_ms", native_ms}};
    if (torch_ms) line["torch_gradient_ms"] = *torch_ms;
    if (torch_ms) line["ratio"] = *torch_ms / native_ms;
    return print_json(flags, std::move(line));
  }
  const std::string other = torch_ms ? fmt::format("LibTorch {:.2f} ms, {:.1f} times as long",
                                                   *torch_ms, *torch_ms / native_ms)
                                     : torch.error().message;
  return print(fmt::format("{}, batch {}: one gradient takes {:.2f} ms; {}\n", setting.data,
                           setting.batch, native_ms, other));
}

Status print_result(const Flags& flags, const assembly::RunSpec& run, const char* optimizer,
                    std::size_t threads, const TrainBenchResult& result) {
  if (flags.as_json) {
    return print_json(flags, {{"data", run.data},
                              {"workers", run.workers},
                              {"optimizer", optimizer},
                              {"rule", run.rule},
                              {"threads", threads},
                              {"updates_per_second", result.updates_per_second},
                              {"outside_gradients", result.outside_gradients}});
  }
  return print(fmt::format("{:<9}{:>7}  {:<10}{:<18}{:>7}{:>11.0f}{:>9.1f} %\n", run.data,
                           run.workers, optimizer, run.rule, threads, result.updates_per_second,
                           100.0 * result.outside_gradients));
}

assembly::RunSpec run_of(const Setting& setting, std::uint64_t workers, const Flags& flags) {
  assembly::RunSpec run;
  run.data = setting.data;
  run.batch = setting.batch;
  run.workers = workers;
  run.byzantine = workers == 9 ? 1 : 8;
  run.arrivals = workers == 9 ? "id" : "id^2";
  run.updates = flags.updates;
  return run;
}

Status bench_setting(const Setting& setting, const Flags& flags) {
  BALLAST_TRY(const auto material, random_material(setting.data, Engine::kNative));
  for (const std::uint64_t workers : kWorkers) {
    assembly::RunSpec run = run_of(setting, workers, flags);
    for (const auto& [optimizer, name] : kOptimizers) {
      for (const char* rule : kRules) {
        run.optimizer = optimizer;
        run.rule = rule;
        for (std::size_t threads = 1; threads <= flags.threads_max; threads *= 2) {
          BALLAST_TRY(const auto result, bench_training(run, material, threads));
          BALLAST_TRY_STATUS(print_result(flags, run, name, threads, result));
        }
      }
    }
  }
  return {};
}

Status run_bench_train(const Flags& flags) {
  if (flags.instructions == "avx2") limit_to_avx2();
  for (const Setting& setting : kSettings) BALLAST_TRY_STATUS(compare_engines(setting, flags));
  if (!flags.as_json) {
    BALLAST_TRY_STATUS(
        print(fmt::format("\n{:<9}{:>7}  {:<10}{:<18}{:>7}{:>11}{:>11}\n", "data", "workers",
                          "optimizer", "rule", "threads", "updates/s", "elsewhere")));
  }
  for (const Setting& setting : kSettings) BALLAST_TRY_STATUS(bench_setting(setting, flags));
  return {};
}

}  // namespace

void add_bench_train_command(CLI::App& bench, Action& action) {
  CLI::App* command = bench.add_subcommand("train", "Measure training on this machine");
  const auto flags = std::make_shared<Flags>();
  command->add_option("--updates", flags->updates, "Updates of each measurement")
      ->check(CLI::Range(10, 1'000'000))
      ->capture_default_str();
  command->add_option("--threads", flags->threads_max, "Measure 1, 2, 4, ... up to so many")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command
      ->add_option("--instructions", flags->instructions,
                   "best: all that this machine has; avx2: as if it had no AVX-512")
      ->check(CLI::IsMember({"best", "avx2"}))
      ->capture_default_str();
  command->add_flag("--json", flags->as_json, "One JSON object per line");
  command->footer(
      "The paper's MNIST and CIFAR-10 settings on random images: one gradient by the native "
      "engine\n"
      "and by LibTorch, then updates per second of the whole training loop for each optimizer and\n"
      "rule. 'elsewhere' is the share of the threads' time in which no gradient is computed.\n"
      "--instructions avx2 limits both engines: the native one through Highway, LibTorch through\n"
      "ATEN_CPU_CAPABILITY, OPENBLAS_CORETYPE and ONEDNN_MAX_CPU_ISA, which it sets.");
  command->callback([&action, flags] { action = [flags] { return run_bench_train(*flags); }; });
}

}  // namespace ballast::apps
