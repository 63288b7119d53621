// Buffered asynchronous SGD. With B buffers and workers assigned to them, each buffer holds the
// mean of the updates that came for it since the last step; when every buffer has one, the rule
// over the buffers is a step and all are emptied. Whoever floods the server floods one buffer.
//
// A silent buffer would stop everything. So after `reassign` updates without a step the buffers are
// emptied and the workers that were heard meanwhile are spread evenly over them. The paper has a
// timer in seconds; a method has no clock, so updates are counted.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/methods/counted_method.h"
#include "ballast/methods/method_item.h"
#include "ballast/methods/vector_math.h"
#include "ballast/robust/aggregate.h"
#include "ballast/robust/registry.h"

namespace ballast::methods {
namespace {

using expression::Arguments;
using expression::Parameter;
using server::AdmittedUpdate;
using server::Answer;

// Spreads the numbers of draws over seeds, as the table does.
constexpr std::uint64_t kSeedStride = 0x9E37'79B9'7F4A'7C15;

struct BasgdOptions {
  std::uint64_t buffers = 1;
  std::uint64_t reassign = 0;  // updates without a step; 0: never
  std::shared_ptr<const robust::Rule> rule;
};

std::string buffer_name(std::size_t buffer) { return fmt::format("buffer-{}", buffer); }

class Basgd final : public CountedMethod {
 public:
  Basgd(const MethodSetting& setting, BasgdOptions options)
      : CountedMethod(setting),
        options_(std::move(options)),
        buffers_(options_.buffers),
        sizes_(options_.buffers),
        buffer_of_(setting.worker_count),
        heard_(setting.worker_count),
        direction_(setting.dim),
        ones_(options_.buffers, 1.0) {
    for (std::size_t i = 0; i < buffer_of_.size(); ++i) buffer_of_[i] = i % buffers_.size();
    for (KeptVector& buffer : buffers_) buffer.values.resize(setting.dim);
  }

 protected:
  Answer judge(const AdmittedUpdate& update) override {
    if (options_.reassign > 0 && waiting_ >= options_.reassign) reassign();
    ++waiting_;
    heard_[update.worker] = 1;
    put(buffer_of_[update.worker], update.values);
    if (std::ranges::find(sizes_, 0u) != sizes_.end()) return Answer::nothing();
    aggregate(update.number);
    start_over();
    return Answer::along(direction_);
  }

  void add_figures(std::vector<server::NamedNumber>& figures) const override {
    const auto filled = std::ranges::count_if(sizes_, [](std::uint64_t size) { return size > 0; });
    add_figure(figures, "buffers_filled", static_cast<std::uint64_t>(filled));
    add_figure(figures, "reassignments", reassignments_);
  }

  void save(server::MethodStateView& view) const override {
    save_list(view, "sizes", sizes_);
    save_list(view, "buffer-of", buffer_of_);
    save_list(view, "heard", heard_);
    save_whole(view, "waiting", waiting_);
    save_whole(view, "reassignments", reassignments_);
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (sizes_[b] > 0) save_vector(view, buffer_name(b), buffers_[b]);
    }
  }

  Status load(StateReader& reader) override;

 private:
  void put(std::size_t buffer, std::span<const float> values) {
    const auto size = static_cast<double>(++sizes_[buffer]);
    std::vector<float>& mean = buffers_[buffer].values;
    for (std::size_t j = 0; j < values.size(); ++j) {
      mean[j] = static_cast<float>(((size - 1.0) * mean[j] + values[j]) / size);
    }
    buffers_[buffer].revision = arrivals();
  }

  void aggregate(std::uint64_t number) {
    std::vector<const float*> rows;
    for (const KeptVector& buffer : buffers_) rows.push_back(buffer.values.data());
    const auto report =
        robust::aggregate(*options_.rule, {rows, dim()}, ones_, direction_, *setting().backend,
                          workspace_, {.draw = setting().seed * kSeedStride + number});
    BALLAST_CHECK(report.has_value(), "means of admitted updates have an aggregate");
  }

  void start_over() {
    std::ranges::fill(sizes_, 0u);
    std::ranges::fill(heard_, 0u);
    for (KeptVector& buffer : buffers_) std::ranges::fill(buffer.values, 0.0f);
    waiting_ = 0;
  }

  // Those that were heard take the buffers in turn, in order of number, then the others go on.
  void reassign() {
    std::size_t next = 0;
    for (const std::uint64_t is_heard : {1u, 0u}) {
      for (std::size_t i = 0; i < heard_.size(); ++i) {
        if (heard_[i] == is_heard) buffer_of_[i] = next++ % buffers_.size();
      }
    }
    ++reassignments_;
    start_over();
  }

  BasgdOptions options_;
  std::vector<KeptVector> buffers_;
  std::vector<std::uint64_t> sizes_;      // updates in each buffer
  std::vector<std::uint64_t> buffer_of_;  // by worker
  std::vector<std::uint64_t> heard_;      // since the last step or reassignment: 1, else 0
  std::uint64_t waiting_ = 0;             // updates since then
  std::uint64_t reassignments_ = 0;
  std::vector<float> direction_;
  std::vector<double> ones_;
  robust::Workspace workspace_;
};

Status Basgd::load(StateReader& reader) {
  BALLAST_TRY(std::vector<std::uint64_t> sizes, reader.list("sizes", buffers_.size()));
  BALLAST_TRY(std::vector<std::uint64_t> buffer_of, reader.list("buffer-of", places()));
  BALLAST_TRY(std::vector<std::uint64_t> heard, reader.per_worker("heard"));
  BALLAST_TRY(const std::uint64_t waiting, reader.whole("waiting"));
  BALLAST_TRY(const std::uint64_t reassignments, reader.whole("reassignments"));
  const auto is_buffer = [&](std::uint64_t b) { return b < buffers_.size(); };
  if (sizes.size() != buffers_.size() || !std::ranges::all_of(buffer_of, is_buffer)) {
    return invalid_argument(fmt::format("the state is not one of {} buffers", buffers_.size()));
  }
  std::vector<KeptVector> buffers(buffers_.size());
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    BALLAST_TRY(buffers[b], reader.vector(buffer_name(b)));
    if (buffers[b].values.empty() != (sizes[b] == 0)) {
      return invalid_argument(fmt::format("the record of buffer {} contradicts itself", b));
    }
    buffers[b].values.resize(dim());
  }
  BALLAST_TRY_STATUS(reader.finish());
  for (std::size_t i = buffer_of.size(); i < places(); ++i) {
    buffer_of.push_back(i % buffers_.size());
  }
  buffers_ = std::move(buffers);
  sizes_ = std::move(sizes);
  buffer_of_ = std::move(buffer_of);
  heard_ = std::move(heard);
  waiting_ = waiting;
  reassignments_ = reassignments;
  return {};
}

constexpr Parameter kParameters[] = {
    Parameter::whole("buffers", "how many buffers the updates go to").from(1),
    Parameter::nested("rule", "rule", "what combines the buffers").otherwise("cwmed"),
    Parameter::whole("reassign",
                     "updates without a step after which workers change their buffers; 0: never")
        .otherwise(0)};

Result<MethodPlan> make_plan(const Arguments& arguments) {
  BasgdOptions options{.buffers = arguments.whole("buffers"),
                       .reassign = arguments.whole("reassign"),
                       .rule = nullptr};
  BALLAST_TRY(options.rule, robust::rule_registry().make_argument(arguments, "rule"));
  MethodPlan plan;
  plan.check = [options](std::size_t workers) -> Status {
    if (options.buffers <= workers) return options.rule->check_row_count(options.buffers);
    return invalid_argument(fmt::format(
        "{} buffers for {} workers: some would stay empty, and no step would ever be taken",
        options.buffers, workers));
  };
  plan.make = [options](const MethodSetting& setting) -> Result<server::MethodPointer> {
    return std::make_unique<Basgd>(setting, options);
  };
  return plan;
}

}  // namespace

extern constinit const MethodItem kBasgdMethod = {
    {.name = "basgd",
     .help = "the mean of what came for each of BUFFERS buffers, then the rule over the buffers",
     .paper = "Yang and Li 2021",
     .parameters = kParameters},
    make_plan};

extern constinit const MethodItem kBasgdmMethod = {
    {.name = "basgdm",
     .help = "basgd on updates with momentum: needs optimizer = \"momentum\"",
     .paper = "Yang and Li 2023",
     .parameters = kParameters},
    [](const Arguments& arguments) -> Result<MethodPlan> {
      BALLAST_TRY(MethodPlan plan, make_plan(arguments));
      plan.needs_momentum = true;
      return plan;
    }};

}  // namespace ballast::methods
