// The smallest program that aggregates: five honest workers, a liar that was heard more often than
// any of them, and a rule that does not believe it.

#include <cstdio>
#include <vector>

#include "ballast/rules.h"

int main() {
  // The latest update of each worker. The last one lies.
  const std::vector<std::vector<float>> rows = {{1.0f, 2.0f, 3.0f}, {1.1f, 1.9f, 3.0f},
                                                {0.9f, 2.1f, 2.9f}, {1.0f, 2.0f, 3.1f},
                                                {1.0f, 1.9f, 3.0f}, {-90.0f, 80.0f, -70.0f}};
  // How many updates of each worker were accepted: the liar holds 12 of 32, a share of 0.375.
  const std::vector<double> weights = {4, 4, 5, 4, 3, 12};

  const auto result = ballast::aggregate("ctma(gm, 0.4)", rows, weights);
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    return 1;
  }

  std::printf("aggregate:");
  for (const float value : result->values) std::printf(" %.2f", value);
  std::printf("\n");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double kept = result->report.kept[i];
    if (kept < 1.0) std::printf("row %zu: %.0f %% of its weight kept\n", i, 100.0 * kept);
  }
}
