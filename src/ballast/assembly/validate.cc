#include "ballast/assembly/validate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "ballast/assembly/catalogues.h"
#include "ballast/assembly/keys.h"
#include "ballast/attacks/registry.h"
#include "ballast/base/check.h"
#include "ballast/data/catalog.h"
#include "ballast/data/partition.h"
#include "ballast/methods/registry.h"
#include "ballast/robust/registry.h"
#include "ballast/server/weight_policy.h"
#include "ballast/sim/schedule.h"
#include "ballast/sim/virtual_time.h"

namespace ballast::assembly {
namespace {

// What is wrong, and the keys it follows from: the first one that somebody set is blamed.
struct Problem {
  std::vector<std::string_view> keys;
  std::string message;
  ErrorCode code = ErrorCode::kInvalidArgument;
};

using Check = tl::expected<void, Problem>;

Check require(bool holds, std::vector<std::string_view> keys, std::string message) {
  if (holds) return {};
  return tl::unexpected(Problem{std::move(keys), std::move(message)});
}

Check require_whole(std::string_view key, std::uint64_t value, std::uint64_t largest) {
  return require(value >= 1 && value <= largest, {key},
                 fmt::format("{} must be from 1 to {}", key, largest));
}

Check require_positive(std::string_view key, double value) {
  return require(std::isfinite(value) && value > 0.0, {key},
                 fmt::format("{} must be above 0", key));
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, text.find('\n')));
}

bool is_trace(const RunSpec& run) {
  const auto arrivals = sim::parse_arrivals(run.arrivals);
  return arrivals && arrivals->kind == sim::ScheduleKind::kTrace;
}

Check check_data(const RunSpec& run) {
  std::vector<std::string_view> names;
  for (const data::KnownDataset& known : data::known_datasets()) names.push_back(known.name);
  names.push_back(kDataFromFiles);
  BALLAST_TRY_STATUS(require(std::ranges::find(names, run.data) != names.end(), {"data"},
                             "data " + one_of_text(run.data, names)));
  BALLAST_TRY_STATUS(require_whole("batch", run.batch, kBatchMax));
  if (run.partition == PartitionKind::kShards) {
    return require_whole("shards_per_worker", run.shards_per_worker, kShardsMax);
  }
  if (run.partition != PartitionKind::kDirichlet) return {};
  return require(run.dirichlet_alpha >= data::kDirichletAlphaMin &&
                     run.dirichlet_alpha <= data::kDirichletAlphaMax,
                 {"dirichlet_alpha"},
                 fmt::format("dirichlet_alpha must be from {} to {}", data::kDirichletAlphaMin,
                             data::kDirichletAlphaMax));
}

Check check_model(const RunSpec& run) {
  const std::string& model = run.model;
  std::vector<std::string_view> names;
  for (const expression::Entry* entry : model_catalogue().entries) names.push_back(entry->name);
  const bool is_known = std::ranges::find(names, model) != names.end();
  BALLAST_TRY_STATUS(
      require(is_known || is_model_file(model), {"model"}, "model " + one_of_text(model, names)));
  const bool has_colours = run.data == "cifar10";
  const bool fits = run.data == kDataFromFiles ||
                    (model != "mnist-cnn" && model != "cifar10-cnn") ||
                    has_colours == (model == "cifar10-cnn");
  BALLAST_TRY_STATUS(
      require(fits, {"model", "data"},
              fmt::format("the model {} does not take the images of {}; leave model out, or take "
                          "softmax or mlp",
                          model, run.data)));
  if (model != "mlp") return {};
  return require_whole("hidden", run.hidden, kHiddenMax);
}

Check check_workers(const RunSpec& run) {
  BALLAST_TRY_STATUS(require_whole("workers", run.workers, kWorkersMax));
  BALLAST_TRY_STATUS(require(
      run.byzantine < run.workers, {"byzantine", "workers"},
      fmt::format("{} Byzantine of {} workers leave no honest one; byzantine must be below workers",
                  run.byzantine, run.workers)));
  BALLAST_TRY_STATUS(require(run.share >= 0.0 && run.share < 0.5, {"share"},
                             "share must be at least 0 and below 1/2: no rule survives more"));
  BALLAST_TRY_STATUS(require(run.byzantine > 0 || run.share == 0.0, {"byzantine", "share"},
                             "without Byzantine workers nobody sends their share; set share = 0"));
  // A trace says itself who sends.
  return require(run.byzantine == 0 || run.share > 0.0 || is_trace(run), {"share", "byzantine"},
                 "with share = 0 the Byzantine workers never send; set byzantine = 0 too");
}

// The expression of a key must name something. Of what parse_...() says, the first line has the
// column; the text itself stands in front of it already.
template <typename Product>
Check require_parsed(std::string_view key, const Result<Product>& parsed) {
  return require(parsed.has_value(), {key}, parsed ? "" : first_line(parsed.error().message));
}

Check require_status(const Status& status, std::vector<std::string_view> keys) {
  return require(status.has_value(), std::move(keys),
                 status ? "" : first_line(status.error().message));
}

Check check_attack(const RunSpec& run) {
  const auto attack = attacks::make_attack(run.attack);
  BALLAST_TRY_STATUS(require_parsed("attack", attack));
  return require_status((*attack)->check_honest_count(run.workers - run.byzantine),
                        {"attack", "workers"});
}

Check check_arrivals(const RunSpec& run) {
  const auto arrivals = sim::parse_arrivals(run.arrivals);
  BALLAST_TRY_STATUS(require_parsed("arrivals", arrivals));
  BALLAST_TRY_STATUS(require_parsed("compute_time", sim::parse_compute_time(run.compute_time)));
  BALLAST_TRY_STATUS(
      require(run.clock == Clock::kDraw || arrivals->has_speeds(), {"arrivals", "clock"},
              "with clock = \"virtual\" arrivals are speeds: uniform, id, id^2 or flood"));
  return require(!is_trace(run) || !run.trace.empty(), {"arrivals", "trace"},
                 R"(arrivals = "trace" needs a file; set trace = "FILE")");
}

Check check_placeholders(const RunSpec& run, std::string_view key, const std::string& text) {
  constexpr std::array<std::string_view, 4> kKnown = {kSharePlaceholder, kCapSharePlaceholder,
                                                      kByzantinePlaceholder, kMinorityPlaceholder};
  const std::size_t begin = text.find('{');
  if (begin == std::string::npos) return {};
  const std::string word = text.substr(begin, text.find('}', begin) + 1 - begin);
  BALLAST_TRY_STATUS(require(
      word != kCapSharePlaceholder, {key, "weights"},
      fmt::format("{} is the share of a cap, and weights = \"{}\" has none; \"f-cap(1, 0.2)\" has",
                  word, to_printable(run.weights))));
  return require(false, {key},
                 fmt::format("{} is no number of the run; what stands in braces {}",
                             to_shown_text(word), one_of_text(word, kKnown)));
}

Check check_rule(const RunSpec& run, const methods::MethodPlan& plan) {
  BALLAST_TRY_STATUS(check_placeholders(run, "rule", run.rule));
  const auto rule = robust::parse_rule(run.rule);
  BALLAST_TRY_STATUS(require_parsed("rule", rule));
  BALLAST_TRY_STATUS(require_status((*rule)->check_row_count(run.workers), {"rule", "workers"}));
  if (!plan.check_rule) return {};
  return require_status(plan.check_rule(**rule), {"rule", "method"});
}

Check check_server_samples(const RunSpec& run) {
  BALLAST_TRY_STATUS(
      require(run.server_samples >= 1, {"method", "server_samples"},
              fmt::format("{} judges updates by a gradient of the server's own; set server_samples "
                          "= 100, say, to hold samples out for it",
                          run.method)));
  return require_whole("server_batch", run.server_batch, kBatchMax);
}

// A rule is looked at where the method has one from its key.
Check check_method(const RunSpec& run) {
  BALLAST_TRY_STATUS(check_placeholders(run, "method", run.method));
  const auto plan = methods::method_registry().parse(run.method);
  BALLAST_TRY_STATUS(require_parsed("method", plan));
  if (plan->check) {
    BALLAST_TRY_STATUS(require_status(plan->check(run.workers), {"method", "workers"}));
  }
  BALLAST_TRY_STATUS(require(
      !plan->needs_momentum || run.optimizer == Optimizer::kMomentum, {"method", "optimizer"},
      fmt::format("{} needs workers that send an average of their gradients; set "
                  "optimizer = \"momentum\"",
                  run.method)));
  if (plan->needs_server_gradient) BALLAST_TRY_STATUS(check_server_samples(run));
  if (plan->uses_rule) return check_rule(run, *plan);
  return {};
}

Check check_weights(const RunSpec& run) {
  const auto policy = server::parse_weight_policy(run.weights);
  BALLAST_TRY_STATUS(require_parsed("weights", policy));
  return require_status(server::validate(*policy, run.workers), {"weights", "workers"});
}

Check check_projection(const RunSpec& run) {
  if (run.projection == ProjectionKind::kBall)
    return require_positive("ball_radius", run.ball_radius);
  return require(run.projection == ProjectionKind::kNone || run.box_low < run.box_high,
                 {"box_low", "box_high"},
                 fmt::format("the box from {} to {} is empty; box_low must be below box_high",
                             run.box_low, run.box_high));
}

Check check_optimizer(const RunSpec& run) {
  BALLAST_TRY_STATUS(require_positive("eta", run.eta));
  if (!run.eta_decay_after.empty()) {
    BALLAST_TRY_STATUS(require_positive("eta_decay_factor", run.eta_decay_factor));
  }
  BALLAST_TRY_STATUS(check_projection(run));
  if (run.optimizer == Optimizer::kMomentum) {
    return require(run.momentum >= 0.0 && run.momentum < 1.0, {"momentum"},
                   "momentum must be at least 0 and below 1");
  }
  if (run.optimizer == Optimizer::kSgd) return {};
  const double beta = run.beta.value_or(1.0);
  BALLAST_TRY_STATUS(
      require(beta >= 0.0 && beta <= 1.0, {"beta"}, "beta must be from 0 to 1, or \"1/k\""));
  return require(run.alpha == Alpha::kLinear || (run.gamma > 0.0 && run.gamma <= 1.0), {"gamma"},
                 "gamma must be above 0 and at most 1");
}

Check check_length(const RunSpec& run) {
  BALLAST_TRY_STATUS(require_whole("updates", run.updates, kUpdatesMax));
  return require_whole("evaluate_every", run.evaluate_every, kUpdatesMax);
}

Check check_all(const RunSpec& run) {
  for (const auto check : {check_data, check_model, check_workers, check_attack, check_arrivals,
                           check_weights, check_method, check_optimizer, check_length}) {
    BALLAST_TRY_STATUS(check(run));
  }
  return {};
}

Check require_file(std::string_view key, const std::filesystem::path& path) {
  const std::string name = to_printable(path.string());
  BALLAST_TRY_STATUS(
      require(!path.empty(), {key}, fmt::format("data = \"files\" needs {} = \"FILE.npy\"", key)));
  std::error_code error;
  if (std::filesystem::is_regular_file(path, error)) return {};
  return tl::unexpected(
      Problem{{key}, fmt::format("there is no file {}", name), ErrorCode::kNotFound});
}

Check check_all_files(const RunSpec& run) {
  if (run.data == kDataFromFiles) {
    BALLAST_TRY_STATUS(require_file("train_images", run.train_images));
    BALLAST_TRY_STATUS(require_file("train_labels", run.train_labels));
    BALLAST_TRY_STATUS(require_file("test_images", run.test_images));
    BALLAST_TRY_STATUS(require_file("test_labels", run.test_labels));
  }
  if (is_model_file(run.model)) BALLAST_TRY_STATUS(require_file("model", run.model));
  if (is_trace(run)) return require_file("trace", run.trace);
  return {};
}

std::string default_origin(std::string_view key, const RunSpec& run, const Origins& origins) {
  const auto found = find_key(key);
  BALLAST_CHECK(found.has_value(), "problems name keys of the table");
  const std::string place = origins.file.empty() ? "" : origins.file + ": ";
  return fmt::format("{}{} = {}", place, key, to_shown_text(to_toml((*found)->get(run))));
}

std::string blame(const Problem& problem, const RunSpec& run, const Origins& origins) {
  for (const std::string_view key : problem.keys) {
    const auto origin = origins.by_key.find(key);
    if (origin != origins.by_key.end()) return origin->second;
  }
  return default_origin(problem.keys.front(), run, origins);
}

Status to_status(const Check& check, const RunSpec& run, const Origins& origins) {
  if (check) return {};
  const Problem& problem = check.error();
  return tl::unexpected(
      Error{problem.code, fmt::format("{}: {}", blame(problem, run, origins), problem.message)});
}

}  // namespace

Status validate(const RunSpec& run, const Origins& origins) {
  return to_status(check_all(run), run, origins);
}

Status check_files(const RunSpec& run, const Origins& origins) {
  return to_status(check_all_files(run), run, origins);
}

}  // namespace ballast::assembly
