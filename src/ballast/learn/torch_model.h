#pragma once
// Models computed by LibTorch. In a build without it the functions give an error that says so.

#include <memory>

#include "ballast/base/error.h"
#include "ballast/learn/model.h"
#include "ballast/learn/torch_engine.h"
#include "ballast/nn/network.h"

namespace ballast::learn {

// The slow twin of make_native_model(network): the same tensors, start, batches and statistics.
Result<std::shared_ptr<const Model>> make_torch_twin(nn::Network network);

// A user's own network: forward() takes N x channels x height x width floats and gives
// N x class_count values before the softmax.
//
// Its parameters are those that require a gradient, its statistics the other tensors of floats that
// the file keeps as buffers. Gradients are taken in training mode, evaluations in evaluation mode.
// It starts from the values in the file, whatever the seed. What it draws (dropout) is a function
// of the sample's key, so that two gradients of one sample use the same mask; LibTorch has one
// generator for all threads, so forward passes take turns.
Result<std::shared_ptr<const Model>> load_torch_script(const TorchScriptOptions& options);

}  // namespace ballast::learn
