#include "ballast/robust/registry.h"

#include <fmt/core.h>

#include <array>

#include "ballast/base/nearest_word.h"
#include "ballast/robust/arguments.h"
#include "ballast/robust/rules/rules.h"

namespace ballast::robust {
namespace {

using Factory = Result<RulePointer> (*)(Arguments&);

Result<RulePointer> gm_from(Arguments& arguments) {
  constexpr std::uint64_t kConverge = 0;
  constexpr std::array<std::string_view, 2> kStarts = {"mean", "zero"};
  GmOptions options;
  BALLAST_TRY(options.tolerance, arguments.positive("tolerance", options.tolerance));
  BALLAST_TRY(options.iterations, arguments.whole("iterations", 1, &kConverge));
  BALLAST_TRY(const std::string start, arguments.word("start", kStarts));
  options.starts_at_zero = start == "zero";
  if (options.starts_at_zero && options.iterations == 0) {
    return arguments.refuse("start",
                            "start=zero needs iterations=N: a converged median has no start");
  }
  return make_gm(options);
}

template <RulePointer (*make)(double)>
Result<RulePointer> from_lambda(Arguments& arguments) {
  BALLAST_TRY(const double lambda, arguments.share("lambda"));
  return make(lambda);
}

template <RulePointer (*make)(RulePointer, double)>
Result<RulePointer> from_base_and_lambda(Arguments& arguments) {
  BALLAST_TRY(RulePointer base, arguments.rule("base"));
  BALLAST_TRY(const double lambda, arguments.share("lambda"));
  return make(std::move(base), lambda);
}

Result<RulePointer> bucketing_from(Arguments& arguments) {
  constexpr std::uint64_t kSeed = 0;
  BALLAST_TRY(RulePointer base, arguments.rule("base"));
  BALLAST_TRY(const std::uint64_t size, arguments.whole("size", 1, nullptr));
  BALLAST_TRY(const std::uint64_t seed, arguments.whole("seed", 0, &kSeed));
  return make_bucketing(std::move(base), size, seed);
}

Result<RulePointer> unweighted_from(Arguments& arguments) {
  BALLAST_TRY(RulePointer base, arguments.rule("base"));
  return make_unweighted(std::move(base));
}

constexpr std::array kEntries = {
    RuleEntry{"mean", "mean", "weighted mean; not robust", "-"},
    RuleEntry{"cwmed", "cwmed", "weighted coordinate-wise median, ties exact",
              "Yin et al. 2018; Dahan and Levy 2024"},
    RuleEntry{"gm", "gm(tolerance=1e-6)",
              "weighted geometric median, converged; gm(iterations=N) stops early",
              "Chen et al. 2017; Dahan and Levy 2024"},
    RuleEntry{
        "ctma", "ctma(BASE, LAMBDA)",
        "weighted mean of the rows nearest to BASE, the farthest LAMBDA of the weight trimmed",
        "Dahan and Levy 2024, Algorithm 1"},
    RuleEntry{"cwtm", "cwtm(LAMBDA)",
              "weighted coordinate-wise mean, LAMBDA of the weight trimmed at either end",
              "Yin et al. 2018"},
    RuleEntry{"krum", "krum(LAMBDA)", "the row in the densest company", "Blanchard et al. 2017"},
    RuleEntry{"multikrum", "multikrum(LAMBDA)", "weighted mean of the rows in the densest company",
              "Blanchard et al. 2017"},
    RuleEntry{"mda", "mda(LAMBDA)",
              "weighted mean of the set of 1 - LAMBDA of the weight with the smallest diameter",
              "El Mhamdi et al. 2018"},
    RuleEntry{"nnm", "nnm(BASE, LAMBDA)",
              "BASE on rows replaced by the mean of their nearest neighbours",
              "Allouah et al. 2023"},
    RuleEntry{"bucketing", "bucketing(BASE, SIZE, seed=0)",
              "BASE on the means of random buckets of SIZE rows", "Karimireddy et al. 2022"},
    RuleEntry{"unweighted", "unweighted(RULE)", "RULE with every weight equal", "-"},
};

constexpr std::array<Factory, kEntries.size()> kFactories = {
    [](Arguments&) -> Result<RulePointer> { return make_mean(); },
    [](Arguments&) -> Result<RulePointer> { return make_cwmed(); },
    gm_from,
    from_base_and_lambda<make_ctma>,
    from_lambda<make_cwtm>,
    from_lambda<make_krum>,
    from_lambda<make_multikrum>,
    from_lambda<make_mda>,
    from_base_and_lambda<make_nnm>,
    bucketing_from,
    unweighted_from,
};

tl::unexpected<Error> unknown_rule(const Expression& expression, std::string_view text) {
  std::array<std::string_view, kEntries.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = kEntries[i].name;
  const auto nearest = nearest_word(expression.name, names);
  const std::string hint = nearest ? fmt::format("did you mean '{}'?", *nearest)
                                   : "'ballast list' shows the rules there are";
  return tl::unexpected(
      Error{ErrorCode::kNotFound,
            point_at(text, expression.position,
                     fmt::format("there is no rule '{}'; {}", expression.name, hint))});
}

}  // namespace

std::span<const RuleEntry> rule_entries() noexcept { return kEntries; }

Result<RulePointer> parse_rule(std::string_view text) {
  BALLAST_TRY(const Expression expression, parse_expression(text));
  return make_rule(expression, text);
}

Result<RulePointer> make_rule(const Expression& expression, std::string_view text) {
  for (std::size_t i = 0; i < kEntries.size(); ++i) {
    if (kEntries[i].name != expression.name) continue;
    Arguments arguments(expression, text);
    BALLAST_TRY(RulePointer rule, kFactories[i](arguments));
    BALLAST_TRY_STATUS(arguments.finish());
    return rule;
  }
  return unknown_rule(expression, text);
}

}  // namespace ballast::robust
