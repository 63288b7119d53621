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

// Collects `size` updates, each weighed by 1 / sqrt(1 + staleness), and steps along their sum
// divided by `size` (not by the sum of the weights: stale updates shorten the step).
class Fedbuff final : public CountedMethod {
 public:
  Fedbuff(const MethodSetting& setting, std::uint64_t size)
      : CountedMethod(setting), size_(size), direction_(setting.dim) {
    sum_.values.resize(setting.dim);
  }

 protected:
  Answer judge(const AdmittedUpdate& update) override {
    const double weight = 1.0 / std::sqrt(1.0 + static_cast<double>(update.staleness));
    for (std::size_t j = 0; j < dim(); ++j) {
      sum_.values[j] = finite_float(sum_.values[j] + weight * update.values[j]);
    }
    sum_.revision = arrivals();
    if (++filled_ < size_) return Answer::nothing();
    for (std::size_t j = 0; j < dim(); ++j) {
      direction_[j] = static_cast<float>(sum_.values[j] / static_cast<double>(size_));
    }
    std::ranges::fill(sum_.values, 0.0f);
    filled_ = 0;
    return Answer::along(direction_);
  }

  void add_figures(std::vector<server::NamedNumber>& figures) const override {
    add_figure(figures, "buffered", filled_);
  }

  void save(server::MethodStateView& view) const override {
    save_whole(view, "filled", filled_);
    save_vector(view, "sum", sum_);
  }

  Status load(StateReader& reader) override {
    BALLAST_TRY(const std::uint64_t filled, reader.whole("filled"));
    BALLAST_TRY(KeptVector sum, reader.vector("sum"));
    if (filled >= size_ || sum.values.empty()) {
      return invalid_argument("the state is not one of a buffer of that size");
    }
    BALLAST_TRY_STATUS(reader.finish());
    filled_ = filled;
    sum_ = std::move(sum);
    return {};
  }

 private:
  std::uint64_t size_;
  std::uint64_t filled_ = 0;
  KeptVector sum_;
  std::vector<float> direction_;
};

constexpr Parameter kParameters[] = {
    Parameter::whole("size", "how many updates make a step").from(1).otherwise(10)};

}  // namespace

extern constinit const MethodItem kFedbuffMethod = {
    {.name = "fedbuff",
     .help = "the mean of every SIZE updates, late ones weighed less; not robust",
     .paper = "Nguyen et al. 2022",
     .parameters = kParameters},
    [](const Arguments& arguments) -> Result<MethodPlan> {
      const std::uint64_t size = arguments.whole("size");
      return MethodPlan{
          .make = [size](const MethodSetting& setting) -> Result<server::MethodPointer> {
            return std::make_unique<Fedbuff>(setting, size);
          }};
    }};

}  // namespace ballast::methods
