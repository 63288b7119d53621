// A training loop of one's own with the server as a plain object in it: no network, no threads. The
// worker keeps the momentum, the server the rows, the weights and the model.

#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "ballast/parameter_server.h"
#include "ballast/worker.h"

namespace {

const std::vector<float> kTruth = {2.0f, -1.0f, 0.5f};
constexpr std::uint32_t kWorkers = 5;  // the last one lies
const ballast::Optimizer kOptimizer = {.kind = ballast::OptimizerKind::kMomentum, .eta = 0.02};

class Bowl final : public ballast::GradientSource {
 public:
  std::size_t dim() const override { return kTruth.size(); }
  ballast::Result<double> gradient(std::span<const float> model, const ballast::Sample& sample,
                                   std::span<float> out, std::span<float>) override {
    std::mt19937_64 generator(sample.key.mixed());
    std::normal_distribution<float> noise(0.0f, 0.3f);
    double loss = 0.0;
    for (std::size_t j = 0; j < out.size(); ++j) {
      out[j] = model[j] - kTruth[j] + noise(generator);
      loss += 0.5 * out[j] * out[j];
    }
    return loss;
  }
};

ballast::Status run() {
  BALLAST_TRY(auto server,
              ballast::ParameterServer::make(kWorkers, {.start = std::vector<float>(kTruth.size()),
                                                        .optimizer = kOptimizer,
                                                        .rule = "ctma(gm, 0.3)",
                                                        .weights = "f-cap(1, 0.25)"}));
  const auto bowl = std::make_shared<Bowl>();
  std::vector<ballast::Worker> workers;
  std::vector<ballast::Snapshot> models;  // that each worker computes on
  for (std::uint32_t i = 0; i < kWorkers; ++i) {
    BALLAST_TRY(auto worker, ballast::Worker::make({.number = i, .optimizer = kOptimizer}, bowl));
    workers.push_back(std::move(worker));
    BALLAST_TRY(auto model, server.join(i));
    models.push_back(std::move(model));
  }

  std::mt19937 generator(1);
  for (int t = 0; t < 2000; ++t) {
    const std::uint32_t who = t % 2 == 0 ? kWorkers - 1 : generator() % kWorkers;
    BALLAST_TRY(const auto update, workers[who].update(*models[who].values));
    std::vector<float> sent(update.values.begin(), update.values.end());
    if (who == kWorkers - 1) sent.assign(sent.size(), 100.0f);
    BALLAST_TRY(auto outcome, server.update(who, sent));
    models[who] = std::move(outcome.next);
  }

  BALLAST_TRY(const auto liar, server.worker(kWorkers - 1));
  BALLAST_TRY(const auto model, server.model());
  double distance = 0.0;
  for (std::size_t j = 0; j < kTruth.size(); ++j) {
    distance = std::max(distance, std::abs(double{(*model.values)[j]} - kTruth[j]));
  }
  std::printf("%llu updates, more than half of them lies: %s, the model is %s the truth\n",
              static_cast<unsigned long long>(server.accepted_count()),
              liar.count > 1000 ? "yes" : "no", distance < 0.3 ? "close to" : "far from");
  return {};
}

}  // namespace

int main() {
  const ballast::Status status = run();
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
