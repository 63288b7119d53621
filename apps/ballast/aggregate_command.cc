#include <fmt/core.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "apps/ballast/commands.h"
#include "ballast/base/parallel.h"
#include "ballast/files/array_file.h"
#include "ballast/files/npy.h"
#include "ballast/files/safetensors.h"
#include "ballast/robust/aggregate.h"
#include "ballast/robust/registry.h"

namespace ballast::apps {
namespace {

struct AggregateFlags {
  std::string rule;
  std::string rows;
  std::string weights;
  std::string out;
  std::string device = "cpu";
  std::size_t threads = hardware_threads();
  bool as_json = false;
};

// The rows of a file as floats, in one piece.
struct Table {
  AlignedVector<float> values;
  std::vector<const float*> pointers;
  std::size_t dim = 0;
  bool is_double = false;  // in the file

  kernels::RowsView view() const { return {pointers, dim}; }
};

Result<AlignedVector<float>> to_floats(const AlignedVector<double>& values, std::size_t dim) {
  constexpr double kLargest = std::numeric_limits<float>::max();
  AlignedVector<float> floats(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i]) && std::abs(values[i]) > kLargest) {
      return invalid_argument(fmt::format(
          "row {} holds {}, which is beyond float32; rows are aggregated as float32, so scale them",
          i / dim, values[i]));
    }
    floats[i] = static_cast<float>(values[i]);
  }
  return floats;
}

Result<Table> read_rows(const std::string& location) {
  BALLAST_TRY(files::Array array, files::read_array(location));
  if (array.shape.size() != 2 || array.shape[0] == 0 || array.shape[1] == 0) {
    return invalid_argument(fmt::format("{}: the shape is {}, but rows must be m x d, not empty",
                                        location, files::to_string(array.shape)));
  }
  Table table;
  table.dim = array.shape[1];
  if (auto* floats = std::get_if<AlignedVector<float>>(&array.values)) {
    table.values = std::move(*floats);
  } else if (const auto* doubles = std::get_if<AlignedVector<double>>(&array.values)) {
    table.is_double = true;
    BALLAST_TRY(table.values, to_floats(*doubles, table.dim));
  } else {
    return invalid_argument(
        fmt::format("{}: the elements are {}, but rows must be float32 or float64", location,
                    files::element_name(array.type())));
  }
  for (std::size_t i = 0; i < array.shape[0]; ++i) {
    table.pointers.push_back(table.values.data() + i * table.dim);
  }
  return table;
}

Result<std::vector<double>> read_weights(const std::string& location, std::size_t rows) {
  if (location.empty()) return std::vector<double>(rows, 1.0);
  BALLAST_TRY(const files::Array array, files::read_array(location));
  if (array.shape.size() != 1 || array.shape[0] != rows) {
    return invalid_argument(
        fmt::format("{}: the shape is {}, but {} rows need weights of shape ({},)", location,
                    files::to_string(array.shape), rows, rows));
  }
  return files::to_doubles(array);
}

// In the element type of the rows; a .safetensors file holds it as the tensor "out".
Status write_result(const std::string& path, const std::vector<float>& result, bool is_double) {
  const std::vector<double> doubles(result.begin(), result.end());
  const files::ArrayView array =
      is_double ? files::ArrayView({result.size()}, std::span<const double>(doubles))
                : files::ArrayView({result.size()}, std::span<const float>(result));
  if (!path.ends_with(".safetensors")) return files::write_npy(path, array);
  const files::TensorView tensors[] = {{"out", array}};
  return files::write_safetensors(path, tensors);
}

std::string describe_json(const robust::Rule& rule, const Table& table,
                          const robust::Report& report, double milliseconds) {
  const nlohmann::ordered_json line = {
      {"rule", rule.text()}, {"rows", table.pointers.size()}, {"dim", table.dim},
      {"ms", milliseconds},  {"kept_weight", report.kept},    {"iterations", report.iterations}};
  return line.dump() + "\n";
}

std::string describe(const robust::Rule& rule, const Table& table, const robust::Report& report,
                     double milliseconds) {
  std::string text = fmt::format("{} of {} rows x {} in {:.3g} ms\n", rule.text(),
                                 table.pointers.size(), table.dim, milliseconds);
  for (std::size_t i = 0; i < report.kept.size(); ++i) {
    if (report.kept[i] < 1.0) {
      text += fmt::format("  row {}: {:.0f} % of its weight kept\n", i, 100.0 * report.kept[i]);
    }
  }
  return text;
}

Status aggregate_files(const AggregateFlags& flags) {
  BALLAST_TRY(const robust::RulePointer rule, robust::parse_rule(flags.rule));
  BALLAST_TRY(const auto backend, kernels::make_backend(flags.device, flags.threads));
  BALLAST_TRY(const Table table, read_rows(flags.rows));
  BALLAST_TRY(const auto weights, read_weights(flags.weights, table.pointers.size()));
  std::vector<float> result(table.dim);
  robust::Workspace workspace;
  const auto start = std::chrono::steady_clock::now();
  BALLAST_TRY(const robust::Report report,
              robust::aggregate(*rule, table.view(), weights, result, *backend, workspace));
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;
  if (!flags.out.empty()) BALLAST_TRY_STATUS(write_result(flags.out, result, table.is_double));
  return print(flags.as_json ? describe_json(*rule, table, report, elapsed.count())
                             : describe(*rule, table, report, elapsed.count()));
}

constexpr const char* kFooter =
    "Example: 17 workers' latest gradients, each weighed by how many updates the worker has "
    "sent,\n"
    "when up to 0.4 of the updates may be lies:\n"
    "  ballast aggregate --rule 'ctma(gm, 0.4)' --rows rows.npy --weights counts.npy --out "
    "out.npy\n"
    "\n"
    "'ballast list' shows every rule.";

}  // namespace

void add_aggregate_command(CLI::App& app, Action& action) {
  // An unset variable of a shell script must not pass for a flag that was left out.
  const auto is_named = [](const std::string& file) {
    return file.empty() ? "names no file" : std::string();
  };
  CLI::App* command = app.add_subcommand("aggregate", "Aggregate the rows of a file by a rule");
  const auto flags = std::make_shared<AggregateFlags>();
  command->add_option("--rule", flags->rule, "Rule, for example 'ctma(gm, 0.4)'")->required();
  command
      ->add_option("--rows", flags->rows,
                   "m x d float32 or float64: .npy, or FILE.safetensors[:NAME]")
      ->check(is_named)
      ->required();
  command
      ->add_option("--weights", flags->weights, "m positive numbers, same formats; default: equal")
      ->check(is_named);
  command->add_option("--out", flags->out, "Where the result goes: .npy or .safetensors")
      ->check(is_named);
  command
      ->add_option("--device", flags->device,
                   "cpu (fast), reference (plain, double precision) or cuda (a plugin)")
      ->check(CLI::IsMember(
          std::vector<std::string>(kernels::kDevices.begin(), kernels::kDevices.end())))
      ->capture_default_str();
  command->add_option("--threads", flags->threads, "Threads; the result does not depend on them")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_flag("--json", flags->as_json,
                    "Print one JSON object: rule, rows, dim, ms, kept_weight, iterations");
  command->footer(kFooter);
  command->callback([&action, flags] { action = [flags] { return aggregate_files(*flags); }; });
}

}  // namespace ballast::apps
