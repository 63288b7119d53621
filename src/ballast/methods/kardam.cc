// Kardam: two filters before each step, and a step that is shorter the later the update is.
//
// Lipschitz filter. The coefficient of worker p compares its last two updates and the models they
// were computed on, K_p = |g - g'| / |x - x'|. An update passes if K_p is at most the (n - f)/n
// quantile of all workers' coefficients: of m of them, the ceil(m (n - f) / n)-th smallest. With
// reference=accepted the update is compared with the last accepted one, of whichever worker, as the
// authors' published template does.
//
// Frequency filter. In the list of the last 2f accepted workers with the sender added, no f workers
// may stand more than f times.
//
// Liveness. After `escape` refusals in a row the next update passes both.
//
// The paper leaves open: what happens before coefficients exist (here a worker's first update, and
// all while fewer than n - f coefficients are known, pass the first filter), and two updates on one
// and the same model (here there is no coefficient, and the update does not pass).

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "ballast/methods/counted_method.h"
#include "ballast/methods/kept_models.h"
#include "ballast/methods/method_item.h"
#include "ballast/methods/vector_math.h"

namespace ballast::methods {
namespace {

using expression::Arguments;
using expression::Parameter;
using server::AdmittedUpdate;
using server::Answer;

enum class Dampening : std::uint8_t { kInverse, kExponential, kNone };

struct KardamOptions {
  std::uint64_t f = 1;
  Dampening dampening = Dampening::kInverse;
  double alpha = 0.2;
  bool compares_with_accepted = false;
  std::optional<std::uint64_t> escape = {};  // none: the number of workers; 0: never
  std::uint64_t history = 64;
};

constexpr double kUnknown = -1.0;  // the coefficient of a worker that has none

// An update, and the model it was computed on.
struct Reference {
  KeptVector update;
  server::Snapshot model;

  bool exists() const noexcept { return model.values != nullptr; }
};

std::string update_name(std::size_t index) { return fmt::format("update-{}", index); }

class Kardam final : public CountedMethod {
 public:
  Kardam(const MethodSetting& setting, const KardamOptions& options)
      : CountedMethod(setting),
        options_(options),
        models_(options.history),
        references_(options.compares_with_accepted ? 1 : setting.worker_count),
        coefficients_(setting.worker_count, kUnknown) {}

  // The models of the ring and those of the references.
  std::size_t further_vectors() const override { return models_.capacity() + references_.size(); }

 protected:
  Answer judge(const AdmittedUpdate& update) override {
    models_.note(update.newest);
    const server::Snapshot model{.version = update.computed_version,
                                 .values = models_.find(update.computed_version)};
    const bool is_smooth = model.values != nullptr && passes_lipschitz(update, model);
    if (model.values != nullptr && !options_.compares_with_accepted) remember(update, model);
    const bool is_rare = passes_frequency(update.worker);
    lipschitz_refusals_ += is_smooth ? 0 : 1;
    frequency_refusals_ += is_smooth && !is_rare ? 1 : 0;
    const std::uint64_t escape = options_.escape.value_or(worker_count());
    const bool escapes = escape > 0 && refusals_ >= escape;
    if (!(is_smooth && is_rare) && !escapes) {
      ++refusals_;
      return Answer::refused();
    }
    refusals_ = 0;
    if (model.values != nullptr && options_.compares_with_accepted) remember(update, model);
    note_accepted(update.worker);
    return Answer::along(update.values, dampening(update.staleness));
  }

  void forget(std::uint32_t worker) override {
    coefficients_[worker] = kUnknown;
    if (!options_.compares_with_accepted) references_[worker] = {};
  }

  void add_figures(std::vector<server::NamedNumber>& figures) const override {
    add_figure(figures, "refused_lipschitz", lipschitz_refusals_);
    add_figure(figures, "refused_frequency", frequency_refusals_);
  }

  void save(server::MethodStateView& view) const override;
  Status load(StateReader& reader) override;

 private:
  std::size_t reference_of(std::uint32_t worker) const {
    return options_.compares_with_accepted ? 0 : worker;
  }

  bool passes_lipschitz(const AdmittedUpdate& update, const server::Snapshot& model) {
    const Reference& before = references_[reference_of(update.worker)];
    if (!before.exists()) return true;
    const double moved = distance(*model.values, *before.model.values);
    if (moved == 0.0) return false;
    double& coefficient = coefficients_[update.worker];
    coefficient = std::min(distance(update.values, before.update.values) / moved,
                           std::numeric_limits<double>::max());
    return coefficient <= quantile();
  }

  double quantile() const {
    std::vector<double> known;
    std::ranges::copy_if(coefficients_, std::back_inserter(known),
                         [](double coefficient) { return coefficient >= 0.0; });
    const std::size_t honest = worker_count() - options_.f;
    if (known.size() < honest) return std::numeric_limits<double>::infinity();
    const std::size_t rank = (known.size() * honest + worker_count() - 1) / worker_count();
    const auto nth = known.begin() + static_cast<std::ptrdiff_t>(rank - 1);
    std::ranges::nth_element(known, nth);
    return *nth;
  }

  bool passes_frequency(std::uint32_t worker) const {
    std::vector<std::uint64_t> times(places());
    for (const std::uint64_t accepted : accepted_) ++times[accepted];
    ++times[worker];
    std::ranges::sort(times, std::greater<>());
    std::uint64_t most = 0;
    for (std::size_t i = 0; i < options_.f; ++i) most += times[i];
    return most <= options_.f;
  }

  void remember(const AdmittedUpdate& update, const server::Snapshot& model) {
    Reference& reference = references_[reference_of(update.worker)];
    reference.update.values.assign(update.values.begin(), update.values.end());
    reference.update.revision = arrivals();
    reference.model = model;
  }

  void note_accepted(std::uint32_t worker) {
    accepted_.push_back(worker);
    if (accepted_.size() > 2 * options_.f) accepted_.pop_front();
  }

  double dampening(std::uint64_t staleness) const {
    const auto delay = static_cast<double>(staleness);
    switch (options_.dampening) {
      case Dampening::kInverse:
        return 1.0 / (1.0 + delay);
      case Dampening::kExponential:
        return std::exp(-options_.alpha * delay);
      case Dampening::kNone:
        break;
    }
    return 1.0;
  }

  KardamOptions options_;
  server::ModelRing models_;
  std::vector<Reference> references_;   // by worker, or the last accepted one
  std::vector<double> coefficients_;    // by worker
  std::deque<std::uint64_t> accepted_;  // the senders of the last 2f, oldest first
  std::uint64_t refusals_ = 0;          // in a row
  std::uint64_t lipschitz_refusals_ = 0;
  std::uint64_t frequency_refusals_ = 0;
};

void Kardam::save(server::MethodStateView& view) const {
  view.numbers.push_back({"coefficients", coefficients_});
  const std::vector<std::uint64_t> accepted(accepted_.begin(), accepted_.end());
  save_list(view, "accepted", accepted);
  const std::uint64_t tallies[] = {refusals_, lipschitz_refusals_, frequency_refusals_};
  save_list(view, "tallies", tallies);
  std::vector<server::Snapshot> held;
  std::vector<std::uint64_t> versions(references_.size());
  for (std::size_t i = 0; i < references_.size(); ++i) {
    if (!references_[i].exists()) continue;
    versions[i] = references_[i].model.version;
    held.push_back(references_[i].model);
    save_vector(view, update_name(i), references_[i].update);
  }
  save_list(view, "computed-on", versions);
  save_models(view, models_, held);
}

Status Kardam::load(StateReader& reader) {
  BALLAST_TRY(std::vector<double> coefficients, reader.numbers("coefficients", kUnknown));
  BALLAST_TRY(const auto accepted, reader.list("accepted", 2 * options_.f));
  BALLAST_TRY(const auto tallies, reader.list("tallies", 3));
  BALLAST_TRY(const auto versions, reader.list("computed-on", references_.size()));
  BALLAST_TRY(KeptModels models, load_models(reader, models_.capacity(), references_.size()));
  const auto is_worker = [&](std::uint64_t worker) { return worker < places(); };
  if (tallies.size() != 3 || !std::ranges::all_of(accepted, is_worker)) {
    return invalid_argument("the record of the filters contradicts itself");
  }
  std::vector<Reference> references(references_.size());
  for (std::size_t i = 0; i < versions.size(); ++i) {
    BALLAST_TRY(references[i].update, reader.vector(update_name(i)));
    if (references[i].update.values.empty()) continue;
    const auto model = models.by_version.find(versions[i]);
    if (model == models.by_version.end()) {
      return invalid_argument(fmt::format("the model of update {} is missing", i));
    }
    references[i].model = {.version = versions[i], .values = model->second};
  }
  BALLAST_TRY_STATUS(reader.finish());
  coefficients_ = std::move(coefficients);
  accepted_.assign(accepted.begin(), accepted.end());
  refusals_ = tallies[0];
  lipschitz_refusals_ = tallies[1];
  frequency_refusals_ = tallies[2];
  references_ = std::move(references);
  models_ = std::move(models.ring);
  return {};
}

constexpr std::string_view kDampeningWords[] = {"inverse", "exponential", "none"};
constexpr std::string_view kReferenceWords[] = {"own", "accepted"};

constexpr Parameter kParameters[] = {
    Parameter::whole("f", "how many workers may lie; fewer than a third").from(0),
    Parameter::word("dampening", kDampeningWords,
                    "the step of an update with delay t: 1/(1+t), exp(-alpha t), or 1")
        .otherwise("inverse"),
    Parameter::number("alpha", "of the exponential dampening").from(0).otherwise(0.2),
    Parameter::word("reference", kReferenceWords,
                    "what an update is compared with: the worker's own before, or the last "
                    "accepted one")
        .otherwise("own"),
    Parameter::whole("escape", "refusals in a row after which an update passes; 0: never")
        .optional("the number of workers"),
    kHistoryParameter};

KardamOptions options_of(const Arguments& arguments) {
  KardamOptions options{.f = arguments.whole("f"),
                        .alpha = arguments.number("alpha"),
                        .compares_with_accepted = arguments.word("reference") == kReferenceWords[1],
                        .history = arguments.whole("history")};
  const std::string_view dampening = arguments.word("dampening");
  if (dampening == kDampeningWords[1]) options.dampening = Dampening::kExponential;
  if (dampening == kDampeningWords[2]) options.dampening = Dampening::kNone;
  if (arguments.is_given("escape")) options.escape = arguments.whole("escape");
  return options;
}

}  // namespace

extern constinit const MethodItem kKardamMethod = {
    {.name = "kardam",
     .help =
         "filters updates by smoothness and by how often a worker is heard; late ones count less",
     .paper = "Damaskinos et al. 2018",
     .parameters = kParameters},
    [](const Arguments& arguments) -> Result<MethodPlan> {
      const KardamOptions options = options_of(arguments);
      MethodPlan plan;
      plan.check = [options](std::size_t workers) -> Status {
        // Without overflow: 3 f < n.
        if (workers > 0 && options.f <= (workers - 1) / 3) return {};
        return invalid_argument(
            fmt::format("kardam with f = {} needs more than {} workers, and there are {}",
                        options.f, 3 * options.f, workers));
      };
      plan.make = [options](const MethodSetting& setting) -> Result<server::MethodPointer> {
        return std::make_unique<Kardam>(setting, options);
      };
      return plan;
    }};

}  // namespace ballast::methods
