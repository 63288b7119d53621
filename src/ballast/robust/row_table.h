#pragma once
// The stateful form of a rule, for a server that replaces one row per update: it remembers what the
// rule needs (inner products, medians) and brings that up to date instead of starting over.
//
// The result equals that of the stateless form on the same rows and weights: bit for bit for cwmed,
// as exactly as double precision allows for the others.
//
// The rows belong to the backend. Values go in from host memory; the result stays where the backend
// keeps vectors, for the next step to use, until somebody reads it.
//
// Thread-safety: one thread at a time. Memory: (rows_max + 2) * dim floats, plus what the rule
// keeps.

#include <memory>
#include <span>
#include <vector>

#include "ballast/base/row_buffer.h"
#include "ballast/kernels/backend.h"
#include "ballast/robust/rule.h"

namespace ballast::robust {

// How far a row lies from where.
struct RowMeasure {
  double norm = 0.0;
  double distance = 0.0;  // to the last result; the norm again before the first one
};

class RowTable final : private Observed {
 public:
  // A table without a rule only combines. Requires: rows_max >= 1, dim >= 1.
  RowTable(RulePointer rule, std::shared_ptr<const kernels::Backend> backend, std::size_t rows_max,
           std::size_t dim);

  // Replaces row `row`, or makes it exist, with the given weight. Refuses, and changes nothing,
  // when the row number or size is wrong, a value is not finite or the weight is not positive and
  // finite.
  Status put(std::size_t row, std::span<const float> values, double weight);

  // The same without a copy, where rows lie in host memory: the table keeps the buffer and leaves
  // another one of the same size, with values of any kind, in its place. Refused, the buffer stays
  // as it is.
  Status put(std::size_t row, RowBuffer& values, double weight);

  // The same for values that may be known to be finite, or may come with their memory.
  Status put(std::size_t row, const kernels::Incoming& values, double weight);

  // Changes a weight alone. Refuses for a row that does not exist.
  Status set_weight(std::size_t row, double weight);

  // Makes the row not exist; nothing happens if it did not.
  void remove(std::size_t row);

  bool has(std::size_t row) const noexcept { return row < slots_.size() && slots_[row].is_filled; }
  std::size_t filled_count() const noexcept { return filled_.size(); }

  // The row's values in host memory, empty if it does not exist; valid until the table changes.
  // Cost: none where rows lie there; a device's row is read back, and the copy kept.
  std::span<const float> row(std::size_t row) const;

  const Rule& rule() const noexcept { return *rule_; }

  // The centre of the remembered products, empty for the origin: the one thing besides rows and
  // weights that later results depend on, in their last bits. A table that is given the same rows,
  // weights and centre goes on bit for bit like this one.
  // In host memory, like row().
  std::span<const float> centre() const;

  // Requires: dim values, or none.
  void set_centre(std::span<const float> centre);

  // The last result where the rule begins from it (rules.h, previous) or combine() made it, empty
  // for other rules and before there is one: what later results depend on besides. In host memory,
  // like row().
  std::span<const float> previous_result() const;

  // Requires: dim values, or none.
  void set_previous_result(std::span<const float> values);

  // The rule's result over the rows that exist, never null: a vector of the table's backend, valid
  // until the table changes. An error if there are no rows, or more than the rule takes.
  Result<const kernels::Vector*> aggregate(std::uint64_t draw = 0);

  // The coefficients that the rule gives to the existing rows, in order of number, on the same
  // conditions; valid until the table is asked again. Requires: rule().has_coefficients().
  Result<std::span<const double>> coefficients(std::uint64_t draw = 0);

  // The combination of the existing rows with these coefficients, which becomes the last result.
  // Requires: as many coefficients as rows, at least one. Saturates as kernels::Backend does.
  const kernels::Vector& combine(std::span<const double> coefficients);

  // The last result, null before there is one; valid until the table changes.
  const kernels::Vector* last_result() const noexcept { return newest_result_; }

  // Copies an existing row to a vector of the table's backend, where that keeps vectors.
  void copy_row(std::size_t row, kernels::Vector& out) const;

  // What the last aggregate() or coefficients() told; kept[i] belongs to the i-th existing row in
  // order of number.
  const Report& report() const noexcept { return report_; }

  // Of each existing row, in order of number. Changes nothing. Cost: two reads of the table.
  std::vector<RowMeasure> measure() const;

 private:
  struct Slot {
    double weight = 0.0;
    bool is_filled = false;
    bool has_products = false;
  };

  // Observed, over the rows that exist.
  std::size_t row_count() const noexcept override { return filled_.size(); }
  std::size_t dim() const noexcept override { return dim_; }
  Gram gram(const kernels::Weights& weights) override;
  void squared_norms(std::span<double> norms) override;
  void squared_distances(const kernels::Vector& point, std::span<double> distances) override;
  void combine(std::span<const double> coefficients, kernels::Vector& out) override;
  const kernels::Vector& median(const kernels::Weights& weights, kernels::Vector& out) override;
  void trimmed_mean(const kernels::Weights& weights, double trim, kernels::Vector& out) override;
  void mix(kernels::MatrixView coefficients, kernels::Table& out) override;
  const kernels::Backend& backend() const noexcept override { return *backend_; }
  const kernels::Vector* previous() noexcept override;
  std::uint64_t draw() const noexcept override { return draw_; }
  Workspace& workspace() noexcept override { return workspace_; }

  std::size_t index_of(std::size_t row) const noexcept;
  Status check(std::size_t row, std::size_t size, double weight) const;
  Status begin(std::uint64_t draw);
  void finish_report();
  void renumber();
  void refresh_products();

  RulePointer rule_;
  std::shared_ptr<const kernels::Backend> backend_;
  std::size_t dim_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> filled_;          // numbers of the existing rows, in order
  std::unique_ptr<kernels::Table> table_;    // their values, in this order
  std::vector<double> products_;             // of the existing rows, current where has_products
  std::unique_ptr<kernels::Vector> centre_;  // of the products; null: the origin
  std::vector<std::uint64_t> centred_for_;   // weights for which they were found well centred
  std::unique_ptr<kernels::Vector> result_;
  const kernels::Vector* newest_result_ = nullptr;  // result_ or what the table keeps; null: none
  mutable std::vector<std::vector<float>> read_back_;  // by number, where rows lie on a device
  bool needs_previous_ = false;  // the rule has asked for it, or combine() made it
  mutable std::vector<float> centre_read_back_;
  mutable std::vector<float> previous_read_back_;
  kernels::Weights weights_;
  Workspace workspace_;
  std::vector<double> coefficients_;
  Report report_;
  std::uint64_t draw_ = 0;
};

}  // namespace ballast::robust
