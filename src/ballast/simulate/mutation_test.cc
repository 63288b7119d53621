#include <gtest/gtest.h>

#include "ballast/simulate/mutants.h"

namespace ballast::simulate {
namespace {

constexpr std::uint64_t kSeedsMax = 100;

class PlantedDefect : public testing::TestWithParam<std::size_t> {};

TEST_P(PlantedDefect, IsFoundByAChecker) {
  const DefectMutant mutant = defect_mutants()[GetParam()];
  const MutantFinding finding = find_mutant_violation(mutant, kSeedsMax, 2000);
  EXPECT_TRUE(finding.violation.has_value()) << mutant.name << ": " << mutant.defect;
}

INSTANTIATE_TEST_SUITE_P(Simulation, PlantedDefect,
                         testing::Range<std::size_t>(0, defect_mutants().size()),
                         [](const auto& test) {
                           std::string name(defect_mutants()[test.param].name);
                           std::erase(name, '-');
                           return name;
                         });

TEST(PlantedDefects, AreListedWithTheirFinders) {
  const MutantFinding found{.name = "a", .defect = "b", .seeds = 3, .violation = {{"caps", "why"}}};
  const MutantFinding missed{.name = "c", .defect = "d", .seeds = 9, .violation = {}};
  EXPECT_EQ(finding_table(std::vector{found, missed}),
            "| mutant | defect | found by | seeds |\n|---|---|---|---:|\n"
            "| a | b | caps | 3 |\n| c | d | nobody | 9 |\n");
}

}  // namespace
}  // namespace ballast::simulate
