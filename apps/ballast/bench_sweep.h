#pragma once
// `ballast bench --sweep`: the time of rules against the number of rows and of values, with the
// limit that the machine sets at each size.

#include <string>
#include <string_view>
#include <vector>

#include "apps/ballast/bench.h"
#include "ballast/base/error.h"

namespace ballast::apps {

struct SweepSize {
  std::size_t rows = 17;                // while the values grow
  std::size_t dim = 20'000;             // while the rows grow
  std::size_t rows_max = 4096;          // from 4 on, doubled
  std::size_t values_max = 10'000'000;  // from 1000 on, three steps per factor 10
  std::size_t threads = 1;
};

struct SweepPoint {
  std::string_view axis;  // "rows" or "values": what grows
  BenchSize size;
};

// The sizes to measure, those along the rows first.
std::vector<SweepPoint> sweep_points(const SweepSize& size);

// What no rule of this kind can be faster than, from nothing: one read of the table; where all
// inner products are asked for in this mode, also that many multiply-adds at the peak.
double limit_ms(bool needs_products, BenchMode mode, const BenchSize& size, double stream_ms,
                double peak);

// Whether the rule that the text names asks for inner products of so many rows.
Result<bool> needs_products(const std::string& text, std::size_t rows);

}  // namespace ballast::apps
