#include "ballast/methods/registry.h"

#include <fmt/core.h>

#include <utility>

#include "ballast/base/check.h"
#include "ballast/methods/method_item.h"

namespace ballast::methods {

// One line per method; its own file defines kNAMEMethod.
#define BALLAST_METHODS(METHOD) \
  METHOD(Table)                 \
  METHOD(Asgd)                  \
  METHOD(DelayAdaptive)         \
  METHOD(Picky)                 \
  METHOD(Fedbuff)               \
  METHOD(Throttle)              \
  METHOD(Kardam)                \
  METHOD(Basgd)                 \
  METHOD(Basgdm)                \
  METHOD(Zeno)                  \
  METHOD(Aflguard)

#define BALLAST_DECLARE_METHOD(NAME) extern const MethodItem k##NAME##Method;
#define BALLAST_METHOD_ADDRESS(NAME) &k##NAME##Method,

BALLAST_METHODS(BALLAST_DECLARE_METHOD)

namespace {

constexpr const MethodItem* kItems[] = {BALLAST_METHODS(BALLAST_METHOD_ADDRESS)};

}  // namespace

const expression::Registry<MethodPlan>& method_registry() {
  static const expression::Registry<MethodPlan> registry(
      {.noun = "method", .plural = "methods", .example = "table or basgd(10, cwmed)"}, kItems);
  return registry;
}

Result<server::MethodPointer> make_method(std::string_view text, MethodSetting setting) {
  BALLAST_CHECK(setting.worker_count >= 1 && setting.free_places <= setting.worker_count &&
                    setting.dim >= 1 && setting.backend != nullptr,
                "a method is made for workers, a model and a backend");
  BALLAST_TRY(setting.description, method_registry().canonical(text));
  BALLAST_TRY(const MethodPlan plan, method_registry().parse(text));
  if (plan.check) {
    BALLAST_TRY_STATUS(plan.check(setting.worker_count - setting.free_places));
  }
  if (plan.needs_server_gradient && setting.server_gradient == nullptr) {
    return invalid_argument(fmt::format(
        "{} judges updates by a gradient of the server's own, and there is none", text));
  }
  return plan.make(setting);
}

}  // namespace ballast::methods
