#include "ballast/learn/registry.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <vector>

#include "ballast/base/nearest_word.h"
#include "ballast/learn/native_model.h"
#include "ballast/learn/network_slots.h"
#include "ballast/learn/torch_model.h"
#include "ballast/nn/models.h"

namespace ballast::learn {
namespace {

using Options = ModelOptions;

nn::LayerShape input_of(const Options& options) {
  return {options.input.channels, options.input.height, options.input.width};
}

std::size_t classes_of(const Options& options) {
  return static_cast<std::size_t>(std::max(options.class_count, 0));
}

Result<nn::Network> make_mlp(const Options& options) {
  if (options.hidden == 0) return invalid_argument("an mlp has at least 1 hidden unit, not 0");
  return nn::mlp(input_of(options), options.hidden, classes_of(options));
}

struct Builtin {
  ModelEntry entry;
  Result<nn::Network> (*make)(const Options& options);
};

constexpr std::array kBuiltins = {
    Builtin{{"mnist-cnn", "the paper's network for 28 x 28 grey images, 66,230 parameters"},
            [](const Options&) -> Result<nn::Network> { return nn::mnist_cnn(); }},
    Builtin{{"cifar10-cnn", "the paper's network for 32 x 32 colour images, 89,730 parameters"},
            [](const Options&) -> Result<nn::Network> { return nn::cifar10_cnn(); }},
    Builtin{
        {"softmax", "softmax regression on samples of any shape"},
        [](const Options& options) { return nn::softmax(input_of(options), classes_of(options)); }},
    Builtin{{"mlp", "one hidden layer of ReLUs on samples of any shape"}, make_mlp},
};

constexpr auto kEntries = [] {
  std::array<ModelEntry, kBuiltins.size()> entries;
  std::ranges::transform(kBuiltins, entries.begin(), &Builtin::entry);
  return entries;
}();

tl::unexpected<Error> unknown_name(std::string_view name) {
  std::vector<std::string_view> names(kEntries.size());
  std::ranges::transform(kEntries, names.begin(), &ModelEntry::name);
  const auto nearest = nearest_word(name, names);
  const std::string hint =
      nearest ? fmt::format("did you mean '{}'?", *nearest)
              : std::string("a file of your own must be TorchScript and end in .pt");
  return not_found(fmt::format("there is no model '{}'; {}", name, hint));
}

// The paper's networks have an input and classes of their own.
Status check_made_for(const nn::Network& network, const Options& options) {
  const nn::LayerShape& made = network.input();
  const data::Shape& given = options.input;
  if (learn::input_of(network) == given && class_count_of(network) == options.class_count) {
    return {};
  }
  return invalid_argument(fmt::format(
      "model '{}' is made for samples of {} x {} x {} in {} classes, not {} x {} x {} in {}; try "
      "'softmax' or 'mlp'",
      options.name, made.channels, made.height, made.width, network.classes(), given.channels,
      given.height, given.width, options.class_count));
}

Result<nn::Network> make_network(const Options& options) {
  const auto* builtin =
      std::ranges::find(kBuiltins, options.name, [](const Builtin& b) { return b.entry.name; });
  if (builtin == kBuiltins.end()) return unknown_name(options.name);
  Result<nn::Network> network = builtin->make(options);
  if (!network) {
    return invalid_argument(fmt::format("model '{}': {}", options.name, network.error().message));
  }
  BALLAST_TRY_STATUS(check_made_for(*network, options));
  return network;
}

}  // namespace

std::span<const ModelEntry> model_registry() noexcept { return kEntries; }

Result<std::shared_ptr<const Model>> make_model(const ModelOptions& options) {
  if (options.name.ends_with(".pt")) {
    return load_torch_script({options.name, options.input, options.class_count});
  }
  BALLAST_TRY(nn::Network network, make_network(options));
  if (options.engine == Engine::kTorch) return make_torch_twin(std::move(network));
  return make_native_model(std::move(network));
}

}  // namespace ballast::learn
