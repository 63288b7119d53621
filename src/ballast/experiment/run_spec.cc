#include "ballast/experiment/run_spec.h"

#include <utility>

namespace ballast::experiment {

bool is_model_file(std::string_view model) { return model.ends_with(".pt"); }

RunSpec resolve(RunSpec run) {
  if (run.model.empty() && run.data == kDataFromFiles) run.model = "softmax";
  if (run.model.empty()) run.model = run.data == "cifar10" ? "cifar10-cnn" : "mnist-cnn";
  if (is_model_file(run.model)) run.engine = Engine::kTorch;
  return run;
}

}  // namespace ballast::experiment
