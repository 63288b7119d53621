#pragma once
// A catalogue for people and programs: `ballast list`, `--json` and the tables of the documents.

#include <string>

#include "ballast/expression/catalogue.h"

namespace ballast::expression {

// Each name as it is written, what it does, and below it its parameters and the paper.
std::string to_text(const Catalogue& catalogue);

// One JSON object per line: kind, name, usage, help, paper, joins, and parameters with name, kind,
// range, default (null: must be given) and help.
std::string to_json_lines(const Catalogue& catalogue);

// A table: how it is written, what it does, its parameters, the paper.
std::string to_markdown(const Catalogue& catalogue);

}  // namespace ballast::expression
