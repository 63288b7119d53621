#pragma once
// What a server does with accepted updates: derive a class from Method and hand it to a simulation,
// a ParameterServer or a Server. Without one, a server keeps a row per worker and steps along a
// robust rule's result at each update.
//
// What a method keeps is named numbers and vectors, so that checkpoints, `ballast inspect` and the
// status page work for any method.
//
// An exception, a direction of the wrong length or a state with wrong names is a fault of the
// method: from then on updates are refused, the status page says why, and simulate() and
// ParameterServer::update() return it as an error.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/error.h"

namespace ballast {

// A model that nobody changes any more; cheap to copy.
struct Snapshot {
  std::uint64_t version = 0;                         // the number of steps that led to it
  std::shared_ptr<const std::vector<float>> values;  // never null
};

// An update that may count: of a known worker, finite, of the right length, not too old. Borrowed.
struct AcceptedUpdate {
  std::uint32_t worker = 0;
  std::uint64_t number = 0;            // counts the accepted updates of all workers, from 1
  std::uint64_t computed_version = 0;  // of the model it was computed on
  std::uint64_t staleness = 0;         // versions between that model and the newest
  const Snapshot& newest;
  std::span<const float> values;
};

// What a method makes of an update.
struct Answer {
  enum class Kind : std::uint8_t {
    kNothing,    // taken in; the model stays where it is for now
    kRefused,    // as if it had never come
    kDirection,  // taken in, and the model moves against this direction
  };
  Kind kind = Kind::kNothing;
  std::span<const float> direction = {};  // valid until the method is called again
  double scale = 1.0;                     // the step's length is multiplied by this

  static Answer nothing() { return {}; }
  static Answer refused() { return {.kind = Kind::kRefused}; }
  static Answer along(std::span<const float> direction, double scale = 1.0) {
    return {.kind = Kind::kDirection, .direction = direction, .scale = scale};
  }
};

struct NamedNumber {
  std::string name;
  double value = 0.0;
};

// Names are of lower-case letters, digits and dashes, and each occurs once. The revision of a
// vector changes whenever its values do: a checkpoint writes only what changed.
struct NamedNumbers {
  std::string name;
  std::vector<double> values;  // whole numbers are exact up to 2^53
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

// What is written is borrowed, what was read is owned.
struct MethodStateView {
  std::vector<NamedNumbers> numbers;
  std::vector<NamedVectorView> vectors;
};
struct MethodState {
  std::vector<NamedNumbers> numbers;
  std::vector<NamedVector> vectors;

  // Null if there is none of that name.
  const NamedNumbers* find_numbers(std::string_view name) const;
  const NamedVector* find_vector(std::string_view name) const;
};

// Thread-safety: none is asked for; one thread at a time calls it.
class Method {
 public:
  virtual ~Method() = default;

  // As it appears in checkpoints and on the status page, for example "last-updates(5)". A server
  // goes on only from a checkpoint of the same description.
  virtual std::string description() const = 0;

  // Takes an update in, or refuses it and changes nothing.
  virtual Answer on_update(const AcceptedUpdate& update) = 0;

  // Forgets what it holds of a worker, which left or starts anew.
  virtual void remove(std::uint32_t /*worker*/) {}

  // How many of the worker's updates its state rests on; 0 where that means nothing.
  virtual std::uint64_t count_of(std::uint32_t /*worker*/) const { return 0; }

  // What the status page shows of it.
  virtual std::vector<NamedNumber> figures() const { return {}; }

  // All that changes from update to update. Borrowed until the next call.
  virtual MethodStateView state() const = 0;

  // Replaces the state, so that it goes on like the method that the state was taken from. A state
  // that it cannot have is an error and changes nothing.
  virtual Status restore(MethodState state) = 0;
};

}  // namespace ballast
