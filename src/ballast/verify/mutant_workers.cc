#include "ballast/verify/mutant_workers.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ballast::verify {
namespace {

// Runs the wrong estimator itself and hands its result d to the real one as a gradient. For the
// second gradient of a sample it answers the d before, so that the real correction vanishes.
class WrongEstimator final : public SourceBetween {
 public:
  WrongEstimator(Problem& problem, EstimatorSlip slip)
      : problem_(problem), slip_(std::move(slip)) {}

  std::size_t dim() const noexcept override { return problem_.dim(); }
  int class_count() const noexcept override { return problem_.class_count(); }
  std::span<const float> initial_statistics() const noexcept override { return {}; }

  Result<double> gradient(std::span<const float> model, const worker::Sample& sample,
                          std::span<float> out, std::span<float>) override {
    Wrong& wrong = of(sample.key.worker);
    double loss = 0.0;
    if (wrong.step != sample.key.step) {
      BALLAST_TRY(loss, advance(wrong, model, sample));
      std::ranges::copy(wrong.d, out.begin());
    } else {
      std::ranges::copy(wrong.d_before, out.begin());
    }
    return loss;
  }

  Result<sim::Next> on_arrival(const sim::ArrivalRecord& record,
                               const server::ParameterServer& server) override {
    Wrong& wrong = of(record.worker);
    wrong.after_older = std::exchange(wrong.after_newest, *server.model().values);
    return sim::Next::kContinue;
  }

 private:
  struct Wrong {
    std::uint64_t step = 0;
    std::vector<float> model{}, d{}, d_before{};
    std::vector<float> after_newest{}, after_older{};  // models right after its last two arrivals
  };

  Wrong& of(std::uint32_t worker) {
    while (wrongs_.size() <= worker) {
      wrongs_.push_back({.after_newest = problem_.start(), .after_older = problem_.start()});
    }
    return wrongs_[worker];
  }

  Result<double> advance(Wrong& wrong, std::span<const float> model, worker::Sample sample) {
    std::vector<float> g(dim()), g_previous(dim());
    BALLAST_TRY(const double loss, problem_.gradient(model, sample, g, {}));
    wrong.step = sample.key.step;
    wrong.d_before = wrong.d;
    if (wrong.step > 1) {
      if (slip_.is_sample_fresh) sample.key.seed += 1'000'000;
      const auto& previous = slip_.is_point_late ? wrong.after_older : wrong.model;
      BALLAST_TRY([[maybe_unused]] const double other,
                  problem_.gradient(previous, sample, g_previous, {}));
      const double keep = 1.0 - slip_.beta(static_cast<double>(wrong.step));
      for (std::size_t j = 0; j < g.size(); ++j) {
        g[j] = static_cast<float>(g[j] + keep * (double{wrong.d_before[j]} - g_previous[j]));
      }
    }
    wrong.d = std::move(g);
    wrong.model.assign(model.begin(), model.end());
    return loss;
  }

  Problem& problem_;
  EstimatorSlip slip_;
  std::vector<Wrong> wrongs_;
};

// Changes the sample before, or the gradient after, the problem is asked.
class WrongSource : public SourceBetween {
 public:
  explicit WrongSource(Problem& problem) : problem_(problem) {}

  std::size_t dim() const noexcept final { return problem_.dim(); }
  int class_count() const noexcept final { return problem_.class_count(); }
  std::span<const float> initial_statistics() const noexcept final { return {}; }
  Result<sim::Next> on_arrival(const sim::ArrivalRecord&, const server::ParameterServer&) final {
    return sim::Next::kContinue;
  }

 protected:
  Problem& problem_;
};

class SharedSamples final : public WrongSource {
 public:
  using WrongSource::WrongSource;
  Result<double> gradient(std::span<const float> model, const worker::Sample& sample,
                          std::span<float> out, std::span<float> statistics) override {
    worker::Sample first = sample;
    first.key.worker = 0;
    return problem_.gradient(model, first, out, statistics);
  }
};

class QueuedReplies final : public WrongSource {
 public:
  using WrongSource::WrongSource;
  Result<double> gradient(std::span<const float> model, const worker::Sample& sample,
                          std::span<float> out, std::span<float> statistics) override {
    if (queues_.size() <= sample.key.worker) queues_.resize(sample.key.worker + 1);
    auto& queue = queues_[sample.key.worker];
    // The second gradient of a sample is that at the model before.
    const bool is_second = queue.size() == sample.key.step;
    if (!is_second) queue.emplace_back(model.begin(), model.end());
    const std::size_t behind = queues_.size() + (is_second ? 2 : 1);
    const auto& used = queue[queue.size() - std::min(behind, queue.size())];
    return problem_.gradient(used, sample, out, statistics);
  }

 private:
  std::vector<std::vector<std::vector<float>>> queues_;  // every model, by worker and step
};

class RoundedGradients final : public WrongSource {
 public:
  RoundedGradients(Problem& problem, double unit) : WrongSource(problem), unit_(unit) {}
  Result<double> gradient(std::span<const float> model, const worker::Sample& sample,
                          std::span<float> out, std::span<float> statistics) override {
    BALLAST_TRY(const double loss, problem_.gradient(model, sample, out, statistics));
    for (float& value : out) value = static_cast<float>(std::round(value / unit_) * unit_);
    return loss;
  }

 private:
  double unit_;
};

}  // namespace

Components with_estimator(const EstimatorSlip& slip) {
  Components components;
  components.make_source = [slip](Problem& problem) {
    return std::make_unique<WrongEstimator>(problem, slip);
  };
  return components;
}

Components with_shared_samples() {
  Components components;
  components.make_source = [](Problem& problem) {
    return std::make_unique<SharedSamples>(problem);
  };
  return components;
}

Components with_queued_replies() {
  Components components;
  components.make_source = [](Problem& problem) {
    return std::make_unique<QueuedReplies>(problem);
  };
  return components;
}

Components with_rounded_gradients(double unit) {
  Components components;
  components.make_source = [unit](Problem& problem) {
    return std::make_unique<RoundedGradients>(problem, unit);
  };
  return components;
}

}  // namespace ballast::verify
