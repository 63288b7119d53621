// Rounds in which a worker's influence falls with each of its updates. The first update of a worker
// in a round counts 1/n and passes centred clipping, a + clip(v - a), around the mean a of the
// first updates of the round before; its c-th repeat is clipped to a short length and counts 1/q^c.
// The round ends when every worker has been heard; what was computed on models of earlier rounds is
// refused then, so that all start from the new round's.
//
// A worker that left is not waited for until it sends again.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "ballast/methods/counted_method.h"
#include "ballast/methods/method_item.h"
#include "ballast/methods/vector_math.h"

namespace ballast::methods {
namespace {

using expression::Arguments;
using expression::Parameter;
using server::AdmittedUpdate;
using server::Answer;

struct ThrottleOptions {
  double q = 1.5;
  double radius = 100.0;       // of the first updates, around the anchor
  double repeat_radius = 1.0;  // of the repeats, around the origin
};

class Throttle final : public CountedMethod {
 public:
  Throttle(const MethodSetting& setting, const ThrottleOptions& options)
      : CountedMethod(setting),
        options_(options),
        heard_(setting.worker_count),
        is_away_(setting.worker_count),
        direction_(setting.dim) {
    anchor_.values.resize(setting.dim);
    firsts_.values.resize(setting.dim);
  }

 protected:
  Answer judge(const AdmittedUpdate& update) override {
    if (begins_) {
      first_version_ = update.newest.version;
      begins_ = false;
    }
    if (update.computed_version < first_version_) return Answer::refused();
    is_away_[update.worker] = 0;
    const std::uint64_t repeats = heard_[update.worker]++;
    const double factor = repeats == 0 ? 1.0 / static_cast<double>(worker_count())
                                       : std::pow(options_.q, -static_cast<double>(repeats));
    if (repeats == 0) {
      clip(update.values, anchor_.values, options_.radius);
      take_first();
    } else {
      clip(update.values, {}, options_.repeat_radius);
    }
    end_round_if_all_were_heard();
    return Answer::along(direction_, factor);
  }

  void forget(std::uint32_t worker) override {
    is_away_[worker] = 1;
    end_round_if_all_were_heard();
  }

  void add_figures(std::vector<server::NamedNumber>& figures) const override {
    add_figure(figures, "rounds", rounds_);
    add_figure(figures, "round_heard", first_count_);
  }

  void save(server::MethodStateView& view) const override {
    save_list(view, "heard", heard_);
    save_list(view, "away", is_away_);
    const std::uint64_t numbers[] = {first_version_, rounds_, first_count_, begins_ ? 1u : 0u};
    save_list(view, "round", numbers);
    save_vector(view, "anchor", anchor_);
    save_vector(view, "firsts", firsts_);
  }

  Status load(StateReader& reader) override {
    BALLAST_TRY(auto heard, reader.per_worker("heard"));
    BALLAST_TRY(auto is_away, reader.per_worker("away"));
    BALLAST_TRY(const auto numbers, reader.list("round", 4));
    BALLAST_TRY(KeptVector anchor, reader.vector("anchor"));
    BALLAST_TRY(KeptVector firsts, reader.vector("firsts"));
    BALLAST_TRY_STATUS(reader.finish());
    if (numbers.size() != 4 || anchor.values.empty() || firsts.values.empty()) {
      return invalid_argument("the record of the round contradicts itself");
    }
    heard_ = std::move(heard);
    is_away_ = std::move(is_away);
    first_version_ = numbers[0];
    rounds_ = numbers[1];
    first_count_ = numbers[2];
    begins_ = numbers[3] == 1;
    anchor_ = std::move(anchor);
    firsts_ = std::move(firsts);
    return {};
  }

 private:
  // direction = centre + (values - centre), shortened to the radius. No centre: the origin.
  void clip(std::span<const float> values, std::span<const float> centre, double radius) {
    const double length = centre.empty() ? norm(values) : distance(values, centre);
    const double share = length > radius ? radius / length : 1.0;
    for (std::size_t j = 0; j < values.size(); ++j) {
      const double from = centre.empty() ? 0.0 : centre[j];
      direction_[j] = static_cast<float>(from + share * (values[j] - from));
    }
  }

  void take_first() {
    const auto count = static_cast<double>(++first_count_);
    for (std::size_t j = 0; j < direction_.size(); ++j) {
      firsts_.values[j] =
          static_cast<float>(firsts_.values[j] + (direction_[j] - firsts_.values[j]) / count);
    }
    firsts_.revision = arrivals();
  }

  void end_round_if_all_were_heard() {
    if (first_count_ == 0) return;
    for (std::size_t i = 0; i < worker_count(); ++i) {
      if (heard_[i] == 0 && is_away_[i] == 0) return;
    }
    ++rounds_;
    anchor_.values = firsts_.values;
    anchor_.revision = arrivals();
    std::ranges::fill(firsts_.values, 0.0f);
    firsts_.revision = arrivals();
    std::ranges::fill(heard_, 0u);
    first_count_ = 0;
    begins_ = true;
  }

  ThrottleOptions options_;
  std::vector<std::uint64_t> heard_;    // updates of each worker in this round
  std::vector<std::uint64_t> is_away_;  // 1: left, and not back yet
  std::uint64_t first_version_ = 0;     // of the models of this round
  std::uint64_t rounds_ = 0;
  std::uint64_t first_count_ = 0;  // workers heard in this round
  bool begins_ = false;            // the next update is the first of a round
  KeptVector anchor_;              // the mean of the first updates of the round before
  KeptVector firsts_;              // of this one, so far
  std::vector<float> direction_;
};

// Means of clipped updates are far from the largest float.
constexpr double kRadiusMax = 1e30;

constexpr Parameter kParameters[] = {
    Parameter::number("q", "the c-th repeat of a worker in a round counts 1/q^c")
        .above(1)
        .otherwise(1.5),
    Parameter::number("radius", "how far from the last round's mean a first update may lie")
        .above(0)
        .up_to(kRadiusMax)
        .otherwise(100),
    Parameter::number("repeat", "how long a repeat may be")
        .above(0)
        .up_to(kRadiusMax)
        .otherwise(1)};

}  // namespace

extern constinit const MethodItem kThrottleMethod = {
    {.name = "throttle",
     .help = "rounds in which each further update of a worker counts less, with clipping",
     .paper = "THROTTLE 2026",
     .parameters = kParameters},
    [](const Arguments& arguments) -> Result<MethodPlan> {
      const ThrottleOptions options{.q = arguments.number("q"),
                                    .radius = arguments.number("radius"),
                                    .repeat_radius = arguments.number("repeat")};
      return MethodPlan{
          .make = [options](const MethodSetting& setting) -> Result<server::MethodPointer> {
            return std::make_unique<Throttle>(setting, options);
          }};
    }};

}  // namespace ballast::methods
