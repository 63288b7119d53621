#pragma once
// The seam between this room and LibTorch. LibTorch takes 0.4 s and 160 MB to load, so what uses it
// is a library of its own, opened when the first model asks for it. Only plain values and these
// interfaces pass the seam, and no exception.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/data/dataset.h"
#include "ballast/learn/model.h"
#include "ballast/nn/network.h"

namespace ballast::learn {

// Samples one after another, each channels x height x width.
struct TorchBatch {
  data::Shape shape;
  std::span<const float> images;
  std::span<const std::int64_t> labels;
};

struct TorchSums {
  double loss = 0.0;
  std::size_t correct = 0;
};

// A network on one CPU thread, whoever calls.
//
// Thread-safety: any number of threads.
// Determinism: functions of the arguments.
class TorchNetwork {
 public:
  virtual ~TorchNetwork() = default;

  // As worker::GradientSource::gradient. The seed fixes what the network draws (dropout).
  virtual Result<double> gradient(std::span<const float> model, const TorchBatch& batch,
                                  std::uint64_t seed, std::span<float> out,
                                  std::span<float> statistics) const = 0;

  // Sums over the samples.
  virtual Result<TorchSums> evaluate(std::span<const float> model,
                                     std::span<const float> statistics,
                                     const TorchBatch& batch) const = 0;
};

// What a TorchScript file holds.
struct TorchScript {
  std::shared_ptr<const TorchNetwork> network;
  std::vector<TensorSlot> parameters;
  std::vector<TensorSlot> statistics;
  std::vector<float> initial_parameters;
  std::vector<float> initial_statistics;
};

struct TorchScriptOptions {
  std::string path;
  data::Shape input;
  int class_count = 0;
};

// Thread-safety: any number of threads.
class TorchEngine {
 public:
  virtual ~TorchEngine() = default;

  virtual std::shared_ptr<const TorchNetwork> make_twin(
      std::shared_ptr<const nn::Network> network) const = 0;

  // Refuses a file that is not TorchScript, has nothing to train, or does not give one value per
  // class and sample. Errors name the file.
  virtual Result<TorchScript> load_script(const TorchScriptOptions& options) const = 0;
};

// Loads LibTorch on the first call. An error in a build without it, or where it cannot be loaded.
Result<const TorchEngine*> torch_engine();

// Changes with every change of this header: a library built from another is refused.
inline constexpr int kTorchSeamVersion = 1;
// The function by which the library hands out its engine; null for another version.
using TorchEngineFunction = const TorchEngine* (*)(int version);
inline constexpr const char* kTorchEngineSymbol = "ballast_torch_engine";

}  // namespace ballast::learn
