// Rules and tables. ballast/_arrays.py has made NumPy views of whatever the user gave in host
// memory, and ballast/_device.py DLPack capsules of what lies on the CUDA device, so that here
// every array is float32 and its last axis contiguous; this is checked again, since a wrong pointer
// would end the process.

#include <fmt/core.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "ballast/robust/aggregate.h"
#include "ballast/robust/registry.h"
#include "ballast/robust/row_table.h"
#include "python/src/calls.h"
#include "python/src/errors.h"
#include "python/src/modules.h"
#include "python/src/place.h"

namespace ballast::python {
namespace {

namespace nb = nanobind;

using ReportPair = std::pair<std::vector<double>, std::size_t>;  // kept, iterations

constexpr std::size_t kRulesKept = 256;
// Scratch memory is kept from call to call for tables of so many values: nnm needs as much as the
// rows have, 80 MB, and new memory costs it half of its time. On a device, where taking memory
// waits for all work, it is kept for larger ones.
constexpr std::size_t kScratchValuesMax = 20'000'000;
constexpr std::size_t kDeviceScratchValuesMax = 64'000'000;

const Place kHost = {};  // for arrays; nobody computes there

// Parsed rules, by text. Requires, here and below: the interpreter's lock.
std::shared_ptr<const robust::Rule> find_rule(const std::string& text) {
  static std::map<std::string, std::shared_ptr<const robust::Rule>> rules;
  if (const auto found = rules.find(text); found != rules.end()) return found->second;
  std::shared_ptr<const robust::Rule> rule = value_or_raise(robust::parse_rule(text));
  if (rules.size() >= kRulesKept) rules.clear();
  rules.emplace(text, rule);
  return rule;
}

// Scratch memory of the last small call; whoever finds it taken makes its own.
std::unique_ptr<robust::Workspace>& kept_workspace(const Place& place) {
  static std::unique_ptr<robust::Workspace> host, device;
  return place.is_cuda ? device : host;
}

// Where the rows lie, and what keeps them there.
struct Rows {
  std::vector<ReadArray> owners;
  std::vector<const float*> pointers;
  std::size_t dim = 0;
};

void add_matrix(const nb::handle object, const Place& place, Rows& rows) {
  auto array = read_array(object, place);
  const bool fits =
      array.ndim() == 2 && (array.size() == 0 || array.shape(1) == 1 || array.stride(1) == 1);
  if (!fits) raise_invalid("rows must be m x d, each row contiguous");
  rows.dim = array.shape(1);
  for (std::size_t i = 0; i < array.shape(0); ++i) {
    rows.pointers.push_back(array.data() + static_cast<std::int64_t>(i) * array.stride(0));
  }
  rows.owners.push_back(std::move(array));
}

void add_row(const nb::handle object, const Place& place, Rows& rows) {
  auto array = read_array(object, place);
  const std::span<const float> values = vector_of(array);
  if (rows.owners.empty()) rows.dim = values.size();
  if (values.size() != rows.dim) {
    raise_invalid(fmt::format("row 0 has {} values but row {} has {}; make them equal", rows.dim,
                              rows.owners.size(), values.size()));
  }
  rows.pointers.push_back(values.data());
  rows.owners.push_back(std::move(array));
}

Rows rows_of(const nb::object& given, const Place& place) {
  Rows rows;
  if (nb::isinstance<nb::list>(given)) {
    for (const nb::handle row : nb::borrow<nb::list>(given)) add_row(row, place, rows);
  } else {
    add_matrix(given, place, rows);
  }
  return rows;
}

ReportPair aggregate_at(const Place& place, const std::string& text, const nb::object& given,
                        const std::optional<std::vector<double>>& weights, const nb::object& output,
                        std::uint64_t draw, Stream stream) {
  const auto rule = find_rule(text);
  const Rows rows = rows_of(given, place);
  const std::vector<double> equal(weights ? 0 : rows.pointers.size(), 1.0);
  const std::span<const double> used = weights ? std::span(*weights) : std::span(equal);
  const WriteArray out = write_array(output, place);
  const std::span<float> values = vector_of(out);
  auto workspace = std::move(kept_workspace(place));
  if (workspace == nullptr) workspace = std::make_unique<robust::Workspace>();
  Result<robust::Report> report;
  run_at(place, stream, [&] {
    report = robust::aggregate(*rule, {rows.pointers, rows.dim}, used, values, *place.backend,
                               *workspace, {.draw = draw});
  });
  const std::size_t kept_max = place.is_cuda ? kDeviceScratchValuesMax : kScratchValuesMax;
  if (rows.pointers.size() * rows.dim <= kept_max) {
    kept_workspace(place) = std::move(workspace);
  }
  robust::Report told = value_or_raise(std::move(report));
  return {std::move(told.kept), told.iterations};
}

ReportPair aggregate(const std::string& text, const nb::object& given,
                     const std::optional<std::vector<double>>& weights, const nb::object& out,
                     std::uint64_t draw, std::size_t threads) {
  return aggregate_at(find_place("cpu", threads), text, given, weights, out, draw, 0);
}

ReportPair aggregate_on_device(const std::string& text, const nb::object& given,
                               const std::optional<std::vector<double>>& weights,
                               const nb::object& out, std::uint64_t draw, Stream stream) {
  return aggregate_at(find_place("cuda", 0), text, given, weights, out, draw, stream);
}

// A server's table, one call at a time.
class TableHandle {
 public:
  TableHandle(std::size_t dim, std::size_t workers, const std::string& rule, std::size_t threads,
              const std::string& device)
      : dim_(dim), workers_(workers), place_(find_place(device, threads)) {
    if (dim < 1 || workers < 1) {
      raise_invalid(fmt::format("a table has at least one value and one worker, not {} and {}", dim,
                                workers));
    }
    if (workers > kWorkersMax || dim > kValuesMax / (workers + 2)) {
      raise_invalid(fmt::format("a table of {} workers x {} values is too large", workers, dim));
    }
    counts_.resize(workers);
    auto parsed = value_or_raise(robust::parse_rule(rule));
    locked(0, [&] { table_.emplace(std::move(parsed), place_.backend, workers, dim); });
  }

  std::size_t dim() const { return dim_; }
  std::size_t workers() const { return workers_; }
  std::string rule() const { return table_->rule().text(); }

  // A row in host memory goes into a table on the device as well, which copies it. Without a weight
  // it is how often the worker's row was put, this time included.
  void put(std::size_t worker, const nb::object& values, std::optional<double> weight) {
    const ReadArray array = read_array(values, kHost);
    put_row(worker, vector_of(array), weight, 0);
  }

  void put_on_device(std::size_t worker, const nb::object& values, std::optional<double> weight,
                     Stream stream) {
    const ReadArray array = read_array(values, place_);
    put_row(worker, vector_of(array), weight, stream);
  }

  void set_weight(std::size_t worker, double weight) {
    Status done;
    locked(0, [&] { done = table_->set_weight(worker, weight); });
    raise_if_failed(done);
  }

  void remove(std::size_t worker) {
    locked(0, [&] {
      table_->remove(worker);
      counts_.at(worker) = 0;
    });
  }

  // How often each worker's row was put.
  std::vector<std::uint64_t> counts() {
    std::vector<std::uint64_t> counts;
    locked(0, [&] { counts = counts_; });
    return counts;
  }

  std::vector<std::size_t> filled() {
    std::vector<std::size_t> numbers;
    locked(0, [&] {
      for (std::size_t i = 0; i < workers_; ++i) {
        if (table_->has(i)) numbers.push_back(i);
      }
    });
    return numbers;
  }

  ReportPair aggregate(const nb::object& out, std::uint64_t draw) {
    const WriteArray array = write_array(out, kHost);
    return aggregate_into(vector_of(array), draw, 0);
  }

  ReportPair aggregate_on_device(const nb::object& out, std::uint64_t draw, Stream stream) {
    const WriteArray array = write_array(out, place_);
    return aggregate_into(vector_of(array), draw, stream);
  }

 private:
  static constexpr std::size_t kWorkersMax = 65'536;
  static constexpr std::size_t kValuesMax = std::size_t{1} << 40;

  void put_row(std::size_t worker, std::span<const float> row, std::optional<double> weight,
               Stream stream) {
    Status done;
    locked(stream, [&] {
      const std::uint64_t count = counts_.at(worker) + 1;
      done = table_->put(worker, row, weight.value_or(static_cast<double>(count)));
      if (done) counts_[worker] = count;
    });
    raise_if_failed(done);
  }

  ReportPair aggregate_into(std::span<float> values, std::uint64_t draw, Stream stream) {
    if (values.size() != dim_) raise_invalid("the output has another length than the rows");
    Status done;
    ReportPair report;
    locked(stream, [&] {
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

  template <typename Work>
  void locked(Stream stream, Work&& work) {
    run_at(place_, stream, [&] {
      const Turn turn(*this);
      work();
    });
  }

  // One call at a time. A fork may find another thread's under way, which nobody ends in the child.
  class Turn {
   public:
    explicit Turn(TableHandle& table) : lock_(table.mutex_, std::try_to_lock), table_(table) {
      const pid_t here = getpid();
      if (const pid_t holder = table.holder_; !lock_ && holder != 0 && holder != here) {
        throw LibraryError{{ErrorCode::kUnsupported,
                            "another thread used this table while the process was forked; make a "
                            "new one in this process"}};
      }
      if (!lock_) lock_.lock();
      table.holder_ = here;
    }
    ~Turn() { table_.holder_ = 0; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    std::unique_lock<std::mutex> lock_;
    TableHandle& table_;
  };

  std::size_t dim_;
  std::size_t workers_;
  Place place_;
  std::mutex mutex_;
  std::atomic<pid_t> holder_ = 0;  // the process whose call has the mutex; 0: none
  std::optional<robust::RowTable> table_;
  std::vector<std::uint64_t> counts_;
};

}  // namespace

void add_rules(nb::module_& module) {
  module.def("aggregate", &aggregate, nb::arg("rule"), nb::arg("rows"), nb::arg("weights").none(),
             nb::arg("out"), nb::arg("draw"), nb::arg("threads"));
  module.def("aggregate_on_device", &aggregate_on_device, nb::arg("rule"), nb::arg("rows"),
             nb::arg("weights").none(), nb::arg("out"), nb::arg("draw"), nb::arg("stream"));
  // Raises, with the reason, where there is no such device.
  module.def("open_device", [](const std::string& device) { find_place(device, 0); });
  module.def(
      "check_rule", [](const std::string& text) { return find_rule(text)->text(); },
      nb::arg("text"));
  nb::class_<TableHandle>(module, "Table")
      .def(
          nb::init<std::size_t, std::size_t, const std::string&, std::size_t, const std::string&>(),
          nb::arg("dim"), nb::arg("workers"), nb::arg("rule"), nb::arg("threads"),
          nb::arg("device"))
      .def_prop_ro("dim", &TableHandle::dim)
      .def_prop_ro("workers", &TableHandle::workers)
      .def_prop_ro("rule", &TableHandle::rule)
      .def("put", &TableHandle::put, nb::arg("worker"), nb::arg("values"), nb::arg("weight").none())
      .def("put_on_device", &TableHandle::put_on_device, nb::arg("worker"), nb::arg("values"),
           nb::arg("weight").none(), nb::arg("stream"))
      .def("set_weight", &TableHandle::set_weight, nb::arg("worker"), nb::arg("weight"))
      .def("remove", &TableHandle::remove, nb::arg("worker"))
      .def("filled", &TableHandle::filled)
      .def("counts", &TableHandle::counts)
      .def("aggregate", &TableHandle::aggregate, nb::arg("out"), nb::arg("draw"))
      .def("aggregate_on_device", &TableHandle::aggregate_on_device, nb::arg("out"),
           nb::arg("draw"), nb::arg("stream"));
}

}  // namespace ballast::python
