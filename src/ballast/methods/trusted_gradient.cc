// The methods that judge an update by a gradient v of the server's own: Zeno++ and AFLGuard. The
// gradient is computed anew when its model is `every` versions older than the newest, and after
// `every` refusals in a row: an unlucky v, short or askew, could otherwise refuse everything, and
// as no version follows then, for ever.

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

class TrustedGradientMethod : public CountedMethod {
 public:
  TrustedGradientMethod(const MethodSetting& setting, std::uint64_t every)
      : CountedMethod(setting), every_(every), next_(setting.dim) {}

 protected:
  virtual Answer compare(const AdmittedUpdate& update, std::span<const float> trusted) const = 0;

  Answer judge(const AdmittedUpdate& update) final {
    refresh(update.newest);
    if (trusted_.values.empty()) return Answer::refused();
    const Answer answer = compare(update, trusted_.values);
    refusals_ = answer.kind == Answer::Kind::kRefused ? refusals_ + 1 : 0;
    return answer;
  }

  void add_figures(std::vector<server::NamedNumber>& figures) const final {
    add_figure(figures, "server_gradients", computed_);
    add_figure(figures, "server_gradient_failures", failures_);
  }

  void save(server::MethodStateView& view) const final {
    const std::uint64_t numbers[] = {version_, computed_, failures_, refusals_};
    save_list(view, "trusted-of", numbers);
    save_vector(view, "trusted", trusted_);
  }

  Status load(StateReader& reader) final {
    BALLAST_TRY(const auto numbers, reader.list("trusted-of", 4));
    BALLAST_TRY(KeptVector trusted, reader.vector("trusted"));
    BALLAST_TRY_STATUS(reader.finish());
    if (numbers.size() != 4 || trusted.values.empty() != (numbers[1] == 0)) {
      return invalid_argument("the record of the server's own gradient contradicts itself");
    }
    version_ = numbers[0];
    computed_ = numbers[1];
    failures_ = numbers[2];
    refusals_ = numbers[3];
    trusted_ = std::move(trusted);
    return {};
  }

 private:
  // One that fails leaves the old one; without any, updates are refused.
  void refresh(const server::Snapshot& newest) {
    const bool is_fresh = newest.version >= version_ && newest.version - version_ < every_;
    if (!trusted_.values.empty() && is_fresh && refusals_ < every_) return;
    const std::uint64_t draw = computed_ + failures_;  // never the same sample twice
    if (!setting().server_gradient->gradient(*newest.values, draw, next_)) {
      ++failures_;
      return;
    }
    trusted_.values.assign(next_.begin(), next_.end());
    trusted_.revision = arrivals();
    version_ = newest.version;
    refusals_ = 0;
    ++computed_;
  }

  std::uint64_t every_;
  KeptVector trusted_;
  std::uint64_t version_ = 0;  // of the model that the gradient is of
  std::uint64_t computed_ = 0;
  std::uint64_t failures_ = 0;
  std::uint64_t refusals_ = 0;  // in a row
  std::vector<float> next_;
};

// Gives the update the length of v and accepts it if a step along it promises to lower the server's
// own loss: eta <v, g> - rho |g|^2 >= -eta epsilon.
class ZenoPlusPlus final : public TrustedGradientMethod {
 public:
  struct Options {
    double rho = 0.001;
    double epsilon = 0.0;
    std::uint64_t every = 10;
  };

  ZenoPlusPlus(const MethodSetting& setting, const Options& options)
      : TrustedGradientMethod(setting, options.every), options_(options) {}

 protected:
  Answer compare(const AdmittedUpdate& update, std::span<const float> trusted) const override {
    const double length = norm(update.values);
    if (length == 0.0) return Answer::refused();
    const double scale = norm(trusted) / length;
    const double gain = setting().eta * scale * inner_product(trusted, update.values);
    const double penalty = options_.rho * scale * scale * length * length;
    if (gain - penalty < -setting().eta * options_.epsilon) return Answer::refused();
    return Answer::along(update.values, scale);
  }

 private:
  Options options_;
};

// Accepts an update in the ball of radius `radius` |v| around v.
class Aflguard final : public TrustedGradientMethod {
 public:
  Aflguard(const MethodSetting& setting, double radius, std::uint64_t every)
      : TrustedGradientMethod(setting, every), radius_(radius) {}

 protected:
  Answer compare(const AdmittedUpdate& update, std::span<const float> trusted) const override {
    if (distance(update.values, trusted) > radius_ * norm(trusted)) return Answer::refused();
    return Answer::along(update.values);
  }

 private:
  double radius_;
};

constexpr auto kEveryParameter =
    Parameter::whole("every", "versions after which the server computes its gradient anew")
        .from(1)
        .otherwise(10);

constexpr Parameter kZenoParameters[] = {
    Parameter::number("rho", "the penalty on the squared length").from(0).otherwise(0.001),
    Parameter::number("epsilon", "how much worse a step may promise to be").from(0).otherwise(0),
    kEveryParameter};

constexpr Parameter kAflguardParameters[] = {
    Parameter::number("radius", "how far from the server's gradient, in lengths of it")
        .above(0)
        .otherwise(1.5),
    kEveryParameter};

}  // namespace

extern constinit const MethodItem kZenoMethod = {
    {.name = "zeno++",
     .help = "accepts updates along which the server's own loss falls, at its gradient's length",
     .paper = "Xie et al. 2020",
     .parameters = kZenoParameters},
    [](const Arguments& arguments) -> Result<MethodPlan> {
      const ZenoPlusPlus::Options options{.rho = arguments.number("rho"),
                                          .epsilon = arguments.number("epsilon"),
                                          .every = arguments.whole("every")};
      MethodPlan plan{.needs_server_gradient = true, .make = nullptr};
      plan.make = [options](const MethodSetting& setting) -> Result<server::MethodPointer> {
        return std::make_unique<ZenoPlusPlus>(setting, options);
      };
      return plan;
    }};

extern constinit const MethodItem kAflguardMethod = {
    {.name = "aflguard",
     .help = "accepts updates near a gradient of the server's own",
     .paper = "Fang et al. 2022",
     .parameters = kAflguardParameters},
    [](const Arguments& arguments) -> Result<MethodPlan> {
      const double radius = arguments.number("radius");
      const std::uint64_t every = arguments.whole("every");
      MethodPlan plan{.needs_server_gradient = true, .make = nullptr};
      plan.make = [=](const MethodSetting& setting) -> Result<server::MethodPointer> {
        return std::make_unique<Aflguard>(setting, radius, every);
      };
      return plan;
    }};

}  // namespace ballast::methods
