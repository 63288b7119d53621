// Table 1 and Lemma 3.1: the constants of the rules, and how they fall with lambda.

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "ballast/verify/claims.h"
#include "ballast/verify/runs.h"
#include "ballast/verify/theory.h"
#include "ballast/verify/worst_case.h"

namespace ballast::verify {
namespace {

constexpr double kLambdas[] = {0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 1.0 / 3.0, 0.4, 0.45};
constexpr std::size_t kSmall = 4;  // the first ones, at which the order in lambda is seen
constexpr AdversaryKind kAdversaries[] = {AdversaryKind::kFar,          AdversaryKind::kShift,
                                          AdversaryKind::kLittle,       AdversaryKind::kEmpire,
                                          AdversaryKind::kConstruction, AdversaryKind::kSearch};
constexpr double kOrderTolerance = 0.1;

struct Studied {
  const char* base;
  bool is_ctma;

  std::string text(double lambda) const {
    return is_ctma ? fmt::format("ctma({}, {})", base, lambda) : base;
  }
  std::string label() const { return is_ctma ? fmt::format("ctma({})", base) : base; }
  double proved(double lambda) const {
    const double c = median_constant(lambda);
    return is_ctma ? ctma_constant(lambda, c) : c;
  }
};

constexpr Studied kRules[] = {{"gm", false}, {"cwmed", false}, {"gm", true}, {"cwmed", true}};

// The largest pull of all adversaries, and whose it was; and those of two of them.
struct Worst {
  double pull = 0.0;
  AdversaryKind adversary = AdversaryKind::kFar;
  double constructed = 0.0, found = 0.0;
};

Result<Worst> measure(const Lab& lab, const Studied& studied, double lambda) {
  BALLAST_TRY(const auto rule, lab.components.make_rule(studied.text(lambda)));
  RuleBench bench;
  Worst worst;
  for (const AdversaryKind adversary : kAdversaries) {
    const WorstCaseOptions options{.lambda = lambda,
                                   .trials = lab.pick(10, 200),
                                   .starts = lab.pick(16, 100),
                                   .steps = lab.pick(400, 4000)};
    BALLAST_TRY(const double pulled, worst_pull(*rule, adversary, options, bench));
    if (adversary == AdversaryKind::kConstruction) worst.constructed = pulled;
    if (adversary == AdversaryKind::kSearch) worst.found = pulled;
    if (pulled <= worst.pull) continue;
    worst.pull = pulled;
    worst.adversary = adversary;
  }
  return worst;
}

void judge(const Studied& studied, std::span<const Worst> worst, Findings& findings) {
  std::vector<double> constants;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::size(kLambdas); ++i) {
    constants.push_back(worst[i].found);
    least = std::min(least, worst[i].found / worst[i].constructed);
    findings.checks.push_back(
        {.what = fmt::format("{}, lambda {:.3g}: largest |x^ - x_G|^2 / rho^2, by {}",
                             studied.label(), kLambdas[i], name(worst[i].adversary)),
         .measured = Estimate::exactly(worst[i].pull),
         .limit = studied.proved(kLambdas[i]),
         .reason = studied.is_ctma ? "60 lambda (1 + c)" : "(1 + lambda / (1 - 2 lambda))^2"});
  }
  findings.checks.push_back(
      {.what = fmt::format("{}: what the search finds over what is known, least", studied.label()),
       .measured = Estimate::exactly(least),
       .relation = Relation::kAtLeast,
       .limit = 0.95,
       .reason = "tables worked out on paper; the search begins at random ones",
       .possible = {.low = 0.0}});
  const double order =
      log_slope(std::span(kLambdas).first(kSmall), std::span(constants).first(kSmall));
  findings.checks.push_back(
      {.what = fmt::format("{}: order in lambda, for lambda up to 0.1", studied.label()),
       .measured = Estimate::exactly(order),
       .relation = studied.is_ctma ? Relation::kAtLeast : Relation::kAtMost,
       .limit = studied.is_ctma ? 1.0 - kOrderTolerance : kOrderTolerance,
       .reason = studied.is_ctma ? "1, tolerance 0.1" : "0, tolerance 0.1"});
}

}  // namespace

Result<Findings> check_constants(const Lab& lab) {
  constexpr std::size_t kShares = std::size(kLambdas);
  BALLAST_TRY(const auto measured, run_all(lab, std::size(kRules) * kShares, [&](std::size_t i) {
                return measure(lab, kRules[i / kShares], kLambdas[i % kShares]);
              }));
  Findings findings;
  records::Figure figure{.stem = "constants",
                         .title = "Largest |x^ - x_G|^2 / rho^2 found, and the proved constants",
                         .x_label = "lambda",
                         .y_label = "c"};
  const std::vector<double> lambdas(std::begin(kLambdas), std::end(kLambdas));
  for (std::size_t r = 0; r < std::size(kRules); ++r) {
    const std::span worst = std::span(measured).subspan(r * kShares, kShares);
    judge(kRules[r], worst, findings);
    std::vector<double> constants;
    for (const Worst& one : worst) constants.push_back(one.pull);
    figure.curves.push_back({.label = kRules[r].label(), .x = lambdas, .y = std::move(constants)});
  }
  for (const Studied& studied : {kRules[0], kRules[2]}) {
    records::FigureCurve proved{.label = studied.is_ctma ? "proved, ctma" : "proved, gm and cwmed",
                                .x = lambdas,
                                .is_reference = true};
    for (const double lambda : kLambdas) proved.y.push_back(studied.proved(lambda));
    figure.curves.push_back(std::move(proved));
  }
  findings.figures.push_back(std::move(figure));
  return findings;
}

}  // namespace ballast::verify
