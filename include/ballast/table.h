#pragma once
// A table with one row per worker, for a server that replaces one row at a time: it remembers what
// its rule needs and brings that up to date instead of starting over. The result is that of
// aggregate() on the same rows: bit for bit for cwmed, in double precision for the others.
//
// What is wrong with an argument is an error and changes nothing; so is any call on a table that
// was moved from.
//
// Thread-safety: one thread at a time. Memory: (rows + 2) * dim floats, plus what the rule keeps.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ballast/compute.h"
#include "ballast/error.h"
#include "ballast/rules.h"

namespace ballast {

class RowTable {
 public:
  // Room for rows 0 .. rows_max - 1 of dim values, none of which exists yet.
  static Result<RowTable> make(const Rule& rule, std::size_t rows_max, std::size_t dim,
                               const Compute& compute = {});

  RowTable(RowTable&&) noexcept;
  RowTable& operator=(RowTable&&) noexcept;
  ~RowTable();

  // Replaces a row, or makes it exist.
  Status put(std::size_t row, std::span<const float> values, double weight);

  // Of a row that exists.
  Status set_weight(std::size_t row, double weight);

  // Makes the row not exist; nothing happens if it did not.
  Status remove(std::size_t row);

  bool has(std::size_t row) const noexcept;
  std::size_t row_count() const noexcept;  // of those that exist

  // A copy of the row.
  Result<std::vector<float>> row(std::size_t row) const;

  // The rule's result over the rows that exist; valid until the next call that changes the table.
  Result<std::span<const float>> aggregate(std::uint64_t draw = 0);

  // What the last aggregate() told: kept[i] belongs to the i-th row that exists.
  Report report() const;

 private:
  class Body;
  explicit RowTable(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace ballast
