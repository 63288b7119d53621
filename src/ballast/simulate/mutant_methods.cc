#include "ballast/simulate/mutant_methods.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "ballast/simulate/wrapped_method.h"

namespace ballast::simulate {
namespace {

class RefusesRemoved final : public WrappedMethod {
 public:
  using WrappedMethod::WrappedMethod;
  Status restore(server::MethodState state,
                 std::span<const std::uint64_t> lifetime_counts) override {
    const auto* counts = state.find_numbers("counts");
    for (std::size_t i = 0; counts != nullptr && i < counts->values.size(); ++i) {
      if (counts->values[i] == static_cast<double>(lifetime_counts[i])) continue;
      return invalid_argument("the record of a worker contradicts itself");
    }
    return WrappedMethod::restore(std::move(state), lifetime_counts);
  }
};

// The lead limit of 0.1.0: by the count of the row.
class LeadByRow final : public WrappedMethod {
 public:
  LeadByRow(server::MethodPointer inner, const Scenario& scenario)
      : WrappedMethod(std::move(inner)), lead_(scenario.lead), workers_(scenario.workers) {}

  bool wants(std::uint32_t worker) const override {
    std::vector<std::uint64_t> counts;
    for (std::uint32_t i = 0; i < workers_; ++i) counts.push_back(inner().worker(i).count);
    const auto own = static_cast<double>(counts[worker]);
    std::ranges::sort(counts, std::greater<>());
    const auto pace = static_cast<double>(counts[std::min(lead_.f, workers_ - 1)]);
    return WrappedMethod::wants(worker) && own + 1.0 <= lead_.kappa * pace + lead_.slack;
  }

 private:
  server::LeadLimit lead_;
  std::size_t workers_;
};

class NeverWants final : public WrappedMethod {
 public:
  NeverWants(server::MethodPointer inner, std::uint32_t unwanted)
      : WrappedMethod(std::move(inner)), unwanted_(unwanted) {}
  bool wants(std::uint32_t worker) const override {
    return worker != unwanted_ && WrappedMethod::wants(worker);
  }

 private:
  std::uint32_t unwanted_;
};

class FrozenRevisions final : public WrappedMethod {
 public:
  using WrappedMethod::WrappedMethod;
  server::MethodStateView state() const override {
    server::MethodStateView view = WrappedMethod::state();
    for (server::NamedVectorView& vector : view.vectors) vector.revision = 1;
    return view;
  }
};

class CountsAsOne final : public WrappedMethod {
 public:
  using WrappedMethod::WrappedMethod;
  Status restore(server::MethodState state,
                 std::span<const std::uint64_t> lifetime_counts) override {
    for (server::NamedNumbers& numbers : state.numbers) {
      if (numbers.name != "counts") continue;
      for (double& count : numbers.values) count = std::min(count, 1.0);
    }
    return WrappedMethod::restore(std::move(state), lifetime_counts);
  }
};

class ForgetsThePast final : public WrappedMethod {
 public:
  using WrappedMethod::WrappedMethod;
  Status restore(server::MethodState state,
                 std::span<const std::uint64_t> lifetime_counts) override {
    for (server::NamedVector& vector : state.vectors) {
      if (vector.name.starts_with("past-")) std::ranges::fill(vector.values, 0.0f);
    }
    return WrappedMethod::restore(std::move(state), lifetime_counts);
  }
};

class ForgetsWhatItCollected final : public WrappedMethod {
 public:
  using WrappedMethod::WrappedMethod;
  Status restore(server::MethodState state,
                 std::span<const std::uint64_t> lifetime_counts) override {
    for (server::NamedVector& vector : state.vectors) {
      const bool is_collected = vector.name.starts_with("buffer-") || vector.name == "sum";
      if (is_collected) std::ranges::fill(vector.values, 0.0f);
    }
    return WrappedMethod::restore(std::move(state), lifetime_counts);
  }
};

// Refuses now and then, and keeps no record of when it did last.
class RefusesByANumberItForgets final : public WrappedMethod {
 public:
  using WrappedMethod::WrappedMethod;
  server::Answer on_update(const server::AdmittedUpdate& update) override {
    constexpr std::uint64_t kEvery = 7;
    if (++seen_ % kEvery == 0) return server::Answer::refused();
    return WrappedMethod::on_update(update);
  }

 private:
  std::uint64_t seen_ = 0;
};

// The model that an update was computed on, as if it were the newest.
class TakesUpdatesForFresh final : public WrappedMethod {
 public:
  using WrappedMethod::WrappedMethod;
  server::Answer on_update(const server::AdmittedUpdate& update) override {
    server::AdmittedUpdate changed = update;
    if (is_restored_) changed.computed_version = update.newest.version;
    if (is_restored_) changed.staleness = 0;
    return WrappedMethod::on_update(changed);
  }
  Status restore(server::MethodState state,
                 std::span<const std::uint64_t> lifetime_counts) override {
    is_restored_ = true;
    return WrappedMethod::restore(std::move(state), lifetime_counts);
  }

 private:
  bool is_restored_ = false;
};

}  // namespace

server::MethodPointer refuse_rows_after_removal(server::MethodPointer inner, const Scenario&) {
  return std::make_unique<RefusesRemoved>(std::move(inner));
}

server::MethodPointer lead_by_row_count(server::MethodPointer inner, const Scenario& scenario) {
  return std::make_unique<LeadByRow>(std::move(inner), scenario);
}

server::MethodPointer never_want_last(server::MethodPointer inner, const Scenario& scenario) {
  return std::make_unique<NeverWants>(std::move(inner),
                                      static_cast<std::uint32_t>(scenario.workers - 1));
}

server::MethodPointer freeze_revisions(server::MethodPointer inner, const Scenario&) {
  return std::make_unique<FrozenRevisions>(std::move(inner));
}

server::MethodPointer restore_counts_as_one(server::MethodPointer inner, const Scenario&) {
  return std::make_unique<CountsAsOne>(std::move(inner));
}

server::MethodPointer restore_without_past(server::MethodPointer inner, const Scenario&) {
  return std::make_unique<ForgetsThePast>(std::move(inner));
}

server::MethodPointer restore_without_collected(server::MethodPointer inner, const Scenario&) {
  return std::make_unique<ForgetsWhatItCollected>(std::move(inner));
}

server::MethodPointer refuse_by_forgotten_number(server::MethodPointer inner, const Scenario&) {
  return std::make_unique<RefusesByANumberItForgets>(std::move(inner));
}

server::MethodPointer take_updates_for_fresh(server::MethodPointer inner, const Scenario&) {
  return std::make_unique<TakesUpdatesForFresh>(std::move(inner));
}

void loosen_caps(Scenario& scenario) {
  server::SeveralCaps caps;
  for (server::CappedWeights cap : server::caps_of(scenario.policy)) {
    if (cap.f > 1) --cap.f;
    cap.share = std::min(cap.share + 0.1, 0.49);
    caps.caps.push_back(cap);
  }
  scenario.policy = caps;
}

}  // namespace ballast::simulate
