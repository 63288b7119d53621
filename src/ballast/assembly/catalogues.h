#pragma once
// Everything that a specification can name: what `ballast list` prints and the documents' tables
// are made from.

#include <span>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/expression/catalogue.h"

namespace ballast::assembly {

// Methods, rules, attacks, weights, arrivals, compute times, models and optimizers, in this order.
std::span<const expression::Catalogue> catalogues();

// The built-in models, and FILE.pt, which stands for a user's own.
const expression::Catalogue& model_catalogue();

// The catalogue whose expression::list_word() this is; the error suggests the nearest.
Result<const expression::Catalogue*> find_catalogue(std::string_view word);

}  // namespace ballast::assembly
