// The methods that apply each update as it comes: plain asynchronous SGD, and the two published
// ways to shorten the step of a late update.

#include <cmath>
#include <string_view>

#include "ballast/methods/counted_method.h"
#include "ballast/methods/method_item.h"

namespace ballast::methods {
namespace {

using expression::Arguments;
using expression::Parameter;
using server::AdmittedUpdate;
using server::Answer;

class Asgd final : public CountedMethod {
 public:
  using CountedMethod::CountedMethod;

 protected:
  Answer judge(const AdmittedUpdate& update) override { return Answer::along(update.values); }
};

// What becomes of an update that is later than the concurrency.
enum class Late : std::uint8_t {
  kRatio,    // eta * concurrency / delay (Mishchenko et al.)
  kInverse,  // eta / delay (Koloskova et al.)
  kDrop,     // refused (Koloskova et al.: a step of length 0)
};

class DelayAdaptive final : public CountedMethod {
 public:
  // A concurrency of 0 is the number of workers.
  DelayAdaptive(const MethodSetting& setting, Late late, std::uint64_t concurrency)
      : CountedMethod(setting), late_(late), given_concurrency_(concurrency) {}

 protected:
  Answer judge(const AdmittedUpdate& update) override {
    const std::uint64_t concurrency = given_concurrency_ > 0 ? given_concurrency_ : worker_count();
    if (update.staleness <= concurrency) return Answer::along(update.values);
    const auto delay = static_cast<double>(update.staleness);
    switch (late_) {
      case Late::kRatio:
        return Answer::along(update.values, static_cast<double>(concurrency) / delay);
      case Late::kInverse:
        return Answer::along(update.values, 1.0 / delay);
      case Late::kDrop:
        break;
    }
    return Answer::refused();
  }

 private:
  Late late_;
  std::uint64_t given_concurrency_;
};

constexpr std::string_view kLateWords[] = {"ratio", "inverse", "drop"};

constexpr Parameter kDelayParameters[] = {
    Parameter::word("late", kLateWords,
                    "an update later than the concurrency: a step shortened to concurrency/delay, "
                    "to 1/delay, or none")
        .otherwise("ratio"),
    Parameter::whole("concurrency", "the delay up to which steps are whole")
        .from(1)
        .optional("the number of workers")};

Late late_of(std::string_view word) {
  if (word == kLateWords[0]) return Late::kRatio;
  return word == kLateWords[1] ? Late::kInverse : Late::kDrop;
}

}  // namespace

extern constinit const MethodItem kAsgdMethod = {
    {.name = "asgd",
     .help = "plain asynchronous SGD: every update is a step; not robust",
     .paper = "Recht et al. 2011"},
    [](const Arguments&) -> Result<MethodPlan> {
      return MethodPlan{.make = [](const MethodSetting& setting) -> Result<server::MethodPointer> {
        return std::make_unique<Asgd>(setting);
      }};
    }};

extern constinit const MethodItem kDelayAdaptiveMethod = {
    {.name = "delay-adaptive",
     .help = "plain asynchronous SGD with shorter steps for late updates; not robust",
     .paper = "Mishchenko et al. 2022; Koloskova et al. 2022",
     .parameters = kDelayParameters},
    [](const Arguments& arguments) -> Result<MethodPlan> {
      const Late late = late_of(arguments.word("late"));
      const std::uint64_t given =
          arguments.is_given("concurrency") ? arguments.whole("concurrency") : 0;
      return MethodPlan{
          .make = [late, given](const MethodSetting& setting) -> Result<server::MethodPointer> {
            return std::make_unique<DelayAdaptive>(setting, late, given);
          }};
    }};

}  // namespace ballast::methods
