#pragma once
// The experiments that the program carries: those of the paper, experiments/fig2.toml to
// fig7.toml, and the demonstration, experiments/demo.toml.

#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/experiment/spec.h"

namespace ballast::experiment {

struct PaperFigure {
  int number = 0;          // as in the compiled paper
  std::string title = {};  // "Figure 5. MNIST: ..."
  Spec spec = {};
};

// The figures of these numbers, separated by commas, in the order of the paper; every one for
// "all".
Result<std::vector<PaperFigure>> paper_figures(std::string_view which);

// The demonstration: one fast liar among nine workers, under several rules.
Result<Spec> demo_spec();

// Makes it a reduced version: one seed and fewer updates, the same for every curve. The lengths are
// chosen so that all six figures, 275 runs, end within ten minutes on two cores.
void make_quick(Spec& spec);

}  // namespace ballast::experiment
