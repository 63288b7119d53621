#include <fmt/core.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/ballast/commands.h"
#include "apps/ballast/service_flags.h"
#include "apps/ballast/spec_flags.h"
#include "ballast/assembly/model_file.h"
#include "ballast/service/plan.h"

namespace ballast::apps {
namespace {

struct EvaluateFlags {
  std::string model;
  SpecFlags spec;
  bool as_json = false;
};

Status run_evaluate(const EvaluateFlags& flags) {
  BALLAST_TRY(experiment::Spec spec, read_spec(flags.spec));
  BALLAST_TRY(const service::Plan plan, service::make_plan(std::move(spec)));
  const assembly::Material& material = plan.material;
  BALLAST_TRY(const assembly::LoadedModel loaded,
              assembly::read_model(flags.model, *material.model));
  BALLAST_TRY_STATUS(assembly::check_same_input(loaded, assembly::input_of(*material.data.train)));
  BALLAST_TRY(const auto evaluator, material.model->make_evaluator(material.data.test));
  BALLAST_TRY(const worker::Evaluation result,
              evaluator->evaluate(loaded.parameters, loaded.statistics));
  if (flags.as_json) {
    const nlohmann::ordered_json json = {{"accuracy", result.accuracy},
                                         {"loss", result.loss},
                                         {"samples", material.data.test->size()}};
    return print(json.dump() + "\n");
  }
  return print(fmt::format("accuracy {:.4f}, loss {:.4f} on {} test samples\n", result.accuracy,
                           result.loss, material.data.test->size()));
}

}  // namespace

void add_evaluate_command(CLI::App& app, Action& action) {
  auto flags = std::make_shared<EvaluateFlags>();
  CLI::App* command = app.add_subcommand("evaluate", "accuracy and loss of a model on test data");
  command->footer(
      "\nThe specification names the model's kind and the data, as for 'train' and 'serve'. A "
      "file\n"
      "whose tensors or input are others is refused.\n"
      "\n"
      "  ballast evaluate model.safetensors spec.toml\n");
  command->add_option("MODEL", flags->model, "model.safetensors of train, serve, cluster or export")
      ->required();
  add_spec_flags(*command, flags->spec);
  command->add_flag("--json", flags->as_json, "print the result as JSON");
  command->callback([flags, &action] { action = [flags] { return run_evaluate(*flags); }; });
}

}  // namespace ballast::apps
