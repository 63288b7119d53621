#pragma once
// Private to simulate/: which random numbers are drawn for what, so that none is shared.

#include <cstdint>

namespace ballast::simulate {

inline constexpr std::uint32_t kPurposeScenario = 901;
inline constexpr std::uint32_t kPurposeDisturbances = 902;
inline constexpr std::uint32_t kPurposeNetwork = 903;
inline constexpr std::uint32_t kPurposeWorker = 904;
inline constexpr std::uint32_t kPurposeDisk = 905;
inline constexpr std::uint32_t kPurposeValues = 906;
inline constexpr std::uint32_t kPurposeOwnValues = 907;

}  // namespace ballast::simulate
