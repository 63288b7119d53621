#include "ballast/methods/method_item.h"
#include "ballast/robust/registry.h"
#include "ballast/server/table_method.h"

namespace ballast::methods {

// The paper's method itself is server/table_method.h; this is its name.
extern constinit const MethodItem kTableMethod = {
    {.name = "table",
     .help = "a row per worker; at each arrival the rule over all rows, by weight",
     .paper = "Dahan and Levy 2024, Algorithm 2"},
    [](const expression::Arguments&) -> Result<MethodPlan> {
      MethodPlan plan{.uses_rule = true, .make = nullptr};
      plan.make = [](const MethodSetting& setting) -> Result<server::MethodPointer> {
        BALLAST_TRY(auto rule, robust::parse_rule(setting.rule));
        return server::make_table_method({.worker_count = setting.worker_count,
                                          .dim = setting.dim,
                                          .weights = setting.weights,
                                          .rows_min = setting.rows_min,
                                          .seed = setting.seed},
                                         std::move(rule), setting.backend);
      };
      return plan;
    }};

}  // namespace ballast::methods
