#pragma once
// What an attack remembers from one moment of a run to the next. The run owns it, so that the
// attack itself stays immutable, and a checkpoint of the run holds it without knowing the attack.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::attacks {

struct AttackMemory {
  struct Kept {
    std::uint64_t revision = 0;  // no revision comes back with other values
    std::vector<float> values{};
  };

  std::vector<double> numbers{};
  std::vector<Kept> vectors{};
  std::uint64_t revision = 0;  // of the vector that was kept last

  bool is_empty() const noexcept { return numbers.empty() && vectors.empty() && revision == 0; }

  // Puts a copy into that place; places before it that were never used stay empty.
  void keep(std::size_t place, std::span<const float> values) {
    if (place >= vectors.size()) vectors.resize(place + 1);
    vectors[place].values.assign(values.begin(), values.end());
    vectors[place].revision = ++revision;
  }
};

}  // namespace ballast::attacks
