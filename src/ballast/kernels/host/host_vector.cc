#include "ballast/kernels/host/host_vector.h"

#include "ballast/kernels/host/host_table.h"

namespace ballast::kernels::host {

bool HostVector::owe(const HostTable& table, std::span<const double> coefficients,
                     const std::shared_ptr<const Primitives>& primitives) {
  if (own_.empty() || !table.has_own_rows()) return false;
  forget();
  const RowsView rows = table.rows();
  debt_.rows.assign(rows.pointers().begin(), rows.pointers().end());
  debt_.coefficients.assign(coefficients.begin(), coefficients.end());
  debt_.primitives = primitives;
  debt_.table = &table;
  table.lend_to(*this);
  return true;
}

void HostVector::settle() const noexcept {
  if (!owes()) return;
  const Combination owed = debt();
  float* const to[] = {values_.data()};
  debt_.primitives->mix(owed.rows, MatrixView(owed.coefficients, owed.rows.row_count()),
                        MutableRowsView(to, values_.size()));
  forget();
}

void HostVector::forget() const noexcept {
  if (!owes()) return;
  debt_.table->let_off(*this);
  debt_.table = nullptr;
}

}  // namespace ballast::kernels::host
