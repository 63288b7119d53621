#pragma once
// The backends that the tests of kernels::Backend run on. A program of its own, compiled with
// BALLAST_TEST_CUDA, has the tests of the device: they are skipped where there is none.

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "ballast/kernels/backend.h"
#include "ballast/kernels/device_for_test.h"
#include "ballast/kernels/table_for_test.h"

namespace ballast::kernels {

// An emulated device is far slower than a real one, so that its largest tests are smaller by this.
#ifdef BALLAST_TEST_EMULATED
constexpr std::size_t kSmallerBy = 8;
#else
constexpr std::size_t kSmallerBy = 1;
#endif

struct BackendKind {
  std::string name;
  // Whether it runs the plain loops that the others are compared with: a few sizes then show that
  // the right ones are called.
  bool is_plain;
  // The number of threads matters to some; no result depends on it. Null where there is none.
  std::function<std::unique_ptr<Backend>(std::size_t threads)> make;

  friend void PrintTo(const BackendKind& kind, std::ostream* out) { *out << kind.name; }
};

inline std::vector<BackendKind> backend_kinds() {
#ifdef BALLAST_TEST_CUDA
  return {{"cuda", false, [](std::size_t) { return make_cuda_backend().value_or(nullptr); }}};
#else
  return {{"reference", true, [](std::size_t) { return make_reference_backend(); }},
          {"cpu", false, make_cpu_backend},
          {"device", true, [](std::size_t) { return std::make_unique<DeviceBackend>(); }}};
#endif
}

// The rows in a table of the backend's own.
inline std::unique_ptr<Table> own_rows(const Backend& backend, const TestTable& rows) {
  auto table = backend.make_table(rows.dim());
  for (std::size_t i = 0; i < rows.row_count(); ++i) {
    if (!table->insert(i, {.values = rows[i]})) return nullptr;
  }
  return table;
}

inline std::unique_ptr<Vector> own_vector(const Backend& backend, std::span<const float> values) {
  auto vector = backend.make_vector(values.size());
  vector->write(values);
  return vector;
}

inline std::vector<float> values_of(const Vector& vector) {
  std::vector<float> values(vector.size());
  vector.read(values);
  return values;
}

inline std::vector<float> values_of(const Table& table, std::size_t row) {
  std::vector<float> values(table.dim());
  table.read(row, values);
  return values;
}

}  // namespace ballast::kernels
