#pragma once
// How a method's own file tells the registry of it: it defines `kNAMEMethod`, and registry.cc lists
// NAME.

#include "ballast/expression/registry.h"
#include "ballast/methods/method_plan.h"

namespace ballast::methods {

using MethodItem = expression::Item<MethodPlan>;

}  // namespace ballast::methods
