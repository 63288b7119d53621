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

kernels::Vector& Workspace::take_vector(const kernels::Backend& backend, std::size_t size) {
  if (vectors_used_ == vectors_.size()) vectors_.emplace_back();
  auto& vector = vectors_[vectors_used_++];
  if (!vector || !backend.can_use(*vector) || vector->size() != size) {
    vector = backend.make_vector(size);
  }
  return *vector;
}

kernels::Table& Workspace::take_table(const kernels::Backend& backend, std::size_t dim) {
  if (tables_used_ == tables_.size()) tables_.emplace_back();
  auto& table = tables_[tables_used_++];
  if (!table || !backend.can_use(*table) || table->dim() != dim) table = backend.make_table(dim);
  return *table;
}

kernels::Table& Workspace::show(const kernels::Backend& backend, kernels::RowsView rows) {
  if (!shown_rows_ || !backend.can_use(*shown_rows_)) shown_rows_ = backend.make_table(rows.dim());
  shown_rows_->borrow(rows);
  return *shown_rows_;
}

kernels::Vector& Workspace::show(const kernels::Backend& backend, std::span<float> out) {
  if (!shown_out_ || !backend.can_use(*shown_out_)) shown_out_ = backend.make_vector(0);
  if (!shown_out_->borrow(out) && shown_out_->size() != out.size()) {
    shown_out_ = backend.make_vector(out.size());
  }
  return *shown_out_;
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
  vectors_used_ = 0;
  tables_used_ = 0;
}

}  // namespace ballast::robust
