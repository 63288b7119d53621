#include "ballast/assembly/run_spec.h"

#include <fmt/core.h>

#include <utility>

#include "ballast/attacks/registry.h"
#include "ballast/methods/registry.h"
#include "ballast/server/weight_policy.h"
#include "ballast/sim/schedule.h"
#include "ballast/sim/virtual_time.h"

namespace ballast::assembly {

bool is_model_file(std::string_view model) { return model.ends_with(".pt"); }

namespace {

void replace_all(std::string& text, std::string_view placeholder, double number) {
  const std::string digits = fmt::format("{}", number);
  for (std::size_t at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at)) {
    text.replace(at, placeholder.size(), digits);
  }
}

template <typename Product>
void canonise(const expression::Registry<Product>& registry, std::string& text) {
  if (auto canonical = registry.canonical(text)) text = *std::move(canonical);
}

}  // namespace

RunSpec resolve(RunSpec run) {
  if (run.model.empty() && run.data == kDataFromFiles) run.model = "softmax";
  if (run.model.empty()) run.model = run.data == "cifar10" ? "cifar10-cnn" : "mnist-cnn";
  if (is_model_file(run.model)) run.engine = Engine::kTorch;
  for (std::string* text : {&run.rule, &run.method}) {
    const auto byzantine = static_cast<double>(run.byzantine);
    replace_all(*text, kSharePlaceholder, run.share);
    replace_all(*text, kByzantinePlaceholder, byzantine);
    replace_all(*text, kMinorityPlaceholder, 2.0 * byzantine + 1.0);
  }
  if (const auto policy = server::parse_weight_policy(run.weights)) {
    const server::CappedWeights* cap = server::widest_cap(*policy);
    if (cap != nullptr) replace_all(run.rule, kCapSharePlaceholder, cap->share);
    if (cap != nullptr) replace_all(run.method, kCapSharePlaceholder, cap->share);
  }
  canonise(attacks::attack_registry(), run.attack);
  canonise(sim::arrival_registry(), run.arrivals);
  canonise(sim::compute_time_registry(), run.compute_time);
  canonise(server::weight_registry(), run.weights);
  canonise(methods::method_registry(), run.method);
  return run;
}

}  // namespace ballast::assembly
