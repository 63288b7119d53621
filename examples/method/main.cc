// A server method of one's own: the average of the last K updates, applied as soon as there are K.
// The class below is all that a method is; the rest shows that it works wherever the built-in one
// does: in the simulator, over the network, through a crash and a resume, and on the status page.
//
//   example_method FOLDER         simulates, then serves 60 updates, and is killed before its end
//   example_method FOLDER again   goes on from what the folder holds, to 120

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ballast/client.h"
#include "ballast/server.h"
#include "ballast/simulation.h"

namespace {

using ballast::Answer, ballast::Result, ballast::Status;
using Vector = std::vector<float>;

class LastUpdates final : public ballast::Method {
 public:
  explicit LastUpdates(std::size_t size) : size_(size), ring_(size) {}

  std::string description() const override { return "last-updates(" + std::to_string(size_) + ")"; }

  Answer on_update(const ballast::AcceptedUpdate& update) override {
    ring_[seen_++ % size_].assign(update.values.begin(), update.values.end());
    if (seen_ < size_) return Answer::nothing();
    mean_.assign(update.values.size(), 0.0f);
    for (const Vector& values : ring_) {
      for (std::size_t j = 0; j < mean_.size(); ++j) mean_[j] += values[j] / float(size_);
    }
    return Answer::along(mean_);
  }

  std::vector<ballast::NamedNumber> figures() const override { return {{"seen", double(seen_)}}; }

  ballast::MethodStateView state() const override {
    ballast::MethodStateView view{.numbers = {{"seen", {double(seen_)}}}, .vectors = {}};
    for (std::size_t i = 0; i < ring_.size(); ++i) {
      view.vectors.push_back({"update-" + std::to_string(i), seen_, ring_[i]});
    }
    return view;
  }

  Status restore(ballast::MethodState state) override {
    const auto* seen = state.find_numbers("seen");
    if (seen == nullptr || seen->values.size() != 1 || state.vectors.size() != size_) {
      return ballast::invalid_argument("the state is not one of the last updates");
    }
    seen_ = static_cast<std::size_t>(seen->values[0]);
    for (std::size_t i = 0; i < size_; ++i) ring_[i] = std::move(state.vectors[i].values);
    return {};
  }

 private:
  std::size_t size_;
  std::size_t seen_ = 0;
  std::vector<Vector> ring_;
  Vector mean_;
};

const Vector kTruth = {2.0f, -1.0f, 0.5f};

// The gradient of |model - truth|^2 / 2, a little noisy.
class Bowl final : public ballast::GradientSource {
 public:
  std::size_t dim() const override { return kTruth.size(); }
  Result<double> gradient(std::span<const float> model, const ballast::Sample& sample,
                          std::span<float> out, std::span<float>) override {
    std::mt19937_64 generator(sample.key.mixed());
    std::normal_distribution<float> noise(0.0f, 0.1f);
    for (std::size_t j = 0; j < out.size(); ++j) out[j] = model[j] - kTruth[j] + noise(generator);
    return 0.0;
  }
};

ballast::Training training() {
  return {.start = Vector(kTruth.size()),
          .optimizer = {.eta = 0.1},
          .method = std::make_unique<LastUpdates>(5)};
}

void tell(const char* where, std::uint64_t updates, const Vector& model) {
  double sum = 0.0;
  for (std::size_t j = 0; j < kTruth.size(); ++j) sum += std::pow(model[j] - kTruth[j], 2.0);
  std::printf("%s: %llu updates, the model is %s the truth\n", where,
              static_cast<unsigned long long>(updates),
              std::sqrt(sum) < 0.2 ? "close to" : "far from");
}

Status simulate() {
  BALLAST_TRY(
      const auto result,
      ballast::simulate(training(),
                        {.honest = 3, .updates = 200, .sources = {std::make_shared<Bowl>()}}));
  tell("in the simulator", result.accepted, *result.model.values);
  return {};
}

// The worker ann sends 60 updates.
Status work(std::uint16_t port) {
  BALLAST_TRY(auto client, ballast::Client::make({.server = "127.0.0.1:" + std::to_string(port),
                                                  .name = "ann",
                                                  .dim = kTruth.size()}));
  BALLAST_TRY(ballast::ReceivedModel model, client.join());
  for (int i = 0; i < 60; ++i) {
    Vector update(model.values.begin(), model.values.end());
    for (std::size_t j = 0; j < update.size(); ++j) update[j] -= kTruth[j];
    BALLAST_TRY(const auto outcome, client.push(update));
    model = outcome.next;
  }
  return {};
}

Status serve(const std::string& folder, bool is_resume) {
  BALLAST_TRY(auto server, ballast::Server::start(training(), {.run = "example",
                                                               .names = {"ann", "bob", "cleo"},
                                                               .state = folder,
                                                               .is_resume = is_resume,
                                                               .checkpoint_every = 20}));
  if (is_resume) {
    std::printf("resumed with %llu updates\n",
                static_cast<unsigned long long>(server.resumed_count()));
  }
  BALLAST_TRY_STATUS(work(server.port()));
  BALLAST_TRY(const auto model, server.model());
  BALLAST_TRY(const auto accepted, server.accepted_count());
  tell("over the network", accepted, *model.values);
  BALLAST_TRY(const std::string status, server.status());
  const std::size_t start = status.find("\"method\"");
  std::printf("%s\n", status.substr(start, status.find('}', start) + 1 - start).c_str());
  std::fflush(stdout);
  if (!is_resume) std::raise(SIGKILL);  // the power goes; nothing is saved or said
  return server.stop();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: %s FOLDER [again]\n", argv[0]), 2;
  const bool is_resume = argc > 2;
  Status status = is_resume ? Status{} : simulate();
  if (status) status = serve(argv[1], is_resume);
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
