#include "ballast/learn/torch_script.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/grad_mode.h>
#include <fmt/core.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "ballast/learn/pool.h"
#include "ballast/learn/torch_calls.h"

namespace ballast::learn {
namespace {

using torch::jit::Module;

// The tensors of a module that concern us, in the order in which it names them. A tensor with
// several names is listed once.
struct Tensors {
  std::vector<std::string> names;
  std::vector<at::Tensor> tensors;

  void add(const std::string& name, const at::Tensor& tensor) {
    const auto is_known = [&](const at::Tensor& known) { return known.is_same(tensor); };
    if (std::any_of(tensors.begin(), tensors.end(), is_known)) return;
    names.push_back(name);
    tensors.push_back(tensor);
  }
};

struct ModuleTensors {
  Tensors parameters;  // that require a gradient
  Tensors statistics;  // buffers of floats
  Tensors others;      // buffers of anything else, such as counters
};

ModuleTensors tensors_of(const Module& module) {
  ModuleTensors found;
  for (const auto& [name, tensor] : module.named_parameters()) {
    if (tensor.requires_grad()) found.parameters.add(name, tensor);
  }
  for (const auto& [name, tensor] : module.named_buffers()) {
    (tensor.scalar_type() == at::kFloat ? found.statistics : found.others).add(name, tensor);
  }
  return found;
}

void check_parameters(const Tensors& parameters) {
  if (parameters.tensors.empty()) {
    throw std::runtime_error("it has no parameters that require a gradient");
  }
  for (std::size_t i = 0; i < parameters.tensors.size(); ++i) {
    if (parameters.tensors[i].scalar_type() == at::kFloat) continue;
    throw std::runtime_error(
        fmt::format("parameter '{}' is not of type float32", parameters.names[i]));
  }
}

std::vector<TensorSlot> slots_of(const Tensors& named) {
  std::vector<TensorSlot> slots;
  std::size_t offset = 0;
  for (std::size_t i = 0; i < named.tensors.size(); ++i) {
    const at::IntArrayRef shape = named.tensors[i].sizes();
    slots.push_back({named.names[i], {shape.begin(), shape.end()}, offset});
    offset += static_cast<std::size_t>(named.tensors[i].numel());
  }
  return slots;
}

// Between the tensors of a module and a flat vector. An undefined tensor stands for zeros.
void write_flat(const std::vector<at::Tensor>& tensors, std::span<const TensorSlot> slots,
                std::span<float> flat) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::vector<std::int64_t> shape(slots[i].shape.begin(), slots[i].shape.end());
    at::Tensor view = view_of(flat.data() + slots[i].offset, shape);
    if (tensors[i].defined()) {
      view.copy_(tensors[i].detach());
    } else {
      view.zero_();
    }
  }
}

void read_flat(std::span<const float> flat, const std::vector<at::Tensor>& tensors) {
  const float* values = flat.data();
  for (const at::Tensor& tensor : tensors) {
    tensor.copy_(view_of(values, std::span(tensor.sizes().begin(), tensor.sizes().end())));
    values += tensor.numel();
  }
}

std::vector<float> flat_of(const Tensors& named, std::span<const TensorSlot> slots) {
  std::int64_t size = 0;
  for (const at::Tensor& tensor : named.tensors) size += tensor.numel();
  std::vector<float> flat(static_cast<std::size_t>(size));
  write_flat(named.tensors, slots, flat);
  return flat;
}

// LibTorch has one random generator for all threads, so whoever may draw from it takes turns.
std::mutex& generator_turn() {
  static std::mutex turn;
  return turn;
}

void seed_generator(std::uint64_t seed) {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::scoped_lock lock(generator.mutex());
  generator.set_current_seed(seed);
}

// A copy of the module for one call at a time.
struct Copy {
  explicit Copy(const Module& original) : module(original.deepcopy()) {
    // Copying loses which parameters require a gradient.
    const auto copies = module.named_parameters();
    auto copied = copies.begin();
    for (const auto& [name, tensor] : original.named_parameters()) {
      at::Tensor((*copied).value).requires_grad_(tensor.requires_grad());
      ++copied;
    }
    tensors = tensors_of(module);
  }

  Module module;
  ModuleTensors tensors;
};

class Script final : public TorchNetwork {
 public:
  Script(TorchScriptOptions options, Module module)
      : options_(std::move(options)),
        module_(std::move(module)),
        original_(tensors_of(module_)),
        parameter_slots_(slots_of(original_.parameters)),
        statistic_slots_(slots_of(original_.statistics)),
        pool_([this] {
          const at::NoGradGuard no_gradients;
          return std::make_unique<Copy>(module_);
        }) {}

  Result<double> gradient(std::span<const float> model, const TorchBatch& batch, std::uint64_t seed,
                          std::span<float> out, std::span<float> statistics) const override {
    return without_exceptions(who(), [&] {
      const OneThread one_thread;
      const auto copy = pool_.borrow();
      prepare(*copy, model, statistics);
      const at::Tensor outputs = forward(*copy, batch, seed, true);
      const auto& tensors = copy->tensors;
      const auto found = differentiate(outputs, batch, tensors.parameters.tensors);
      write_flat(found.gradients, parameter_slots_, out);
      if (!statistics.empty()) {
        write_flat(tensors.statistics.tensors, statistic_slots_, statistics);
      }
      return found.loss;
    });
  }

  Result<TorchSums> evaluate(std::span<const float> model, std::span<const float> statistics,
                             const TorchBatch& batch) const override {
    return without_exceptions(who(), [&] {
      const OneThread one_thread;
      const at::NoGradGuard no_gradients;
      const auto copy = pool_.borrow();
      prepare(*copy, model, statistics);
      return sums_of(forward(*copy, batch, 0, false), batch);
    });
  }

  TorchScript parts(std::shared_ptr<const TorchNetwork> self) const {
    return {.network = std::move(self),
            .parameters = parameter_slots_,
            .statistics = statistic_slots_,
            .initial_parameters = flat_of(original_.parameters, parameter_slots_),
            .initial_statistics = flat_of(original_.statistics, statistic_slots_)};
  }

 private:
  std::string who() const { return "model '" + options_.path + "'"; }

  // Leaves nothing of the calls before; without statistics those of the file.
  void prepare(Copy& copy, std::span<const float> model, std::span<const float> statistics) const {
    const at::NoGradGuard no_gradients;
    read_flat(model, copy.tensors.parameters.tensors);
    if (!statistics.empty()) {
      read_flat(statistics, copy.tensors.statistics.tensors);
    } else {
      restore(original_.statistics, copy.tensors.statistics);
    }
    restore(original_.others, copy.tensors.others);
  }

  static void restore(const Tensors& from, const Tensors& to) {
    for (std::size_t i = 0; i < from.tensors.size(); ++i) to.tensors[i].copy_(from.tensors[i]);
  }

  at::Tensor forward(Copy& copy, const TorchBatch& batch, std::uint64_t seed,
                     bool is_training) const {
    // The optimizer learns from the first calls, so that later ones would give other roundings.
    const torch::jit::GraphOptimizerEnabledGuard no_optimizer(false);
    copy.module.train(is_training);
    const std::scoped_lock turn(generator_turn());
    seed_generator(seed);
    const c10::IValue result = copy.module.forward({images_of(batch)});
    if (!result.isTensor()) throw std::runtime_error("forward() does not give a tensor");
    check_outputs(result.toTensor(), batch.labels.size());
    return result.toTensor();
  }

  void check_outputs(const at::Tensor& outputs, std::size_t samples) const {
    const bool fits = outputs.dim() == 2 && outputs.scalar_type() == at::kFloat &&
                      outputs.size(0) == static_cast<std::int64_t>(samples) &&
                      outputs.size(1) == options_.class_count;
    if (fits) return;
    throw std::runtime_error(
        fmt::format("forward() gives {} of shape {} for {} samples; {} x {} float32 are needed",
                    c10::toString(outputs.scalar_type()), shape_text(outputs), samples, samples,
                    options_.class_count));
  }

  static std::string shape_text(const at::Tensor& tensor) {
    std::string text;
    for (const std::int64_t extent : tensor.sizes()) {
      text += fmt::format("{}{}", text.empty() ? "" : " x ", extent);
    }
    return text.empty() ? "()" : text;
  }

  TorchScriptOptions options_;
  Module module_;
  ModuleTensors original_;
  std::vector<TensorSlot> parameter_slots_;
  std::vector<TensorSlot> statistic_slots_;
  mutable Pool<Copy> pool_;
};

Status try_out(const Script& script, const TorchScript& parts, const TorchScriptOptions& options) {
  const std::vector<float> images(2 * options.input.size());
  const std::vector<std::int64_t> labels(2);
  const TorchBatch batch = {options.input, images, labels};
  std::vector<float> gradient(parts.initial_parameters.size());
  BALLAST_TRY_STATUS(script.gradient(parts.initial_parameters, batch, 0, gradient, {}));
  BALLAST_TRY_STATUS(script.evaluate(parts.initial_parameters, parts.initial_statistics, batch));
  return {};
}

}  // namespace

Result<TorchScript> load_script_network(const TorchScriptOptions& options) {
  const std::string who = "model '" + options.path + "'";
  std::error_code error;
  if (!std::filesystem::exists(options.path, error)) {
    return not_found("there is no model file '" + options.path + "'");
  }
  BALLAST_TRY(
      Module module,
      without_exceptions(who + " is no TorchScript file, as "
                               "torch.jit.save() writes them",
                         [&] { return torch::jit::load(options.path, c10::Device(at::kCPU)); }));
  BALLAST_TRY(const auto script, without_exceptions(who, [&] {
                check_parameters(tensors_of(module).parameters);
                return std::make_shared<const Script>(options, std::move(module));
              }));
  TorchScript parts = script->parts(script);
  BALLAST_TRY_STATUS(try_out(*script, parts, options));
  return parts;
}

}  // namespace ballast::learn
