#pragma once
// The experiments of the paper, which the program carries: experiments/fig2.toml to fig7.toml.

#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/experiment/spec.h"

namespace ballast::experiment {

struct Figure {
  int number = 0;          // as in the compiled paper
  std::string title = {};  // "Figure 5. MNIST: ..."
  Spec spec = {};
};

// The figure of that number, or every one for "all".
Result<std::vector<Figure>> paper_figures(std::string_view which);

// Makes it a reduced version: one seed and fewer updates, the same for every curve. The lengths are
// chosen so that all six figures, 161 runs, end within twelve minutes on two cores.
void make_quick(Spec& spec);

}  // namespace ballast::experiment
