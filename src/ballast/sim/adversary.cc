#include "ballast/sim/adversary.h"

#include <utility>

namespace ballast::sim {

Adversary::Adversary(const Population& workers, std::size_t dim, const attacks::Attack* attack)
    : workers_(workers),
      dim_(dim),
      attack_(attack),
      updates_(workers.total()),
      accepted_(workers.total()) {}

std::span<const float> Adversary::what_is_sent(std::uint32_t worker, std::span<const float> values,
                                               const server::ParameterServer& server) {
  if (!is_watching() || !workers_.is_byzantine(worker)) return values;
  look_around();
  forged_.assign(values.begin(), values.end());
  attack_->collude({.honest_rows = {rows_, dim_},
                    .honest_counts = counts_,
                    .byzantine_count = byzantine_count_ + 1,
                    .model = *server.model().values},
                   forged_);
  return forged_;
}

void Adversary::note_accepted(std::uint32_t worker, std::span<const float> values) {
  if (!is_watching()) return;
  ++accepted_[worker];
  if (!workers_.is_byzantine(worker)) updates_[worker].assign(values.begin(), values.end());
}

std::vector<std::span<const float>> Adversary::seen_updates() const {
  if (!is_watching()) return {};
  return {updates_.begin(), updates_.end()};
}

std::vector<std::uint64_t> Adversary::seen_counts() const {
  return is_watching() ? accepted_ : std::vector<std::uint64_t>();
}

Status Adversary::restore(std::vector<std::vector<float>> updates,
                          std::vector<std::uint64_t> counts) {
  const std::size_t size = is_watching() ? workers_.total() : 0;
  bool fits = updates.size() == size && counts.size() == size;
  for (std::uint32_t i = 0; fits && i < size; ++i) {
    const bool has_update = counts[i] > 0 && !workers_.is_byzantine(i);
    fits = updates[i].size() == (has_update ? dim_ : 0);
  }
  if (!fits) return invalid_argument("the saved memory of the adversary is of another run");
  if (size == 0) return {};
  updates_ = std::move(updates);
  accepted_ = std::move(counts);
  return {};
}

void Adversary::look_around() {
  rows_.clear();
  counts_.clear();
  byzantine_count_ = 0;
  for (std::uint32_t i = 0; i < workers_.total(); ++i) {
    if (workers_.is_byzantine(i)) {
      byzantine_count_ += accepted_[i];
    } else if (accepted_[i] > 0) {
      rows_.push_back(updates_[i].data());
      counts_.push_back(accepted_[i]);
    }
  }
}

}  // namespace ballast::sim
