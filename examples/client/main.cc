// A worker of one's own for the server of examples/server: it fits a linear model to points that it
// alone sees. The one called "liar" lies.
//
//   example_client HOST:PORT NAME

#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "ballast/client.h"

namespace {

using Vector = std::vector<float>;

const Vector kTruth = {2.0f, -1.0f, 0.5f, 3.0f};
constexpr std::uint64_t kSchema = 1;  // server and workers must mean the same numbers

// The gradient of (<model, point> - value)^2 / 2 at a random point, whose value is a little noisy.
Vector gradient(std::span<const float> model, std::mt19937_64& generator) {
  std::normal_distribution<float> normal;
  Vector point(model.size());
  double error = 0.1 * normal(generator);
  for (std::size_t j = 0; j < point.size(); ++j) {
    point[j] = normal(generator);
    error += (model[j] - kTruth[j]) * point[j];
  }
  for (float& value : point) value *= static_cast<float>(error);
  return point;
}

ballast::Status train(const std::string& address, const std::string& name) {
  BALLAST_TRY(auto client,
              ballast::Client::make(
                  {.server = address, .name = name, .schema = kSchema, .dim = kTruth.size()}));
  BALLAST_TRY(ballast::ReceivedModel model, client.join());
  std::mt19937_64 generator(std::hash<std::string>{}(name));
  while (!model.is_over) {
    Vector update = gradient(model.values, generator);
    if (name == "liar") update.assign(update.size(), 1000.0f);
    BALLAST_TRY(const auto outcome, client.push(update));
    model = outcome.next;
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s HOST:PORT NAME\n", argv[0]), 2;
  const ballast::Status status = train(argv[1], argv[2]);
  if (!status) std::fprintf(stderr, "%s: %s\n", argv[2], status.error().message.c_str());
  return status ? 0 : 1;
}
