#pragma once
// The seam between an accepted update and a step of the model: what a server does with updates.
//
// The paper's method keeps a row per worker and answers every update with the rule's direction
// (table_method.h). Others collect updates and answer now and then, judge an update by what came
// before, or by a gradient of the server's own. A method sees updates only after admission has let
// them through, so it need not ask who sent them, whether they are finite or of the right size.
//
// What a method keeps is named vectors and numbers, so that checkpoints, inspection and status
// pages need not know which method it is.
//
// Determinism: an answer is a function of the state and the update, whatever the number of threads.
// Thread-safety: none; the server's thread owns it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/base/row_buffer.h"
#include "ballast/kernels/vector.h"
#include "ballast/robust/row_table.h"
#include "ballast/server/update.h"

namespace ballast::server {

// An update that admission has let through. Borrowed.
struct AdmittedUpdate {
  std::uint32_t worker = 0;
  std::uint64_t number = 0;            // counts the accepted updates of all workers, from 1
  std::uint64_t computed_version = 0;  // of the model it was computed on
  std::uint64_t staleness = 0;         // versions between that model and the newest
  const Snapshot& newest;
  std::span<const float> values;
  RowBuffer* memory = nullptr;  // as in Update
};

// What a method makes of an update.
struct Answer {
  enum class Kind : std::uint8_t {
    kNothing,    // accepted; the model stays where it is for now
    kRefused,    // not counted; the model stays where it is
    kDirection,  // accepted, and the model is to move
  };
  Kind kind = Kind::kNothing;
  // The direction, where a backend keeps vectors or else in host memory. Valid until the method is
  // called again.
  const kernels::Vector* vector = nullptr;
  std::span<const float> values = {};
  double scale = 1.0;  // the step's length is multiplied by this

  static Answer nothing() { return {}; }
  static Answer refused() { return {.kind = Kind::kRefused}; }
  static Answer along(const kernels::Vector& direction, double scale = 1.0) {
    return {.kind = Kind::kDirection, .vector = &direction, .scale = scale};
  }
  static Answer along(std::span<const float> direction, double scale = 1.0) {
    return {.kind = Kind::kDirection, .values = direction, .scale = scale};
  }
};

// What a method knows of one worker; zeros where it makes no such difference.
struct WorkerShare {
  std::uint64_t count = 0;   // accepted updates that its part of the state rests on
  std::uint64_t weight = 0;  // in units of 1/kWeightUnits (weight_policy.h)
  double kept = 0.0;         // fraction of its weight that was used last
};

struct NamedNumber {
  std::string name;
  double value = 0.0;
};

// The state of a method: lists of numbers and vectors, each under a name of lower-case letters,
// digits and dashes that occurs once. The revision of a vector changes whenever its values do, and
// no revision comes back with other values: a checkpoint writes only the vectors that changed.
struct NamedNumbers {
  std::string name;
  std::vector<double> values;  // whole numbers are exact up to 2^53

  bool operator==(const NamedNumbers&) const = default;
};

struct NamedVectorView {
  std::string name;
  std::uint64_t revision = 0;
  std::span<const float> values;
};

struct NamedVector {
  std::string name;
  std::uint64_t revision = 0;
  std::vector<float> values;
};

// Rows may hold many gigabytes, so what is written is borrowed and what was read is owned.
struct MethodStateView {
  std::vector<NamedNumbers> numbers;
  std::vector<NamedVectorView> vectors;
};

struct MethodState {
  std::vector<NamedNumbers> numbers;
  std::vector<NamedVector> vectors;

  // Null if there is none of that name.
  const NamedNumbers* find_numbers(std::string_view name) const;
  NamedVector* find_vector(std::string_view name);
};

class Method {
 public:
  virtual ~Method() = default;

  // As one writes it in a specification, for example "table".
  virtual std::string description() const = 0;

  // Takes an update in, or refuses it. A refused update neither counts nor moves the model, but a
  // method may remember that it came: a filter by quantiles needs what it refused as well.
  // Requires: a worker that exists; finite values, as many as the model has.
  virtual Answer on_update(const AdmittedUpdate& update) = 0;

  // Forgets what it holds of a worker: it said good-bye, was silent for too long or starts anew.
  virtual void remove(std::uint32_t worker) = 0;

  // The next free place was given to a worker. A method that waits for everybody, or for a part of
  // all, counts the workers that there are and not the places.
  virtual void on_enrol() {}

  // Whether updates can lead to steps; while they cannot, pause_reason() says why in words.
  virtual bool is_ready() const;
  virtual std::string pause_reason() const;

  // Whether an update of this worker would be of use now. Where it would not, a network server lets
  // the worker wait.
  virtual bool wants(std::uint32_t worker) const;

  virtual WorkerShare worker(std::uint32_t worker) const = 0;

  // The values of the worker's last update where the method keeps them, else empty. A method that
  // keeps the memory of an update must show it here. Valid until it is called with an update.
  virtual std::span<const float> row(std::uint32_t worker) const;

  // The direction of its last answer where the method keeps it in host memory, else empty. Valid
  // until it is called with an update.
  virtual std::span<const float> last_direction() const;

  // The most vectors as long as the model that it may come to keep beside a row per worker and what
  // a rule remembers of these: what a server's memory budget has to know.
  virtual std::size_t further_vectors() const;

  // Norm of each row and its distance to the last direction; nothing where there are no rows.
  virtual std::vector<robust::RowMeasure> measure_rows() const;

  // What a status page shows of the method as a whole.
  virtual std::vector<NamedNumber> figures() const;

  // Borrows the vectors: valid until the next call that changes something.
  virtual MethodStateView state() const = 0;

  // Replaces the state; afterwards the method goes on bit for bit like the one that the state was
  // taken from. A state that this method cannot have is an error and changes nothing. A state with
  // fewer workers than the method has room for is one in which the others never sent.
  // `lifetime_counts` are the updates accepted of each worker in all: no part rests on more.
  virtual Status restore(MethodState state, std::span<const std::uint64_t> lifetime_counts) = 0;
};

using MethodPointer = std::unique_ptr<Method>;

}  // namespace ballast::server
