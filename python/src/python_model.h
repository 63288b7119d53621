#pragma once
// A model whose gradients a Python callable computes, for the trainer that runs every other model.
// ballast/_network.py has the callables for PyTorch.

#include <nanobind/nanobind.h>

#include <exception>
#include <memory>
#include <vector>

#include "ballast/learn/model.h"

namespace ballast::python {

// What Python has raised inside a call of the library, to be raised again when the library returns.
class Raised {
 public:
  // Keeps the first one and says so in the library's own way. Requires: the interpreter's lock.
  Error keep(std::exception_ptr exception);
  // Requires: the interpreter's lock.
  void rethrow_if_any();

 private:
  std::exception_ptr first_;
};

// Borrowed from the caller of Python, who holds them as long as the model lives:
//   gradient(model, indices, labels, seed, out, statistics) -> loss
//   evaluate(model, statistics) -> (loss, accuracy)
// Arrays are views of the library's memory, valid during the call; statistics is None where they
// must not move.
struct PythonNetwork {
  nanobind::callable gradient = {};
  nanobind::callable evaluate = {};
  std::vector<float> initial_parameters = {};
  std::vector<float> initial_statistics = {};
  int class_count = 0;
};

// Calls take the interpreter's lock. They come from one thread at a time.
class PythonModel final : public learn::Model {
 public:
  PythonModel(PythonNetwork network, std::shared_ptr<Raised> raised);
  ~PythonModel() override;

  std::size_t dim() const noexcept override { return network_->initial_parameters.size(); }
  std::span<const learn::TensorSlot> parameters() const noexcept override { return {}; }
  std::span<const learn::TensorSlot> statistics() const noexcept override { return {}; }
  std::vector<float> initial_parameters(std::uint64_t) const override {
    return network_->initial_parameters;
  }
  std::vector<float> initial_statistics() const override { return network_->initial_statistics; }
  Result<std::unique_ptr<worker::GradientSource>> make_source(
      const learn::TrainingData& training) const override;
  Result<std::unique_ptr<worker::Evaluator>> make_evaluator(
      std::shared_ptr<const data::Dataset> test) const override;

 private:
  std::shared_ptr<PythonNetwork> network_;
  std::shared_ptr<Raised> raised_;
};

// What PyTorch's random numbers begin from for a sample: those of dropout.
std::uint64_t forward_seed(const worker::SampleKey& key);

// The samples of a Python data set as the library sees them: their number and their classes. The
// values stay in Python. Without labels every sample is of class 0.
Result<std::shared_ptr<const data::Dataset>> stand_in(std::size_t size, std::vector<int> labels,
                                                      int class_count);

}  // namespace ballast::python
