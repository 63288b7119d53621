// Uses an installed Ballast: a template, a compiled function and what that function links.
#include <cstdint>
#include <iostream>
#include <vector>

#include "ballast/base/parallel.h"
#include "ballast/base/rng.h"

int main() {
  std::vector<std::uint64_t> squares(8);
  ballast::parallel_for(2, squares.size(), [&](std::size_t i) { squares[i] = i * i; });

  std::uint64_t sum = 0;
  for (const std::uint64_t square : squares) sum += square;
  std::cout << sum << ' ' << std::hex << ballast::philox4x32({}, {})[0] << '\n';
}
