#include "ballast/experiment/validate.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "ballast/attacks/registry.h"
#include "ballast/base/check.h"
#include "ballast/data/catalog.h"
#include "ballast/data/partition.h"
#include "ballast/experiment/keys.h"
#include "ballast/robust/registry.h"

namespace ballast::experiment {
namespace {

// The last one stands for a user's own.
constexpr std::array<std::string_view, 5> kModels = {"mnist-cnn", "cifar10-cnn", "softmax", "mlp",
                                                     "FILE.pt"};

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

Check check_data(const RunSpec& run) {
  std::vector<std::string_view> names;
  for (const data::KnownDataset& known : data::known_datasets()) names.push_back(known.name);
  names.push_back(kDataFromFiles);
  BALLAST_TRY_STATUS(require(std::ranges::find(names, run.data) != names.end(), {"data"},
                             "data " + one_of_text(run.data, names)));
  BALLAST_TRY_STATUS(require_whole("batch", run.batch, kBatchMax));
  if (run.partition != PartitionKind::kDirichlet) return {};
  return require(run.dirichlet_alpha >= data::kDirichletAlphaMin &&
                     run.dirichlet_alpha <= data::kDirichletAlphaMax,
                 {"dirichlet_alpha"},
                 fmt::format("dirichlet_alpha must be from {} to {}", data::kDirichletAlphaMin,
                             data::kDirichletAlphaMax));
}

Check check_model(const RunSpec& run) {
  const std::string& model = run.model;
  const bool is_known = std::ranges::find(kModels, model) != kModels.end();
  BALLAST_TRY_STATUS(
      require(is_known || is_model_file(model), {"model"}, "model " + one_of_text(model, kModels)));
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
  return require(run.byzantine == 0 || run.share > 0.0 || run.arrivals == Arrivals::kTrace,
                 {"share", "byzantine"},
                 "with share = 0 the Byzantine workers never send; set byzantine = 0 too");
}

Check check_attack(const RunSpec& run) {
  std::vector<std::string_view> names;
  for (const attacks::AttackEntry& entry : attacks::attack_registry()) names.push_back(entry.name);
  BALLAST_TRY_STATUS(require(std::ranges::find(names, run.attack) != names.end(), {"attack"},
                             "attack " + one_of_text(run.attack, names)));
  BALLAST_TRY_STATUS(
      require(run.attack_sigma >= 0.0, {"attack_sigma"}, "attack_sigma must not be negative"));
  const std::uint64_t honest = run.workers - run.byzantine;
  return require(
      run.attack != "mimic" || run.attack_target < honest, {"attack_target", "workers"},
      fmt::format("attack_target must be below {}, the number of honest workers", honest));
}

Check check_arrivals(const RunSpec& run) {
  const bool has_speeds = run.arrivals == Arrivals::kUniform || run.arrivals == Arrivals::kId ||
                          run.arrivals == Arrivals::kIdSquared;
  BALLAST_TRY_STATUS(require(run.clock == Clock::kDraw || has_speeds, {"arrivals", "clock"},
                             "with clock = \"virtual\" arrivals are speeds: uniform, id or id^2"));
  BALLAST_TRY_STATUS(require(run.arrivals != Arrivals::kTrace || !run.trace.empty(),
                             {"arrivals", "trace"},
                             "arrivals = \"trace\" needs a file; set trace = \"FILE\""));
  return require(run.arrivals != Arrivals::kBurst || run.burst >= 1, {"burst"},
                 "burst must be at least 1");
}

Check check_placeholders(const RunSpec& run) {
  constexpr std::array<std::string_view, 2> kKnown = {kSharePlaceholder, kCapSharePlaceholder};
  const std::size_t begin = run.rule.find('{');
  if (begin == std::string::npos) return {};
  const std::string word = run.rule.substr(begin, run.rule.find('}', begin) + 1 - begin);
  return require(false, {"rule"},
                 fmt::format("{} is no number of the run; what stands in braces {}",
                             to_shown_text(word), one_of_text(word, kKnown)));
}

Check check_rule(const RunSpec& run) {
  BALLAST_TRY_STATUS(check_placeholders(run));
  const auto rule = robust::parse_rule(run.rule);
  BALLAST_TRY_STATUS(
      require(rule.has_value(), {"rule"}, rule ? "" : first_line(rule.error().message)));
  const Status fits = (*rule)->check_row_count(run.workers);
  return require(fits.has_value(), {"rule", "workers"},
                 fits ? "" : first_line(fits.error().message));
}

Check check_weights(const RunSpec& run) {
  if (run.weights != WeightPolicy::kFCap) return {};
  BALLAST_TRY_STATUS(require(run.cap_share > 0.0 && run.cap_share < 0.5, {"cap_share"},
                             "cap_share must be above 0 and below 1/2"));
  BALLAST_TRY_STATUS(require(run.f >= 1, {"f"}, "f must be at least 1 with weights = \"f-cap\""));
  // The f heaviest of equal workers hold f / workers, and no cap brings them lower. The slack lets
  // a share such as 3/10 reach its 3 of 10 workers in spite of rounding.
  const double most = run.cap_share * static_cast<double>(run.workers) + 1e-9;
  return require(static_cast<double>(run.f) <= most, {"f", "cap_share", "workers"},
                 fmt::format("{} of {} equal workers hold more than {} already; f must be at most "
                             "cap_share * workers = {:.0f}",
                             run.f, run.workers, run.cap_share, std::floor(most)));
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
                           check_rule, check_weights, check_optimizer, check_length}) {
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
  if (run.arrivals == Arrivals::kTrace) return require_file("trace", run.trace);
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

}  // namespace ballast::experiment
