// The long form of a rule, for programs that aggregate again and again: the rule is read once, rows
// stay where they are, the result goes where it is wanted, and nothing is allocated on the way.

#include <cstdio>
#include <span>
#include <vector>

#include "ballast/rules.h"

namespace {

ballast::Status run() {
  BALLAST_TRY(const auto rule, ballast::Rule::parse("ctma( gm , 2/5 )"));
  BALLAST_TRY(auto aggregator, ballast::Aggregator::make(rule, {.threads = 2}));
  std::printf("%s\n", rule.text().c_str());

  // Six rows of three values in one block, as a framework might hand them over.
  std::vector<float> block = {1.0f, 2.0f, 3.0f, 1.1f, 1.9f, 3.0f, 0.9f, 2.1f,  2.9f,
                              1.0f, 2.0f, 3.1f, 1.0f, 1.9f, 3.0f, 0.0f, 80.0f, 0.0f};
  std::vector<std::span<const float>> rows;
  for (std::size_t i = 0; i < 6; ++i) rows.push_back(std::span(block).subspan(3 * i, 3));
  const std::vector<double> weights = {4, 4, 5, 4, 3, 12};
  std::vector<float> out(3);

  for (const float lie : {-90.0f, 900.0f}) {
    block[15] = lie;  // the last row is the liar's
    BALLAST_TRY(const auto report, aggregator.aggregate(rows, weights, out));
    std::printf("%.2f %.2f %.2f, of the liar %.0f %%\n", out[0], out[1], out[2],
                100.0 * report.kept[5]);
  }
  const auto wrong = aggregator.aggregate(rows, std::span(weights).first(5), out);
  std::printf("error: %s\n", wrong.error().message.c_str());
  return {};
}

}  // namespace

int main() {
  const ballast::Status status = run();
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
