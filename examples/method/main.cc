// A server method of one's own: the average of the last K updates, applied as soon as there are K.
// The class below is all that a method is; the rest shows that it works wherever the built-in one
// does: in the simulator, over the network, through a crash and a resume, and on the status page.

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "ballast/base/rng.h"
#include "ballast/server/state.h"
#include "ballast/service/server_status.h"
#include "ballast/sim/cluster.h"
#include "ballast/sim/schedule.h"
#include "ballast/store/store.h"
#include "ballast/transport/client.h"
#include "ballast/transport/server.h"

namespace {

using ballast::Result, ballast::Rng, ballast::Status;
using Vector = std::vector<float>;
namespace optim = ballast::optim;
namespace server = ballast::server;
namespace service = ballast::service;
namespace sim = ballast::sim;
namespace store = ballast::store;
namespace transport = ballast::transport;
namespace worker = ballast::worker;

class LastUpdates final : public server::Method {
 public:
  explicit LastUpdates(std::size_t size) : size_(size) {}

  std::string description() const override { return "last-updates(" + std::to_string(size_) + ")"; }

  server::Answer on_update(const server::AdmittedUpdate& update) override {
    ring_.resize(size_);
    ring_[seen_++ % size_].assign(update.values.begin(), update.values.end());
    if (seen_ < size_) return server::Answer::nothing();
    mean_.assign(update.values.size(), 0.0f);
    for (const Vector& values : ring_) {
      for (std::size_t j = 0; j < mean_.size(); ++j) mean_[j] += values[j] / float(size_);
    }
    return server::Answer::along(mean_);
  }

  // Updates are nobody's once they are in, so there is nothing to take away.
  void remove(std::uint32_t /*worker*/) override {}
  server::WorkerShare worker(std::uint32_t /*worker*/) const override { return {}; }
  std::vector<server::NamedNumber> figures() const override { return {{"seen", double(seen_)}}; }

  server::MethodStateView state() const override {
    server::MethodStateView view{.numbers = {{"seen", {double(seen_)}}}, .vectors = {}};
    for (std::size_t i = 0; i < ring_.size(); ++i) {
      view.vectors.push_back({"update-" + std::to_string(i), seen_, ring_[i]});
    }
    return view;
  }

  Status restore(server::MethodState state, std::span<const std::uint64_t> /*counts*/) override {
    const auto* seen = state.find_numbers("seen");
    if (seen == nullptr || seen->values.size() != 1 || state.vectors.size() > size_) {
      return ballast::invalid_argument("the state is not one of the last updates");
    }
    seen_ = static_cast<std::size_t>(seen->values[0]);
    ring_.assign(size_, {});
    for (std::size_t i = 0; i < state.vectors.size(); ++i) {
      ring_[i] = std::move(state.vectors[i].values);
    }
    return {};
  }

 private:
  std::size_t size_;
  std::size_t seen_ = 0;
  std::vector<Vector> ring_;
  Vector mean_;
};

constexpr std::size_t kWorkers = 3;
constexpr std::uint64_t kSchema = 1;
const Vector kTruth = {2.0f, -1.0f, 0.5f};
const std::vector<std::string> kNames = {"ann", "bob", "cleo"};
const store::RunShape kShape = {
    .config = "example", .worker_count = kWorkers, .dim = kTruth.size(), .statistic_count = 0};

// The gradient of |model - truth|^2 / 2, a little noisy.
class Bowl final : public worker::GradientSource {
 public:
  std::size_t dim() const noexcept override { return kTruth.size(); }
  int class_count() const noexcept override { return 0; }
  std::span<const float> initial_statistics() const noexcept override { return {}; }
  Result<double> gradient(std::span<const float> model, const worker::Sample& sample,
                          std::span<float> out, std::span<float> /*statistics*/) override {
    Rng rng({.seed = sample.key.seed, .owner = sample.key.worker, .step = sample.key.step});
    for (std::size_t j = 0; j < out.size(); ++j) {
      out[j] = model[j] - kTruth[j] + 0.1f * static_cast<float>(rng.normal());
    }
    return 0.0;
  }
};

Result<server::ParameterServer> make_server() {
  BALLAST_TRY(auto optimizer, optim::make_sgd_server<float>({.eta = 0.1}, Vector(kTruth.size())));
  return server::ParameterServer::make(
      {.worker_count = kWorkers, .admission = {.names = kNames}},
      {.method = std::make_unique<LastUpdates>(5), .optimizer = std::move(optimizer)});
}

double distance_to_truth(const server::ParameterServer& server) {
  double sum = 0.0;
  for (std::size_t j = 0; j < kTruth.size(); ++j) {
    sum += std::pow((*server.model().values)[j] - kTruth[j], 2.0);
  }
  return std::sqrt(sum);
}

void tell(const char* where, const server::ParameterServer& server) {
  std::printf("%s: %llu updates, the model is %s the truth\n", where,
              static_cast<unsigned long long>(server.accepted_count()),
              distance_to_truth(server) < 0.2 ? "close to" : "far from");
}

Status simulate() {
  BALLAST_TRY(auto server, make_server());
  BALLAST_TRY(const auto arrivals,
              sim::draw_arrivals(sim::ScheduleOptions{.workers = {.honest = kWorkers}}, 200));
  Bowl bowl;
  const std::vector<worker::GradientSource*> sources(kWorkers, &bowl);
  BALLAST_TRY_STATUS(sim::run({.workers = {.honest = kWorkers}, .estimator = optim::SgdEstimator{}},
                              {.server = server, .sources = sources}, arrivals));
  tell("in the simulator", server);
  return {};
}

// One worker sends so many updates over the network; each is in the journal before it is answered.
Status train(store::Store& store, server::ParameterServer server, int updates) {
  transport::ExchangeOptions exchange;
  exchange.hooks.judged = [&store](const server::ParameterServer& core,
                                   const transport::JudgedUpdate& update) {
    const store::JournalRecord record = {.t = core.accepted_count(),
                                         .worker = update.worker,
                                         .sequence = update.ticket.sequence,
                                         .version = update.ticket.version};
    const bool is_noted = store.append({&record, 1}).has_value();
    return is_noted ? std::nullopt : std::optional(transport::Close::kStopping);
  };
  BALLAST_TRY(auto network,
              transport::NetworkServer::start({.run = "example", .schema_hash = kSchema},
                                              std::move(server), std::move(exchange)));
  BALLAST_TRY(auto client,
              transport::Client::make({.server = "127.0.0.1:" + std::to_string(network.port()),
                                       .name = kNames[0],
                                       .schema_hash = kSchema,
                                       .dim = kTruth.size()}));
  BALLAST_TRY(transport::ClientModel model, client.join());
  for (int i = 0; i < updates; ++i) {
    Vector update(model.values.begin(), model.values.end());
    for (std::size_t j = 0; j < update.size(); ++j) update[j] -= kTruth[j];
    BALLAST_TRY(const transport::PushResult result, client.push(update));
    model = result.next;
  }
  Status saved;
  network.exchange().inspect([&](const server::ParameterServer& core) {
    tell("over the network", core);
    const std::string status = service::status_json(service::status_of(core, {}));
    const std::size_t start = status.find("\"method\"");
    std::printf("%s\n", status.substr(start, status.find('}', start) + 1 - start).c_str());
    if (auto report = store.save(core.state(), 0); !report) saved = tl::unexpected(report.error());
  });
  return saved;
}

// The server goes away after 60 updates, and another process would go on just like this.
Status serve_through_a_crash(const std::filesystem::path& folder) {
  {
    BALLAST_TRY(auto server, make_server());
    BALLAST_TRY(auto store, store::Store::create(folder, "example", kShape, server.state(), 0));
    BALLAST_TRY_STATUS(train(store, std::move(server), 60));
  }
  BALLAST_TRY(auto resumed, store::Store::resume(folder, kShape));
  BALLAST_TRY(auto server, make_server());
  BALLAST_TRY_STATUS(server.restore(std::move(resumed.state)));
  server.begin_incarnation(resumed.store.incarnation());
  std::printf("resumed: %s with %llu updates\n", server.method().description().c_str(),
              static_cast<unsigned long long>(server.accepted_count()));
  return train(resumed.store, std::move(server), 60);
}

Status run() {
  BALLAST_TRY_STATUS(simulate());
  std::string folder = std::filesystem::temp_directory_path() / "ballast_method_XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return ballast::io_error("cannot make a folder");
  Status status = serve_through_a_crash(folder);
  std::filesystem::remove_all(folder);
  return status;
}

}  // namespace

int main() {
  const Status status = run();
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
