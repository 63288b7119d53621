#pragma once
// Errors as values: Error, Result<T>, Status, and BALLAST_TRY to hand one on.
//
// Inside the tree this leads to the file that an installed copy has in this place.

#include "ballast/base/error.h"  // IWYU pragma: export
