#pragma once
// What one generation of a checkpoint holds: every small number of the state, and size and checksum
// of each file with vectors. Written as JSON that carries its own checksum.
//
// A vector named "row-3" lies in the file row-3.bin. Names are lower-case letters, digits and
// dashes, so a forged manifest cannot point outside of its folder.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/admission.h"
#include "ballast/server/method.h"

namespace ballast::store {

inline constexpr std::uint64_t kManifestFormat = 2;
inline constexpr std::size_t kManifestBytesMax = std::size_t{256} << 20;  // 100,000 workers fit
inline constexpr std::size_t kTextBytesMax = 200;  // of the run's name and of the configuration's
inline constexpr std::uint64_t kValuesMax = std::uint64_t{1} << 40;  // of one vector
inline constexpr std::size_t kVectorNameMax = 80;
inline constexpr std::size_t kCertificateBytesMax = 8192;

// What a server must have in common with a checkpoint to go on from it; it may have more workers.
struct RunShape {
  std::string config;  // a hash of everything that decides how the run goes on; the caller's
  std::uint64_t worker_count = 0;
  std::uint64_t dim = 0;
  std::uint64_t statistic_count = 0;
};

// Ok if a server of shape `ours` can go on from the other; else says what differs.
Status check_fits(const RunShape& ours, const RunShape& stored);

struct FileFacts {
  std::uint64_t bytes = 0;
  std::string checksum;  // XXH3-128 of the whole file, 32 hexadecimal digits
};

// One vector of the state: w, x, statistics-3, method-row-3, ... A vector of the same name and
// revision in another generation of the run has the same values.
struct VectorEntry {
  std::string name;
  std::uint64_t revision = 0;
  std::uint64_t value_count = 0;
  FileFacts file;
};

// Who a worker's number belongs to.
struct EnrolledWorker {
  std::string name;
  std::string certificate;  // under which it joined last, as PEM; empty: not known

  bool operator==(const EnrolledWorker&) const = default;
};

struct Manifest {
  std::uint64_t generation = 0;
  std::int64_t created_s = 0;  // since 1970, by the clock of whoever saved
  std::string run;
  std::uint64_t incarnation = 0;
  RunShape shape;
  std::vector<EnrolledWorker> workers;  // by number; the places after them are free
  std::uint64_t accepted_count = 0;
  std::uint64_t unknown_count = 0;
  std::uint64_t steps = 0;
  std::uint64_t journal_position = 0;         // of the last journal record that this state contains
  std::vector<server::SenderRecord> senders;  // what admission knows of each worker
  std::string method;                         // its description
  std::vector<server::NamedNumbers> numbers;  // the method's
  std::vector<VectorEntry> vectors;
};

// Refuses more workers than places, a name twice, and texts that a manifest cannot hold.
Status check_workers(const std::vector<EnrolledWorker>& workers, std::uint64_t worker_count);

// Null if there is none of that name.
const VectorEntry* find_vector(const Manifest& manifest, std::string_view name);

// Requires: texts of printable ASCII, at most kTextBytesMax long; workers that check_workers()
// takes.
std::string to_text(const Manifest& manifest);

// Refuses whatever to_text() cannot have written: a wrong checksum, another format, a missing or
// impossible number, a file whose size contradicts the shape.
// Cost: memory proportional to the text.
Result<Manifest> parse_manifest(std::string_view text);

// The same for the part that the checksum covers.
Result<Manifest> parse_manifest_body(std::string_view body);

}  // namespace ballast::store
