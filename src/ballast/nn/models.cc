#include "ballast/nn/models.h"

#include "ballast/base/check.h"

namespace ballast::nn {
namespace {

Network paper_cnn(const LayerShape& input) {
  Result<Network> network = Network::make({
      .input = input,
      .layers = {Conv2d{.channels = 20, .kernel = 5}, Relu{}, MaxPool{},
                 Conv2d{.channels = 50, .kernel = 5}, Relu{}, MaxPool{}, Flatten{},
                 Linear{.features = 50}, BatchNorm{}, Relu{}, Linear{.features = 10}},
      .classes = 10,
  });
  BALLAST_CHECK(network.has_value(), "the shapes of the paper's networks fit");
  return *network;
}

}  // namespace

Network mnist_cnn() { return paper_cnn({1, 28, 28}); }
Network cifar10_cnn() { return paper_cnn({3, 32, 32}); }

Result<Network> softmax(const LayerShape& input, std::size_t classes) {
  return Network::make(
      {.input = input, .layers = {Flatten{}, Linear{.features = classes}}, .classes = classes});
}

Result<Network> mlp(const LayerShape& input, std::size_t hidden, std::size_t classes) {
  return Network::make({
      .input = input,
      .layers = {Flatten{}, Linear{.features = hidden}, Relu{}, Linear{.features = classes}},
      .classes = classes,
  });
}

}  // namespace ballast::nn
