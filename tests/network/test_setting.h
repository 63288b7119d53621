#pragma once
// A small server that averages, for tests.

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ballast/kernels/backend.h"
#include "ballast/optim/server_optimizer.h"
#include "ballast/robust/registry.h"
#include "ballast/server/parameter_server.h"
#include "ballast/server/table_method.h"
#include "ballast/transport/server.h"

namespace ballast::transport {

using Values = std::vector<float>;

// How many times slower than others this build is: limits of time are so much longer.
#if defined(__SANITIZE_THREAD__)
inline constexpr int kSlowness = 4;
#else
inline constexpr int kSlowness = 1;
#endif

struct TestSetting {
  std::size_t dim = 8;
  std::size_t statistic_count = 0;
  std::size_t worker_count = 4;
  std::size_t free_places = 0;  // beside them
  server::WeightPolicy weights = server::CountWeights{};
  std::string rule = "mean";
  double eta = 0.1;
  server::Instant silence_max = server::Instant::zero();
  NetworkServerOptions network = {};
  ExchangeOptions exchange = {};
};

inline server::ParameterServer make_server(const TestSetting& setting) {
  const std::size_t places = setting.worker_count + setting.free_places;
  auto method = server::make_table_method(
      {.worker_count = places, .dim = setting.dim, .weights = setting.weights},
      robust::parse_rule(setting.rule).value(), kernels::make_cpu_backend(1));
  server::AdmissionOptions admission{.free_places = setting.free_places,
                                     .waits_for_use = true,
                                     .silence_max = setting.silence_max};
  for (std::size_t i = 0; i < setting.worker_count; ++i) {
    admission.names.push_back("w" + std::to_string(i));
  }
  const auto* capped = std::get_if<server::CappedWeights>(&setting.weights);
  if (capped != nullptr) admission.lead.f = capped->f;
  return server::ParameterServer::make(
             {.worker_count = places,
              .statistic_count = setting.statistic_count,
              .admission = admission},
             {.method = std::move(method).value(),
              .optimizer =
                  optim::make_sgd_server<float>({.eta = setting.eta}, Values(setting.dim)).value()})
      .value();
}

}  // namespace ballast::transport
