#pragma once
// Server methods by name: from "kardam(1)" to a method.

#include <string_view>

#include "ballast/base/error.h"
#include "ballast/expression/registry.h"
#include "ballast/methods/method_plan.h"

namespace ballast::methods {

const expression::Registry<MethodPlan>& method_registry();

// The method that the text names. Refuses a text that names none, numbers of workers that do not
// fit, and a setting without the gradient of the server's own that the method needs.
Result<server::MethodPointer> make_method(std::string_view text, MethodSetting setting);

}  // namespace ballast::methods
