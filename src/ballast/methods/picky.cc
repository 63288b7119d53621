#include <fmt/core.h>

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

// Applies an update if the model has not moved far from where it was computed. A model that the
// ring has lost counts as far.
class Picky final : public CountedMethod {
 public:
  Picky(const MethodSetting& setting, double radius, std::size_t history)
      : CountedMethod(setting), radius_(radius), models_(history) {}

  std::size_t further_vectors() const override { return models_.capacity(); }

 protected:
  Answer judge(const AdmittedUpdate& update) override {
    models_.note(update.newest);
    const auto computed_on = models_.find(update.computed_version);
    if (computed_on == nullptr || distance(*update.newest.values, *computed_on) > radius_) {
      return Answer::refused();
    }
    return Answer::along(update.values);
  }

  void save(server::MethodStateView& view) const override { save_models(view, models_, {}); }

  Status load(StateReader& reader) override {
    BALLAST_TRY(KeptModels kept, load_models(reader, models_.capacity()));
    BALLAST_TRY_STATUS(reader.finish());
    models_ = std::move(kept.ring);
    return {};
  }

 private:
  double radius_;
  server::ModelRing models_;
};

constexpr Parameter kParameters[] = {
    Parameter::number("radius", "how far the model may have moved since").from(0),
    kHistoryParameter};

}  // namespace

extern constinit const MethodItem kPickyMethod = {
    {.name = "picky",
     .help = "an update counts only if the model is still near where it was computed; not robust",
     .paper = "Cohen et al. 2021",
     .parameters = kParameters},
    [](const Arguments& arguments) -> Result<MethodPlan> {
      const double radius = arguments.number("radius");
      const std::uint64_t history = arguments.whole("history");
      return MethodPlan{.make = [=](const MethodSetting& setting) -> Result<server::MethodPointer> {
        return std::make_unique<Picky>(setting, radius, history);
      }};
    }};

}  // namespace ballast::methods
