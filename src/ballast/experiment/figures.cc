#include "ballast/experiment/figures.h"

#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <set>
#include <utility>

namespace ballast::embedded {

extern const std::string_view kDemo;
extern const std::string_view kFigure2;
extern const std::string_view kFigure3;
extern const std::string_view kFigure4;
extern const std::string_view kFigure5;
extern const std::string_view kFigure6;
extern const std::string_view kFigure7;

}  // namespace ballast::embedded

namespace ballast::experiment {
namespace {

struct CarriedFigure {
  int number;
  std::string_view title;
  const std::string_view& text;
};

constexpr std::array<CarriedFigure, 6> kFigures = {{
    {2, "CIFAR-10: weighted against non-weighted rules", embedded::kFigure2},
    {3, "CIFAR-10: weighted rules with and without \xCF\x89-CTMA", embedded::kFigure3},
    {4, "CIFAR-10: optimizers", embedded::kFigure4},
    {5, "MNIST: weighted against non-weighted rules", embedded::kFigure5},
    {6, "MNIST: weighted rules with and without \xCF\x89-CTMA", embedded::kFigure6},
    {7, "MNIST: optimizers", embedded::kFigure7},
}};

struct Length {
  std::uint64_t updates;
  std::uint64_t evaluate_every;
};

constexpr Length kQuickMnist = {600, 300};
constexpr Length kQuickCifar = {500, 250};

}  // namespace

Result<Spec> demo_spec() { return parse_spec(embedded::kDemo, "demo.toml"); }

Result<std::vector<PaperFigure>> paper_figures(std::string_view which) {
  std::set<int> asked;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = which.find(',');
    const std::string_view name = which.substr(0, comma);
    is_last = comma == std::string_view::npos;
    which.remove_prefix(is_last ? which.size() : comma + 1);
    bool is_known = false;
    for (const CarriedFigure& carried : kFigures) {
      if (name != "all" && name != fmt::format("{}", carried.number)) continue;
      asked.insert(carried.number);
      is_known = true;
    }
    if (is_known) continue;
    return not_found(fmt::format(
        "there is no figure '{}' to reproduce; name some from 2 to 7, as in 5,6, or all",
        assembly::to_printable(name)));
  }
  std::vector<PaperFigure> figures;
  for (const CarriedFigure& carried : kFigures) {
    if (!asked.contains(carried.number)) continue;
    BALLAST_TRY(Spec spec, parse_spec(carried.text, fmt::format("fig{}.toml", carried.number)));
    figures.push_back({.number = carried.number,
                       .title = fmt::format("Figure {}. {}", carried.number, carried.title),
                       .spec = std::move(spec)});
  }
  return figures;
}

void make_quick(Spec& spec) {
  const Length length = spec.base.data == "cifar10" ? kQuickCifar : kQuickMnist;
  spec.seeds = {1};
  spec.base.updates = length.updates;
  spec.base.evaluate_every = length.evaluate_every;
}

}  // namespace ballast::experiment
