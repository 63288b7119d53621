#include "ballast/sim/adversary.h"

namespace ballast::sim {

std::span<const float> Adversary::what_is_sent(std::uint32_t worker,
                                               std::span<const float> values) {
  if (attack_ == nullptr || !attack_->colludes() || !workers_.is_byzantine(worker)) return values;
  look_around();
  forged_.assign(values.begin(), values.end());
  attack_->collude({.honest_rows = {rows_, server_.dim()},
                    .honest_counts = counts_,
                    .byzantine_count = byzantine_count_ + 1,
                    .model = *server_.model().values},
                   forged_);
  return forged_;
}

void Adversary::look_around() {
  rows_.clear();
  counts_.clear();
  byzantine_count_ = 0;
  for (std::uint32_t i = 0; i < workers_.total(); ++i) {
    const std::uint64_t count = server_.worker(i).count;
    if (workers_.is_byzantine(i)) {
      byzantine_count_ += count;
    } else if (count > 0) {
      rows_.push_back(server_.row(i).data());
      counts_.push_back(count);
    }
  }
}

}  // namespace ballast::sim
