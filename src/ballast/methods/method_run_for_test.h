#pragma once
// A server with a method, and workers that send gradients of a bowl, |model - truth|^2 / 2 with
// unequal curvature and noise. The first worker lies, and workers differ in speed, so that filters,
// delays and refusals all occur.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/methods/registry.h"
#include "ballast/optim/server_optimizer.h"
#include "ballast/server/parameter_server.h"
#include "ballast/server/state.h"

namespace ballast::methods {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

constexpr double kEta = 0.1;

// The gradient of the bowl at the model, with noise that (owner, step) names.
inline Doubles bowl_gradient(const Doubles& model, std::uint32_t owner, std::uint64_t step,
                             double noise = 0.3) {
  Rng rng({.seed = 7, .owner = owner, .step = step});
  Doubles gradient(model.size());
  for (std::size_t j = 0; j < model.size(); ++j) {
    const double truth = 2.0 - static_cast<double>(j);
    gradient[j] = (0.5 + 0.25 * static_cast<double>(j)) * (model[j] - truth) + noise * rng.normal();
  }
  return gradient;
}

constexpr std::uint32_t kServerOwner = 1000;

// Little noise, as of a larger batch.
inline Doubles server_bowl_gradient(const Doubles& model, std::uint64_t draw) {
  return bowl_gradient(model, kServerOwner, draw, 0.05);
}

class BowlServerGradient final : public server::ServerGradient {
 public:
  Status gradient(std::span<const float> model, std::uint64_t draw, std::span<float> out) override {
    const Doubles values = server_bowl_gradient({model.begin(), model.end()}, draw);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = static_cast<float>(values[j]);
    return {};
  }
};

inline MethodSetting bowl_setting(std::size_t workers, std::size_t dim) {
  return {.worker_count = workers,
          .dim = dim,
          .eta = kEta,
          .backend = kernels::make_cpu_backend(1),
          .server_gradient = std::make_shared<BowlServerGradient>()};
}

inline Result<server::ParameterServer> make_server(const std::string& text, std::size_t workers,
                                                   const Floats& start, double eta = kEta) {
  MethodSetting setting = bowl_setting(workers, start.size());
  setting.eta = eta;
  BALLAST_TRY(auto method, make_method(text, std::move(setting)));
  BALLAST_TRY(auto optimizer, optim::make_sgd_server<float>({.eta = eta}, start));
  return server::ParameterServer::make(
      {.worker_count = workers}, {.method = std::move(method), .optimizer = std::move(optimizer)});
}

// What was sent and what became of it.
struct Delivery {
  std::uint32_t worker = 0;
  std::uint64_t version = 0;    // of the model it was computed on
  std::uint64_t staleness = 0;  // versions since
  Floats values;
  server::Outcome outcome;
};

class MethodRun {
 public:
  explicit MethodRun(const std::string& text, std::size_t workers = 7, std::size_t dim = 5)
      : server_(make_server(text, workers, Floats(dim)).value()) {
    for (std::uint32_t i = 0; i < workers; ++i) {
      given_.push_back(server_.on_join(i).value());
    }
  }

  // A run that goes on from a state of another.
  MethodRun(const std::string& text, const MethodRun& before)
      : MethodRun(text, before.server_.worker_count(), before.server_.dim()) {
    const Status is_restored = server_.restore(server::copy(before.server_.state()));
    EXPECT_TRUE(is_restored.has_value()) << is_restored.error().message;
    given_ = before.given_;
    arrivals_ = before.arrivals_;
  }

  Delivery deliver(std::uint32_t worker, Floats values) {
    const server::Assignment& given = given_[worker];
    Delivery delivery{.worker = worker,
                      .version = given.ticket.version,
                      .staleness = server_.model().version - given.ticket.version,
                      .values = std::move(values),
                      .outcome = {}};
    server::Judgement judgement =
        server_.on_update({.worker = worker, .ticket = given.ticket, .values = delivery.values});
    delivery.outcome = judgement.outcome;
    given_[worker] = std::move(judgement.next).value();
    ++arrivals_;
    return delivery;
  }

  // The next worker sends the gradient at the model it was given; the first lies.
  Delivery deliver_next() {
    const std::uint32_t worker = next_worker();
    const auto& model = *given_[worker].model.values;
    Doubles gradient = bowl_gradient({model.begin(), model.end()}, worker, arrivals_);
    if (worker == 0) {
      for (double& value : gradient) value *= -3.0;
    }
    return deliver(worker, Floats(gradient.begin(), gradient.end()));
  }

  server::ParameterServer& server() { return server_; }
  const Floats& model() const { return *server_.model().values; }
  const server::Assignment& given(std::uint32_t worker) const { return given_[worker]; }

 private:
  // The higher its number the faster a worker is; the liar is as fast as the fastest.
  std::uint32_t next_worker() const {
    Rng rng({.seed = 3, .owner = 0, .step = arrivals_});
    const auto count = static_cast<double>(server_.worker_count());
    const auto drawn = static_cast<std::uint32_t>(std::sqrt(rng.uniform()) * count);
    return rng.uniform() < 0.2 ? 0 : std::min(drawn, static_cast<std::uint32_t>(count - 1));
  }

  server::ParameterServer server_;
  std::vector<server::Assignment> given_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace ballast::methods
