// A table of the workers' latest updates. Each new update replaces one row, and the rule's result
// is brought up to date instead of computed anew.

#include <cstdio>
#include <vector>

#include "ballast/table.h"

namespace {

ballast::Status run() {
  BALLAST_TRY(const auto rule, ballast::Rule::parse("ctma(cwmed, 0.4)"));
  BALLAST_TRY(auto table, ballast::RowTable::make(rule, 4, 2));
  // Worker, its update, and how many of its updates were accepted so far.
  struct Arrival {
    std::size_t worker;
    std::vector<float> update;
    double count;
  };
  const std::vector<Arrival> arrivals = {{0, {1.0f, 2.0f}, 1},    {1, {1.2f, 1.8f}, 1},
                                         {3, {-50.0f, 70.0f}, 1}, {2, {0.8f, 2.0f}, 1},
                                         {0, {1.1f, 1.9f}, 2},    {3, {-60.0f, 80.0f}, 2}};
  for (const Arrival& arrival : arrivals) {
    BALLAST_TRY_STATUS(table.put(arrival.worker, arrival.update, arrival.count));
    BALLAST_TRY(const auto values, table.aggregate());
    std::printf("%zu rows: %.2f %.2f\n", table.row_count(), values[0], values[1]);
  }
  BALLAST_TRY_STATUS(table.remove(3));  // the liar was found out
  BALLAST_TRY(const auto values, table.aggregate());
  std::printf("%zu rows: %.2f %.2f\n", table.row_count(), values[0], values[1]);
  return {};
}

}  // namespace

int main() {
  const ballast::Status status = run();
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
