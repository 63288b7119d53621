#include "ballast/sim/adversary.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ballast/kernels/finite.h"

namespace ballast::sim {
namespace {

bool is_finite(const attacks::AttackMemory& memory) {
  const auto is_number = [](double number) { return std::isfinite(number); };
  const auto is_whole = [&](const auto& kept) {
    return kernels::all_finite(kept.values) && kept.revision <= memory.revision;
  };
  return std::ranges::all_of(memory.numbers, is_number) &&
         std::ranges::all_of(memory.vectors, is_whole);
}

}  // namespace

Adversary::Adversary(const Population& workers, std::size_t dim, const attacks::Attack* attack,
                     server::Method* method)
    : workers_(workers),
      dim_(dim),
      attack_(attack),
      updates_(workers.total()),
      accepted_(workers.total()) {
  if (is_watching() && attack_->needs_preview()) preview_.emplace(*method);
}

bool Adversary::holds(const ReadyUpdate& update, const server::ParameterServer& server,
                      std::size_t held_count) {
  if (!chooses_time()) return false;
  return attack_->holds(look_around(update, server, held_count), update.values);
}

std::span<const float> Adversary::what_is_sent(const ReadyUpdate& update,
                                               const server::ParameterServer& server) {
  if (!is_watching() || !workers_.is_byzantine(update.worker)) return update.values;
  forged_.assign(update.values.begin(), update.values.end());
  attack_->collude(look_around(update, server, 1), forged_);
  return forged_;
}

void Adversary::note_accepted(std::uint32_t worker, std::span<const float> values) {
  if (!is_watching()) return;
  ++accepted_[worker];
  if (workers_.is_byzantine(worker)) return;
  updates_[worker].assign(values.begin(), values.end());
  last_honest_ = worker;
  if (attack_->has_memory()) attack_->watch(values, memory_);
}

AdversaryStateView Adversary::state() const {
  if (!is_watching()) return {};
  return {.updates = {updates_.begin(), updates_.end()},
          .counts = accepted_,
          .last_honest = last_honest_,
          .memory = &memory_};
}

Status Adversary::restore(AdversaryState state) {
  const std::size_t size = is_watching() ? workers_.total() : 0;
  bool fits = state.updates.size() == size && state.counts.size() == size;
  bool has_honest = false;
  for (std::uint32_t i = 0; fits && i < size; ++i) {
    const bool has_update = state.counts[i] > 0 && !workers_.is_byzantine(i);
    has_honest = has_honest || has_update;
    fits = state.updates[i].size() == (has_update ? dim_ : 0);
  }
  fits = fits && state.last_honest.has_value() == has_honest &&
         (!has_honest ||
          (!workers_.is_byzantine(*state.last_honest) && state.counts[*state.last_honest] > 0)) &&
         is_finite(state.memory);
  if (!fits) return invalid_argument("the saved memory of the adversary is of another run");
  if (size == 0) return {};
  BALLAST_TRY_STATUS(
      attack_->check_memory(state.memory, {.dim = dim_, .byzantine_workers = workers_.byzantine}));
  updates_ = std::move(state.updates);
  accepted_ = std::move(state.counts);
  last_honest_ = state.last_honest;
  memory_ = std::move(state.memory);
  return {};
}

attacks::AdversaryView Adversary::look_around(const ReadyUpdate& update,
                                              const server::ParameterServer& server,
                                              std::size_t held_count) {
  rows_.clear();
  counts_.clear();
  std::uint64_t byzantine_count = 0;
  for (std::uint32_t i = 0; i < workers_.total(); ++i) {
    if (workers_.is_byzantine(i)) {
      byzantine_count += accepted_[i];
    } else if (accepted_[i] > 0) {
      rows_.push_back(updates_[i].data());
      counts_.push_back(accepted_[i]);
    }
  }
  if (preview_) preview_->look_at(server, update.worker, update.ticket);
  return {.honest_rows = {rows_, dim_},
          .honest_counts = counts_,
          .byzantine_count = byzantine_count + 1,
          .model = *server.model().values,
          .sender = update.worker - workers_.honest,
          .last_honest = last_honest_,
          .held_count = held_count,
          .preview = preview_ ? &*preview_ : nullptr,
          .memory = attack_->has_memory() ? &memory_ : nullptr};
}

}  // namespace ballast::sim
