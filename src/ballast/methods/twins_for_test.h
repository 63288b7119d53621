#pragma once
// Each method once more, as its paper states it: plain loops in double precision, nothing kept that
// could be computed anew. A twin can be made wrong on purpose, by the name of a mistake, so that a
// test shows that the comparison would find that mistake.

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ballast/methods/method_run_for_test.h"

namespace ballast::methods {

enum class Fate : std::uint8_t { kRefused, kCollected, kStepped };

inline double length(const Doubles& a) {
  double sum = 0.0;
  for (const double value : a) sum += value * value;
  return std::sqrt(sum);
}

inline Doubles minus(Doubles a, const Doubles& b) {
  for (std::size_t j = 0; j < a.size(); ++j) a[j] -= b[j];
  return a;
}

inline Doubles times(double factor, Doubles a) {
  for (double& value : a) value *= factor;
  return a;
}

struct Sent {
  std::uint32_t worker = 0;
  std::uint64_t version = 0;
  Doubles g;
};

class Twin {
 public:
  Twin(std::string mistake, std::size_t workers, std::size_t dim)
      : mistake_(std::move(mistake)), n(workers), models{Doubles(dim)} {}
  virtual ~Twin() = default;

  virtual Fate on_update(const Sent& sent) = 0;
  const Doubles& x() const { return models.back(); }

 protected:
  bool is_wrong(const char* mistake) const { return mistake_ == mistake; }
  std::uint64_t t() const { return models.size() - 1; }
  Fate step(const Doubles& direction, double scale = 1.0) {
    models.push_back(minus(x(), times(kEta * scale, direction)));
    return Fate::kStepped;
  }

 private:
  std::string mistake_;

 protected:
  std::size_t n;
  std::vector<Doubles> models;  // by version
};

class AsgdTwin final : public Twin {
 public:
  using Twin::Twin;
  Fate on_update(const Sent& sent) override { return step(sent.g, is_wrong("scale") ? 0.99 : 1.0); }
};

class DelayAdaptiveTwin final : public Twin {
 public:
  DelayAdaptiveTwin(std::string mistake, std::size_t workers, std::size_t dim, char form,
                    std::uint64_t concurrency)
      : Twin(std::move(mistake), workers, dim), form_(form), concurrency_(concurrency) {}
  Fate on_update(const Sent& sent) override {
    const auto m = static_cast<double>(concurrency_);
    auto tau = static_cast<double>(t() - sent.version);
    if (is_wrong("delay off by one")) tau += 1.0;
    if (form_ == 'r') return step(sent.g, m / std::max(m, tau));
    if (tau <= m) return step(sent.g);
    if (form_ == 'i') return step(sent.g, (is_wrong("not inverse") ? m : 1.0) / tau);
    return Fate::kRefused;
  }

 private:
  char form_;
  std::uint64_t concurrency_;
};

class PickyTwin final : public Twin {
 public:
  PickyTwin(std::string mistake, std::size_t workers, std::size_t dim, double radius)
      : Twin(std::move(mistake), workers, dim), radius_(radius) {}
  Fate on_update(const Sent& sent) override {
    const std::uint64_t version = sent.version + (is_wrong("next model") ? 1 : 0);
    const double far = length(minus(x(), models[std::min(version, t())]));
    return far <= radius_ ? step(sent.g) : Fate::kRefused;
  }

 private:
  double radius_;
};

class FedbuffTwin final : public Twin {
 public:
  FedbuffTwin(std::string mistake, std::size_t workers, std::size_t dim, std::size_t size)
      : Twin(std::move(mistake), workers, dim), size_(size) {}
  Fate on_update(const Sent& sent) override {
    const auto tau = static_cast<double>(t() - sent.version);
    const double weight = 1.0 / std::sqrt((is_wrong("weight") ? 2.0 : 1.0) + tau);
    buffer_.push_back(times(weight, sent.g));
    weights_ += weight;
    if (buffer_.size() < size_) return Fate::kCollected;
    Doubles sum(sent.g.size());
    for (const Doubles& g : buffer_) sum = minus(sum, times(-1.0, g));
    const Fate fate =
        step(times(1.0 / (is_wrong("divides by weights") ? weights_ : double(size_)), sum));
    buffer_.clear();
    weights_ = 0.0;
    if (is_wrong("no reset")) buffer_.push_back(sum);
    return fate;
  }

 private:
  std::size_t size_;
  std::vector<Doubles> buffer_;
  double weights_ = 0.0;
};

class ThrottleTwin final : public Twin {
 public:
  ThrottleTwin(std::string mistake, std::size_t workers, std::size_t dim, double q, double radius,
               double repeat_radius)
      : Twin(std::move(mistake), workers, dim),
        q_(q),
        radius_(radius),
        repeat_radius_(repeat_radius),
        anchor_(dim) {}
  Fate on_update(const Sent& sent) override {
    if (sent.version < round_start_ && !is_wrong("keeps work in flight")) return Fate::kRefused;
    const int c = heard_[sent.worker]++;
    if (c > 0)
      return step(clip(sent.g, repeat_radius_), std::pow(q_, is_wrong("power") ? 1 - c : -c));
    const Doubles clipped = minus(clip(minus(sent.g, anchor_), radius_), times(-1.0, anchor_));
    firsts_.push_back(clipped);
    const Fate fate = step(clipped, 1.0 / double(n));
    if (firsts_.size() == n) end_round();
    return fate;
  }

 private:
  static Doubles clip(const Doubles& v, double radius) {
    return times(std::min(1.0, radius / length(v)), v);
  }
  void end_round() {
    Doubles sum(anchor_.size());
    for (const Doubles& v : firsts_) sum = minus(sum, times(-1.0, v));
    if (!is_wrong("old anchor")) anchor_ = times(1.0 / double(n), sum);
    firsts_.clear();
    if (!is_wrong("no reset")) heard_.clear();
    round_start_ = t();
  }

  double q_, radius_, repeat_radius_;
  std::map<std::uint32_t, int> heard_;
  std::vector<Doubles> firsts_;
  Doubles anchor_;
  std::uint64_t round_start_ = 0;
};

class KardamTwin final : public Twin {
 public:
  struct Options {
    std::size_t f = 1;
    std::function<double(double)> dampening = [](double tau) { return 1.0 / (1.0 + tau); };
    bool compares_with_accepted = false;
  };
  KardamTwin(std::string mistake, std::size_t workers, std::size_t dim, Options options)
      : Twin(std::move(mistake), workers, dim), options_(std::move(options)) {}

  Fate on_update(const Sent& sent) override {
    const std::uint32_t key = options_.compares_with_accepted ? 0 : sent.worker;
    bool passes = true;
    if (last_.contains(key)) {
      const double moved = length(minus(models[sent.version], models[last_[key].version]));
      if (moved > 0.0) k_[sent.worker] = length(minus(sent.g, last_[key].g)) / moved;
      passes = moved > 0.0 && k_[sent.worker] <= quantile();
    }
    if (!options_.compares_with_accepted && !is_wrong("forgets refused")) last_[key] = sent;
    passes = passes && is_rare(sent.worker);
    if (!passes && (refusals_ < n || is_wrong("no escape"))) {
      ++refusals_;
      return Fate::kRefused;
    }
    refusals_ = 0;
    last_[key] = sent;
    accepted_.push_back(sent.worker);
    return step(sent.g, options_.dampening(double(t() - sent.version)));
  }

 private:
  double quantile() const {
    Doubles sorted;
    for (const auto& [worker, k] : k_) sorted.push_back(k);
    std::ranges::sort(sorted);
    if (sorted.size() < n - options_.f) return HUGE_VAL;
    const double share = double(n - options_.f) / double(n);
    auto rank = static_cast<std::size_t>(std::ceil(share * double(sorted.size()) - 1e-9));
    if (is_wrong("quantile")) --rank;
    return sorted[rank - 1];
  }
  bool is_rare(std::uint32_t worker) const {
    const std::size_t window = 2 * options_.f - (is_wrong("window") ? 1 : 0);
    std::map<std::uint32_t, std::size_t> entries = {{worker, 1}};
    for (std::size_t i = 0; i < std::min(window, accepted_.size()); ++i) {
      ++entries[accepted_[accepted_.size() - 1 - i]];
    }
    std::vector<std::size_t> counts;
    for (const auto& [who, count] : entries) counts.push_back(count);
    std::ranges::sort(counts, std::greater<>());
    std::size_t sum = 0;
    for (std::size_t i = 0; i < std::min(options_.f, counts.size()); ++i) sum += counts[i];
    return sum <= options_.f;
  }

  Options options_;
  std::map<std::uint32_t, Sent> last_;
  std::map<std::uint32_t, double> k_;
  std::vector<std::uint32_t> accepted_;
  std::size_t refusals_ = 0;
};

// With the trimmed mean that drops one value at either end, or the mean.
class BasgdTwin final : public Twin {
 public:
  BasgdTwin(std::string mistake, std::size_t workers, std::size_t dim, std::size_t buffers,
            bool trims, std::size_t reassign)
      : Twin(std::move(mistake), workers, dim), trims_(trims), reassign_(reassign), held_(buffers) {
    for (std::uint32_t s = 0; s < workers; ++s) buffer_of_[s] = s % buffers;
  }

  Fate on_update(const Sent& sent) override {
    const std::size_t timer = reassign_ + (is_wrong("timer") ? 1 : 0);
    if (reassign_ > 0 && waited_ == timer) reassign();
    ++waited_;
    heard_[sent.worker] = true;
    held_[buffer_of_[sent.worker]].push_back(sent.g);
    for (const auto& buffer : held_) {
      if (buffer.empty()) return Fate::kCollected;
    }
    Doubles direction(sent.g.size());
    for (std::size_t j = 0; j < direction.size(); ++j) direction[j] = combine(j);
    const Fate fate = step(direction);
    if (is_wrong("no reset")) {
      for (auto& buffer : held_) buffer = {buffer.back()};
      held_[0].clear();
    } else {
      for (auto& buffer : held_) buffer.clear();
    }
    heard_.clear();
    waited_ = 0;
    return fate;
  }

 private:
  double combine(std::size_t j) const {
    Doubles means;
    for (const auto& buffer : held_) {
      double sum = 0.0;
      for (const Doubles& g : buffer) sum += g[j];
      means.push_back(sum / double(buffer.size()));
    }
    std::ranges::sort(means);
    const std::size_t cut = trims_ ? (is_wrong("trims more") ? 2 : 1) : 0;
    double sum = 0.0;
    for (std::size_t i = cut; i < means.size() - cut; ++i) sum += means[i];
    return sum / double(means.size() - 2 * cut);
  }
  void reassign() {
    std::size_t next = 0;
    for (std::uint32_t s = 0; s < n; ++s) {
      if (heard_[s] && !is_wrong("keeps buffers")) buffer_of_[s] = next++ % held_.size();
    }
    for (std::uint32_t s = 0; s < n; ++s) {
      if (!heard_[s] && !is_wrong("keeps buffers")) buffer_of_[s] = next++ % held_.size();
    }
    for (auto& buffer : held_) buffer.clear();
    heard_.clear();
    waited_ = 0;
  }

  bool trims_;
  std::size_t reassign_;
  std::size_t waited_ = 0;
  std::map<std::uint32_t, bool> heard_;
  std::map<std::uint32_t, std::size_t> buffer_of_;
  std::vector<std::vector<Doubles>> held_;
};

// A gradient of the server's own, anew every so many versions or refusals in a row.
class TrustedTwin : public Twin {
 public:
  using Twin::Twin;

 protected:
  const Doubles& trusted(std::size_t every) {
    if (is_wrong("refresh")) ++every;
    const bool has_stuck = refusals_ >= every && !is_wrong("sticks to its gradient");
    if (v_.empty() || t() - version_ >= every || has_stuck) {
      v_ = server_bowl_gradient(x(), computed_++);
      version_ = t();
      refusals_ = 0;
    }
    return v_;
  }
  Fate refuse() {
    ++refusals_;
    return Fate::kRefused;
  }
  Fate accept(const Doubles& direction) {
    refusals_ = 0;
    return step(direction);
  }

 private:
  Doubles v_;
  std::uint64_t version_ = 0;
  std::uint64_t computed_ = 0;
  std::size_t refusals_ = 0;
};

class ZenoTwin final : public TrustedTwin {
 public:
  ZenoTwin(std::string mistake, std::size_t workers, std::size_t dim, double rho, double epsilon,
           std::size_t every)
      : TrustedTwin(std::move(mistake), workers, dim),
        rho_(rho),
        epsilon_(epsilon),
        every_(every) {}
  Fate on_update(const Sent& sent) override {
    const Doubles& v = trusted(every_);
    const Doubles g = is_wrong("length") ? sent.g : times(length(v) / length(sent.g), sent.g);
    double product = 0.0;
    for (std::size_t j = 0; j < g.size(); ++j) product += v[j] * g[j];
    const double epsilon = is_wrong("sign of epsilon") ? -epsilon_ : epsilon_;
    const double score = kEta * product - rho_ * length(g) * length(g);
    return score >= -kEta * epsilon ? accept(g) : refuse();
  }

 private:
  double rho_, epsilon_;
  std::size_t every_;
};

class AflguardTwin final : public TrustedTwin {
 public:
  AflguardTwin(std::string mistake, std::size_t workers, std::size_t dim, double radius,
               std::size_t every)
      : TrustedTwin(std::move(mistake), workers, dim), radius_(radius), every_(every) {}
  Fate on_update(const Sent& sent) override {
    const Doubles& v = trusted(every_);
    const double limit = radius_ * (is_wrong("absolute") ? 1.0 : length(v));
    return length(minus(sent.g, v)) <= limit ? accept(sent.g) : refuse();
  }

 private:
  double radius_;
  std::size_t every_;
};

}  // namespace ballast::methods
