#pragma once
// Private to simulate/: one life of the simulated server, from a start or a resume to its end. It
// is put together like a served one (service/serve.cc), from the same parts, without threads and
// sockets.

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/service/checkpoint_writer.h"
#include "ballast/service/server_hooks.h"
#include "ballast/simulate/components.h"
#include "ballast/simulate/scenario.h"
#include "ballast/transport/exchange.h"

namespace ballast::simulate {

// The world around it. Borrowed.
struct ServerSurroundings {
  store::FileSystem* disk = nullptr;
  std::function<Instant()> now;
  std::function<void(Instant)> sleep;
  service::EventSink events;
  // Around the hooks of the service.
  std::function<transport::ExchangeHooks(transport::ExchangeHooks)> watch;
};

class ServerLife {
 public:
  static Result<std::unique_ptr<ServerLife>> start(const Scenario& seen,
                                                   const ServerComponents& components,
                                                   bool is_resume,
                                                   const ServerSurroundings& surroundings);

  transport::Exchange& exchange() { return *exchange_; }
  service::ServerHooks& hooks() { return *hooks_; }
  const std::optional<service::ResumeFacts>& resumed() const noexcept { return resumed_; }
  // Under which the workers of a checkpoint had joined, by number; empty where that is not known.
  const std::vector<std::string>& certificates() const noexcept { return certificates_; }
  std::uint64_t incarnation() const noexcept { return incarnation_; }
  void stop_waiting() { stop_ = true; }

 private:
  ServerLife() = default;

  std::unique_ptr<store::FileSystem> own_disk_;  // of a mutant
  std::atomic<bool> stop_ = false;
  std::optional<service::ResumeFacts> resumed_;
  std::vector<std::string> certificates_;
  std::uint64_t incarnation_ = 0;
  // Each is used by the next one, and so outlives it.
  std::unique_ptr<service::ServerHooks> hooks_;
  std::unique_ptr<transport::Exchange> exchange_;
};

// The server of a scenario, with those options for admission.
Result<server::ParameterServer> make_simulated_server(const Scenario& scenario,
                                                      const ServerComponents& components,
                                                      const server::AdmissionOptions& admission);

std::string worker_name(std::uint32_t worker);
std::vector<std::string> worker_names(std::size_t workers);

inline constexpr const char* kStateFolder = "/run";
inline constexpr const char* kConfiguration = "simulated";

}  // namespace ballast::simulate
