#pragma once
// Asking for lines of memory before they are needed. Kernels read rows in groups, a line of each
// row in turn: more streams than the hardware follows by itself, and each group is a start anew.

#include <algorithm>
#include <cstddef>

namespace ballast::kernels::cpu {

constexpr std::size_t kLine = 16;  // values of a cache line

// How many values ahead each of so many rows is asked for: together as many lines as the memory
// needs to be busy, and few enough for the first-level cache. A multiple of `granule` values.
constexpr std::size_t values_ahead(std::size_t rows, std::size_t granule) {
  constexpr std::size_t kLinesInAll = 144, kValuesMax = 512;
  const std::size_t values = std::min(kLinesInAll / rows * kLine, kValuesMax);
  return (values + granule - 1) / granule * granule;
}

// While coordinate j of a group is at work, the lines at j + shift of these rows are asked for. The
// shift may lead back; it counts modulo 2^64.
struct LinesAhead {
  const float* const* rows;
  std::size_t shift;

  const float* line(std::size_t row, std::size_t j) const { return rows[row] + (j + shift); }
};

// What is read after a group: at least as many rows, from this coordinate on.
struct NextGroup {
  const float* const* rows;
  std::size_t begin;
};

// The coordinates [begin, end) of a group, cut where its own lines have all been asked for and the
// turn of the next group's comes: some lines behind the beginning.
struct GroupRange {
  std::size_t begin, cut, end;
  LinesAhead own, next;

  GroupRange(const float* const* rows, std::size_t from, std::size_t to, const NextGroup& after,
             std::size_t ahead)
      : begin(from),
        cut(to - from > ahead ? from + (to - from - ahead) / kLine * kLine : from),
        end(to),
        own{rows, ahead},
        next{after.rows, after.begin + ahead - to} {}
};

// Rows in groups of at most `size_max`, of even sizes: a lone row would wait for its own sums. The
// last group is one of the largest, so that NextGroup holds for every two that follow each other.
struct EvenGroups {
  std::size_t rows, count;

  EvenGroups(std::size_t row_count, std::size_t size_max)
      : rows(row_count), count((row_count + size_max - 1) / size_max) {}

  std::size_t begin(std::size_t group) const { return group * rows / count; }
  std::size_t size(std::size_t group) const { return begin(group + 1) - begin(group); }
};

}  // namespace ballast::kernels::cpu
