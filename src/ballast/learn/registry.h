#pragma once
// Every built-in model by name: the one table that the program, the errors and the documents print.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/data/dataset.h"
#include "ballast/learn/model.h"

namespace ballast::learn {

// What computes the gradients of a built-in model.
enum class Engine {
  kNative,  // nn/: fast
  kTorch,   // LibTorch: slow, to compare with
};

struct ModelOptions {
  std::string name;  // of a built-in model, or the path of a TorchScript file, which ends in .pt
  Engine engine = Engine::kNative;  // LibTorch runs TorchScript files whatever this says
  data::Shape input = {};
  int class_count = 0;
  std::size_t hidden = 100;  // mlp: units of the hidden layer
};

struct ModelEntry {
  std::string_view name;
  std::string_view summary;
};

// In the order in which they are to be listed.
std::span<const ModelEntry> model_registry() noexcept;

// Refuses unknown names (suggesting the nearest), inputs and classes that the model is not made
// for, files that hold no usable model, and LibTorch in a build without it.
Result<std::shared_ptr<const Model>> make_model(const ModelOptions& options);

}  // namespace ballast::learn
