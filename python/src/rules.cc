// Rules and tables for arrays in host memory. ballast/_arrays.py has made NumPy views of whatever
// the user gave, so that here every array is float32 and its last axis contiguous; this is checked
// again, since a wrong pointer would end the process.

#include <fmt/core.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "ballast/base/parallel.h"
#include "ballast/robust/aggregate.h"
#include "ballast/robust/registry.h"
#include "ballast/robust/row_table.h"
#include "python/src/calls.h"
#include "python/src/errors.h"
#include "python/src/modules.h"

namespace ballast::python {
namespace {

namespace nb = nanobind;

using ReadArray = nb::ndarray<const float, nb::ro, nb::device::cpu>;
using Vector = nb::ndarray<const float, nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Output = nb::ndarray<float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using ReportPair = std::pair<std::vector<double>, std::size_t>;  // kept, iterations

constexpr std::size_t kRulesKept = 256;
// Above this many values a call's scratch memory is not worth keeping from call to call.
constexpr std::size_t kScratchValuesMax = 4'000'000;

// Parsed rules, by text. Requires, for all three: the interpreter's lock.
std::shared_ptr<const robust::Rule> find_rule(const std::string& text) {
  static std::map<std::string, std::shared_ptr<const robust::Rule>> rules;
  if (const auto found = rules.find(text); found != rules.end()) return found->second;
  std::shared_ptr<const robust::Rule> rule = value_or_raise(robust::parse_rule(text));
  if (rules.size() >= kRulesKept) rules.clear();
  rules.emplace(text, rule);
  return rule;
}

std::shared_ptr<const kernels::Backend> find_backend(std::size_t threads) {
  static std::map<std::size_t, std::shared_ptr<const kernels::Backend>> backends;
  if (threads == 0) threads = hardware_threads();
  if (threads > 1024) raise_invalid(fmt::format("{} threads are too many", threads));
  auto& backend = backends[threads];
  if (backend == nullptr) backend = kernels::make_cpu_backend(threads);
  return backend;
}

// Scratch memory of the last small call; whoever finds it taken makes its own.
std::unique_ptr<robust::Workspace>& kept_workspace() {
  static std::unique_ptr<robust::Workspace> workspace;
  return workspace;
}

// Where the rows lie, and what keeps them there.
struct Rows {
  std::vector<ReadArray> owners;
  std::vector<const float*> pointers;
  std::size_t dim = 0;
};

void add_matrix(const nb::handle object, Rows& rows) {
  auto array = nb::cast<ReadArray>(object);
  const bool fits =
      array.ndim() == 2 && (array.size() == 0 || array.shape(1) == 1 || array.stride(1) == 1);
  if (!fits) raise_invalid("rows must be m x d, each row contiguous");
  rows.dim = array.shape(1);
  for (std::size_t i = 0; i < array.shape(0); ++i) {
    rows.pointers.push_back(array.data() + static_cast<std::int64_t>(i) * array.stride(0));
  }
  rows.owners.push_back(std::move(array));
}

void add_row(const nb::handle object, Rows& rows) {
  auto array = nb::cast<ReadArray>(object);
  const bool fits = array.ndim() == 1 && (array.shape(0) <= 1 || array.stride(0) == 1);
  if (!fits) raise_invalid("each row must be one contiguous vector");
  if (rows.owners.empty()) rows.dim = array.shape(0);
  if (array.shape(0) != rows.dim) {
    raise_invalid(fmt::format("row 0 has {} values but row {} has {}; make them equal", rows.dim,
                              rows.owners.size(), array.shape(0)));
  }
  rows.pointers.push_back(array.data());
  rows.owners.push_back(std::move(array));
}

Rows rows_of(const nb::object& given) {
  Rows rows;
  if (nb::isinstance<nb::list>(given)) {
    for (const nb::handle row : nb::borrow<nb::list>(given)) add_row(row, rows);
  } else {
    add_matrix(given, rows);
  }
  return rows;
}

ReportPair aggregate(const std::string& text, const nb::object& given,
                     const std::optional<std::vector<double>>& weights, const Output& out,
                     std::uint64_t draw, std::size_t threads) {
  const auto rule = find_rule(text);
  const auto backend = find_backend(threads);
  const Rows rows = rows_of(given);
  const std::vector<double> equal(weights ? 0 : rows.pointers.size(), 1.0);
  const std::span<const double> used = weights ? std::span(*weights) : std::span(equal);
  const std::span<float> values(out.data(), out.shape(0));
  auto workspace = std::move(kept_workspace());
  if (workspace == nullptr) workspace = std::make_unique<robust::Workspace>();
  Result<robust::Report> report;
  without_lock([&] {
    report = robust::aggregate(*rule, {rows.pointers, rows.dim}, used, values, *backend, *workspace,
                               {.draw = draw});
  });
  if (rows.pointers.size() * rows.dim <= kScratchValuesMax) {
    kept_workspace() = std::move(workspace);
  }
  robust::Report told = value_or_raise(std::move(report));
  return {std::move(told.kept), told.iterations};
}

// A server's table, one call at a time.
class TableHandle {
 public:
  TableHandle(std::size_t dim, std::size_t workers, const std::string& rule, std::size_t threads)
      : dim_(dim), workers_(workers) {
    if (dim < 1 || workers < 1) {
      raise_invalid(fmt::format("a table has at least one value and one worker, not {} and {}", dim,
                                workers));
    }
    if (workers > kWorkersMax || dim > kValuesMax / (workers + 2)) {
      raise_invalid(fmt::format("a table of {} workers x {} values is too large", workers, dim));
    }
    auto backend = find_backend(threads);
    table_.emplace(value_or_raise(robust::parse_rule(rule)), std::move(backend), workers, dim);
  }

  std::size_t dim() const { return dim_; }
  std::size_t workers() const { return workers_; }
  std::string rule() const { return table_->rule().text(); }

  void put(std::size_t worker, const Vector& values, double weight) {
    const std::span<const float> row(values.data(), values.shape(0));
    Status done;
    locked([&] { done = table_->put(worker, row, weight); });
    raise_if_failed(done);
  }

  void set_weight(std::size_t worker, double weight) {
    Status done;
    locked([&] { done = table_->set_weight(worker, weight); });
    raise_if_failed(done);
  }

  void remove(std::size_t worker) {
    locked([&] { table_->remove(worker); });
  }

  std::vector<std::size_t> filled() {
    std::vector<std::size_t> numbers;
    locked([&] {
      for (std::size_t i = 0; i < workers_; ++i) {
        if (table_->has(i)) numbers.push_back(i);
      }
    });
    return numbers;
  }

  ReportPair aggregate(const Output& out, std::uint64_t draw) {
    if (out.shape(0) != dim_) raise_invalid("the output has another length than the rows");
    const std::span<float> values(out.data(), dim_);
    Status done;
    ReportPair report;
    locked([&] {
      const auto result = table_->aggregate(draw);
      if (!result) {
        done = tl::unexpected(result.error());
        return;
      }
      (*result)->read(values);
      report = {table_->report().kept, table_->report().iterations};
    });
    raise_if_failed(done);
    return report;
  }

 private:
  static constexpr std::size_t kWorkersMax = 65'536;
  static constexpr std::size_t kValuesMax = std::size_t{1} << 40;

  template <typename Work>
  void locked(Work&& work) {
    without_lock([&] {
      const std::lock_guard lock(mutex_);
      work();
    });
  }

  std::size_t dim_;
  std::size_t workers_;
  std::mutex mutex_;
  std::optional<robust::RowTable> table_;
};

}  // namespace

void add_rules(nb::module_& module) {
  module.def("aggregate", &aggregate, nb::arg("rule"), nb::arg("rows"), nb::arg("weights").none(),
             nb::arg("out").noconvert(), nb::arg("draw"), nb::arg("threads"));
  module.def(
      "check_rule", [](const std::string& text) { return find_rule(text)->text(); },
      nb::arg("text"));
  nb::class_<TableHandle>(module, "Table")
      .def(nb::init<std::size_t, std::size_t, const std::string&, std::size_t>(), nb::arg("dim"),
           nb::arg("workers"), nb::arg("rule"), nb::arg("threads"))
      .def_prop_ro("dim", &TableHandle::dim)
      .def_prop_ro("workers", &TableHandle::workers)
      .def_prop_ro("rule", &TableHandle::rule)
      .def("put", &TableHandle::put, nb::arg("worker"), nb::arg("values"), nb::arg("weight"))
      .def("set_weight", &TableHandle::set_weight, nb::arg("worker"), nb::arg("weight"))
      .def("remove", &TableHandle::remove, nb::arg("worker"))
      .def("filled", &TableHandle::filled)
      .def("aggregate", &TableHandle::aggregate, nb::arg("out").noconvert(), nb::arg("draw"));
}

}  // namespace ballast::python
