#include "ballast/assembly/catalogues.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "ballast/attacks/registry.h"
#include "ballast/base/nearest_word.h"
#include "ballast/learn/registry.h"
#include "ballast/methods/registry.h"
#include "ballast/robust/registry.h"
#include "ballast/server/weight_policy.h"
#include "ballast/sim/schedule.h"
#include "ballast/sim/virtual_time.h"

namespace ballast::assembly {
namespace {

using expression::Catalogue;
using expression::Entry;

// Models and optimizers are chosen by a word and set by keys of their own, so they have no
// parameters here.
constexpr Entry kOptimizers[] = {
    {.name = "mu2",
     .help = "double momentum: corrected by a second gradient, iterates averaged; keys beta, "
             "alpha, gamma",
     .paper = "Levy 2023; Dahan and Levy 2024"},
    {.name = "momentum",
     .help = "workers send an average of their gradients; key momentum",
     .paper = "Karimireddy et al. 2021"},
    {.name = "sgd", .help = "workers send the gradient as it is"},
};

std::span<const Entry> model_entries() {
  static const std::vector<Entry> entries = [] {
    std::vector<Entry> made;
    for (const learn::ModelEntry& model : learn::model_registry()) {
      made.push_back({.name = model.name, .help = model.summary});
    }
    made.push_back({.name = "FILE.pt", .help = "a TorchScript file of your own"});
    return made;
  }();
  return entries;
}

Catalogue catalogue_of(const expression::Family& family, std::span<const Entry> entries) {
  Catalogue catalogue{.family = family, .entries = {}};
  for (const Entry& entry : entries) catalogue.entries.push_back(&entry);
  return catalogue;
}

}  // namespace

std::span<const Catalogue> catalogues() {
  static const std::vector<Catalogue> all = {
      methods::method_registry().catalogue(),
      robust::rule_registry().catalogue(),
      attacks::attack_registry().catalogue(),
      server::weight_registry().catalogue(),
      sim::arrival_registry().catalogue(),
      sim::compute_time_registry().catalogue(),
      model_catalogue(),
      catalogue_of({.noun = "optimizer", .plural = "optimizers", .example = "mu2"}, kOptimizers),
  };
  return all;
}

const Catalogue& model_catalogue() {
  static const Catalogue catalogue =
      catalogue_of({.noun = "model", .plural = "models", .example = "mlp"}, model_entries());
  return catalogue;
}

Result<const Catalogue*> find_catalogue(std::string_view word) {
  std::vector<std::string> words;
  for (const Catalogue& catalogue : catalogues()) {
    words.push_back(list_word(catalogue.family));
    if (words.back() == word) return &catalogue;
  }
  const std::vector<std::string_view> known(words.begin(), words.end());
  const auto nearest = nearest_word(word, known);
  const std::string hint = nearest ? fmt::format("did you mean '{}'?", *nearest)
                                   : fmt::format("there are {}", fmt::join(words, ", "));
  return not_found(fmt::format("there is no list of '{}'; {}", word, hint));
}

}  // namespace ballast::assembly
