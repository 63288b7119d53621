// Uses an installed Ballast: a template, compiled functions and what these link.
#include <cstdint>
#include <iostream>
#include <vector>

#include "ballast/base/parallel.h"
#include "ballast/base/rng.h"
#include "ballast/robust/aggregate.h"

int main() {
  std::vector<std::uint64_t> squares(8);
  ballast::parallel_for(2, squares.size(), [&](std::size_t i) { squares[i] = i * i; });

  std::uint64_t sum = 0;
  for (const std::uint64_t square : squares) sum += square;
  std::cout << sum << ' ' << std::hex << ballast::philox4x32({}, {})[0] << '\n';

  const std::vector<std::vector<float>> rows = {{1, 2}, {3, 4}, {500, 600}};
  const std::vector<double> weights = {2, 2, 1};
  const auto result = ballast::robust::aggregate("ctma(cwmed, 0.2)", rows, weights);
  if (!result) return 1;
  std::cout << result->values[0] << ' ' << result->values[1] << '\n';
}
