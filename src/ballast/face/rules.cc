#include "ballast/rules.h"

#include <fmt/core.h>

#include <functional>
#include <utility>

#include "ballast/base/parallel.h"
#include "ballast/expression/render.h"
#include "ballast/face/backend.h"
#include "ballast/face/guard.h"
#include "ballast/robust/aggregate.h"
#include "ballast/robust/registry.h"

namespace ballast {
namespace {

constexpr std::size_t kThreadsMax = 1024;

bool overlap(std::span<const float> a, std::span<const float> b) {
  const std::less<> before;
  return !a.empty() && !b.empty() && before(a.data(), b.data() + b.size()) &&
         before(b.data(), a.data() + a.size());
}

Report public_report(robust::Report report) {
  return {.kept = std::move(report.kept), .iterations = report.iterations};
}

// Refuses what the rules themselves take for granted.
Status check_rows(std::span<const std::span<const float>> rows, std::span<const float> out) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].size() != rows[0].size()) {
      return invalid_argument(fmt::format("row 0 has {} values but row {} has {}; make them equal",
                                          rows[0].size(), i, rows[i].size()));
    }
    if (face::is_null(rows[i])) return invalid_argument(fmt::format("row {} is a null span", i));
    if (overlap(rows[i], out)) {
      return invalid_argument(fmt::format("the output lies in row {}; give it its own memory", i));
    }
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const kernels::Backend>> face::make_backend(const Compute& compute) {
  if (compute.threads > kThreadsMax) {
    return invalid_argument(
        fmt::format("{} threads; use at most {}, or 0 for all", compute.threads, kThreadsMax));
  }
  const std::size_t threads = compute.threads == 0 ? hardware_threads() : compute.threads;
  BALLAST_TRY(auto backend, kernels::make_backend(compute.device, threads));
  return std::shared_ptr<const kernels::Backend>(std::move(backend));
}

Result<Rule> Rule::parse(std::string_view text) {
  if (face::is_null(text)) return invalid_argument("the rule is a null text");
  return face::guarded("the rule", [&]() -> Result<Rule> {
    BALLAST_TRY(auto rule, robust::parse_rule(text));
    return Rule(std::shared_ptr<const robust::Rule>(std::move(rule)));
  });
}

std::string Rule::text() const { return rule_ == nullptr ? std::string() : rule_->text(); }

Status Rule::check_row_count(std::size_t count) const {
  if (rule_ == nullptr) return face::moved_from("Rule");
  if (count == 0) return invalid_argument("there is nothing to aggregate: no rows");
  return rule_->check_row_count(count);
}

Result<Aggregate> aggregate(std::string_view rule, std::span<const std::vector<float>> rows,
                            std::span<const double> weights, std::uint64_t draw) {
  if (face::is_null(rule) || face::is_null(rows) || face::is_null(weights)) {
    return invalid_argument("the rule, the rows or the weights are a null span");
  }
  return face::guarded("aggregate", [&]() -> Result<Aggregate> {
    BALLAST_TRY(auto result, robust::aggregate(rule, rows, weights, {.draw = draw}));
    return Aggregate{.values = std::move(result.values),
                     .report = public_report(std::move(result.report))};
  });
}

class Aggregator::Body {
 public:
  Body(std::shared_ptr<const robust::Rule> rule, std::shared_ptr<const kernels::Backend> backend)
      : rule_(std::move(rule)), backend_(std::move(backend)) {}

  Result<Report> aggregate(std::span<const std::span<const float>> rows,
                           std::span<const double> weights, std::span<float> out,
                           std::uint64_t draw) {
    BALLAST_TRY_STATUS(check_rows(rows, out));
    pointers_.clear();
    for (const auto row : rows) pointers_.push_back(row.data());
    const std::size_t dim = rows.empty() ? 0 : rows[0].size();
    BALLAST_TRY(auto report, robust::aggregate(*rule_, {pointers_, dim}, weights, out, *backend_,
                                               workspace_, {.draw = draw}));
    return public_report(std::move(report));
  }

 private:
  std::shared_ptr<const robust::Rule> rule_;
  std::shared_ptr<const kernels::Backend> backend_;
  robust::Workspace workspace_;
  std::vector<const float*> pointers_;
};

Result<Aggregator> Aggregator::make(const Rule& rule, const Compute& compute) {
  if (rule.rule_ == nullptr) return face::moved_from("Rule");
  BALLAST_TRY(auto backend, face::make_backend(compute));
  return Aggregator(std::make_unique<Body>(rule.rule_, std::move(backend)));
}

Aggregator::Aggregator(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Aggregator::Aggregator(Aggregator&&) noexcept = default;
Aggregator& Aggregator::operator=(Aggregator&&) noexcept = default;
Aggregator::~Aggregator() = default;

Result<Report> Aggregator::aggregate(std::span<const std::span<const float>> rows,
                                     std::span<const double> weights, std::span<float> out,
                                     std::uint64_t draw) {
  if (body_ == nullptr) return face::moved_from("Aggregator");
  if (face::is_null(rows) || face::is_null(weights) || face::is_null(out)) {
    return invalid_argument("the rows, the weights or the output are a null span");
  }
  return face::guarded("aggregate", [&] { return body_->aggregate(rows, weights, out, draw); });
}

std::string list_rules() { return expression::to_text(robust::rule_registry().catalogue()); }

}  // namespace ballast
