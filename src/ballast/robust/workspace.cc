#include "ballast/robust/workspace.h"

#include <algorithm>

namespace ballast::robust {

std::byte* Workspace::take_bytes(std::size_t bytes) {
  constexpr std::size_t kPieceBytesMin = 4096;
  const std::size_t rounded = (bytes + kCacheLineBytes - 1) / kCacheLineBytes * kCacheLineBytes;
  if (pieces_.empty() || used_ + rounded > pieces_.back().size()) {
    pieces_.emplace_back(std::max(rounded, kPieceBytesMin));
    used_ = 0;
  }
  std::byte* taken = pieces_.back().data() + used_;
  used_ += rounded;
  return taken;
}

kernels::Weights& Workspace::take_weights() {
  if (weights_used_ == weights_.size()) weights_.emplace_back();
  return weights_[weights_used_++];
}

void Workspace::reset() {
  if (pieces_.size() > 1) {
    std::size_t total = 0;
    for (const auto& piece : pieces_) total += piece.size();
    pieces_.clear();
    pieces_.emplace_back(total);
  }
  used_ = 0;
  weights_used_ = 0;
}

}  // namespace ballast::robust
