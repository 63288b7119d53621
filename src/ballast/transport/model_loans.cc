#include "ballast/transport/model_loans.h"

#include <utility>

namespace ballast::transport {

using Ending = ConnectionGuard::Ending;

// Forgets those that came back. Requires: mutex_ is held.
std::vector<std::shared_ptr<ModelLoans::Loan>> ModelLoans::alive(Loans& loans) {
  std::vector<std::shared_ptr<Loan>> found;
  std::erase_if(loans, [&](const std::weak_ptr<Loan>& weak) {
    auto loan = weak.lock();
    if (!loan) return true;
    found.push_back(std::move(loan));
    return false;
  });
  return found;
}

std::shared_ptr<ModelLoans::Loan> ModelLoans::lend(
    std::uint32_t worker, server::Snapshot model,
    std::shared_ptr<ConnectionGuard::Connection> connection) {
  auto loan = std::make_shared<Loan>(std::move(model), std::move(connection));
  const std::lock_guard lock(mutex_);
  const auto others = alive(loans_[worker]);
  for (std::size_t i = 0; i + models_max_ <= others.size(); ++i) {
    guard_.end(*others[i]->connection_, Ending::kModels);
  }
  loans_[worker].push_back(loan);
  return loan;
}

void ModelLoans::set_over(Loan& loan, Time now) {
  const std::lock_guard lock(mutex_);
  if (!loan.over_since_) loan.over_since_ = now;
}

void ModelLoans::recall(Time over_before) {
  const std::lock_guard lock(mutex_);
  for (Loans& loans : loans_) {
    for (const auto& loan : alive(loans)) {
      if (!loan->over_since_ || *loan->over_since_ > over_before) continue;
      guard_.end(*loan->connection_, Ending::kModels);
    }
  }
}

}  // namespace ballast::transport
