#include "ballast/experiment/run_spec.h"

#include <fmt/core.h>

#include <utility>

namespace ballast::experiment {

bool is_model_file(std::string_view model) { return model.ends_with(".pt"); }

namespace {

void replace_all(std::string& text, std::string_view placeholder, double number) {
  const std::string digits = fmt::format("{}", number);
  for (std::size_t at = text.find(placeholder); at != std::string::npos;
       at = text.find(placeholder, at)) {
    text.replace(at, placeholder.size(), digits);
  }
}

}  // namespace

RunSpec resolve(RunSpec run) {
  if (run.model.empty() && run.data == kDataFromFiles) run.model = "softmax";
  if (run.model.empty()) run.model = run.data == "cifar10" ? "cifar10-cnn" : "mnist-cnn";
  if (is_model_file(run.model)) run.engine = Engine::kTorch;
  replace_all(run.rule, kSharePlaceholder, run.share);
  replace_all(run.rule, kCapSharePlaceholder, run.cap_share);
  return run;
}

}  // namespace ballast::experiment
