#include "ballast/methods/method_item.h"
#include "ballast/robust/registry.h"
#include "ballast/server/table_method.h"

namespace ballast::methods {
namespace {

constexpr expression::Parameter kParameters[] = {
    expression::Parameter::whole("past",
                                 "of how many updates of a worker the average is by which its row "
                                 "is judged; 0: its latest row alone")
        .from(0)
        .otherwise(0)};

}  // namespace

// The paper's method itself is server/table_method.h; this is its name.
extern constinit const MethodItem kTableMethod = {
    {.name = "table",
     .help = "a row per worker; at each arrival the rule over all rows, by weight",
     .paper = "Dahan and Levy 2024, Algorithm 2; with a past: ours, after Allen-Zhu et al. 2021 "
              "and Karimireddy et al. 2021",
     .parameters = kParameters},
    [](const expression::Arguments& arguments) -> Result<MethodPlan> {
      const std::uint64_t past = arguments.whole("past");
      MethodPlan plan{.uses_rule = true, .make = nullptr};
      plan.check_rule = [past](const robust::Rule& rule) { return server::check_past(past, rule); };
      plan.make = [past](const MethodSetting& setting) -> Result<server::MethodPointer> {
        BALLAST_TRY(auto rule, robust::parse_rule(setting.rule));
        return server::make_table_method({.worker_count = setting.worker_count,
                                          .dim = setting.dim,
                                          .weights = setting.weights,
                                          .rows_min = setting.rows_min,
                                          .seed = setting.seed,
                                          .past = past},
                                         std::move(rule), setting.backend);
      };
      return plan;
    }};

}  // namespace ballast::methods
