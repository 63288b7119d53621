#pragma once
// The door to all arithmetic on long vectors. A backend makes tables and vectors, owns their memory
// and computes on them: facts about a table that rules are built from, and the step of an
// optimizer. cpu/ is SIMD and threads, reference/ its plain twin; both work in host memory (host/).
// A third, `cuda`, is a plugin (plugin/). One test holds all of them together (backend_test.cc).
//
// What crosses between device and host is in the types: facts are at most m^2 doubles in a span,
// vectors stay where they are until somebody calls read().
//
// Requires, for every call: tables and vectors for which can_use() holds, of one dim >= 1; at least
// one row; every value finite; outputs that are not among the inputs. Finite rows of any size give
// finite facts and results.
//
// Determinism: the same call gives the same bits again, whatever the number of threads. Medians,
// steps and copies are the same bits on every backend; sums may differ in their last digits.
//
// Thread-safety: calls on different tables and vectors may run at the same time.

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/kernels/rows.h"
#include "ballast/kernels/table.h"
#include "ballast/kernels/vector.h"
#include "ballast/kernels/weights.h"

namespace ballast::kernels {

// What a worker corrects a gradient by.
struct CorrectionVectors {
  const Vector& gradient;
  const Vector& before;     // its last direction
  const Vector& reference;  // the sample's gradient at the model before, or the gradient itself
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string_view name() const noexcept = 0;

  // A vector with values of any kind, and a table without rows. They may outlive the backend.
  virtual std::unique_ptr<Vector> make_vector(std::size_t size) const = 0;
  virtual std::unique_ptr<Table> make_table(std::size_t dim) const = 0;

  // A vector that stands for values of somebody else's, such as a tensor of another library, in the
  // memory where the backend works; they outlive it. Nothing is checked or waited for.
  virtual std::unique_ptr<Vector> view(std::span<float> values) const = 0;

  // Whether this backend can work on it: it made it, or one with the same memory did.
  virtual bool can_use(const Vector& vector) const noexcept = 0;
  virtual bool can_use(const Table& table) const noexcept = 0;

  // For backends that queue their work: the queue to use from now on, such as the stream on which
  // another library prepares rows (cuda: a cudaStream_t; null: its own), and to wait until all that
  // was queued is done. Host memory has no queue.
  virtual void use_stream([[maybe_unused]] void* stream) {}
  virtual void finish() const {}

  // Waits until an event that the caller has recorded is reached (cuda: a cudaEvent_t; null: no
  // event), at any time and whatever the backend is asked meanwhile.
  virtual void wait_for([[maybe_unused]] void* event) const {}

  // True if no value of the row is NaN or infinite. The one question for rows not checked yet,
  // which only borrowed ones can be.
  virtual bool all_finite(const Table& table, std::size_t row) const = 0;

  virtual void copy_row(const Table& table, std::size_t row, Vector& out) const = 0;

  // products[j] = <row_i - centre, row_j - centre> for the rows i of [first, last), all j: the rows
  // of a Gram matrix, laid out (last - first) x m. No centre: the origin. A product is the same
  // bits whichever rows are asked for together, so that a table restored at once goes on like one
  // that grew row by row.
  virtual void inner_products(const Table& table, std::size_t first, std::size_t last,
                              const Vector* centre, std::span<double> products) const = 0;

  // distances[i] = |row_i - point|^2. No point: the origin.
  virtual void squared_distances(const Table& table, const Vector* point,
                                 std::span<double> distances) const = 0;

  // out = sum over k of coefficients[k] * row_k, added in the order of k in double precision and
  // saturated to the largest finite float.
  virtual void combine(const Table& table, std::span<const double> coefficients,
                       Vector& out) const = 0;

  // The same for each row of the matrix; they become the rows of `out`, a table of its own rows.
  virtual void mix(const Table& table, MatrixView coefficients, Table& out) const = 0;

  // out[j] = the weighted median of column j: the value at which the cumulative weight first
  // exceeds half, or the mean of the two neighbours when some prefix weighs exactly half. Never -0.
  virtual void weighted_median(const Table& table, const Weights& weights, Vector& out) const = 0;

  // The same result for a table of its own rows that is asked again and again while single rows are
  // replaced: found from what the table remembers of the last time. Valid until the next call for
  // this table.
  virtual const Vector& follow_median(Table& table, const Weights& weights) const = 0;

  // out[j] = the mean of column j after the share `trim` of the weight was cut from either end,
  // splitting the rows at the cuts. Requires: 0 <= trim < 1/2.
  virtual void weighted_trimmed_mean(const Table& table, const Weights& weights, double trim,
                                     Vector& out) const = 0;

  // The steps of optimizers, in double precision; products and sums round separately. All return
  // whether every result is finite, and may be given values that are not.
  //
  // next = w - rate * direction.
  virtual bool descend(const Vector& w, const Vector& direction, double rate,
                       Vector& next) const = 0;

  // next = share * newest + (1 - share) * before.
  virtual bool average(const Vector& newest, const Vector& before, double share,
                       Vector& next) const = 0;

  // Both in one pass, with the same bits: next_w = w - rate * direction and
  // next_x = share * next_w + (1 - share) * x.
  virtual bool descend_and_average(const Vector& w, const Vector& direction, double rate,
                                   const Vector& x, double share, Vector& next_w,
                                   Vector& next_x) const = 0;

  // The correction of an estimator (optim/estimator.h), rounded as the steps are:
  // next = gradient + keep * (before - reference); next may be one of the three. For workers that
  // compute beside the server: it is queued on the given stream, as use_stream() takes it, at any
  // time and whatever the backend is asked meanwhile, and is not waited for. The one value of
  // `mark` becomes NaN where a result is not finite, and is else left alone.
  virtual void correct(const CorrectionVectors& vectors, double keep, Vector& next, Vector& mark,
                       void* stream) const = 0;
};

std::unique_ptr<Backend> make_reference_backend();
std::unique_ptr<Backend> make_cpu_backend(std::size_t threads);

// From the plugin libballast_cuda.so (plugin/plugin.h); the error says why there is none.
Result<std::unique_ptr<Backend>> make_cuda_backend();

// The devices that configurations name.
inline constexpr std::array<std::string_view, 3> kDevices = {"cpu", "reference", "cuda"};

// The backend of a device. Refuses a name that is not among kDevices. The number of threads is for
// the CPU; no result depends on it.
Result<std::unique_ptr<Backend>> make_backend(std::string_view device, std::size_t threads);

}  // namespace ballast::kernels
