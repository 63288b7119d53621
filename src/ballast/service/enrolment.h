#pragma once
// Who takes part in a run: which names, under which numbers, and how many more there is place for.
//
// A worker keeps its number for the whole run, through every resume, because rows, tickets and the
// journal are known by it. So workers are only ever added, after those that are there. Places are
// made at the start, with all that memory and limits need, and given to workers while it runs.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/store/manifest.h"

namespace ballast::service {

inline constexpr std::size_t kPlacesMax = 100'000;
inline constexpr std::size_t kWorkersFileBytesMax = std::size_t{8} << 20;
// Places that a server with a workers file has for newcomers unless it is told a number.
inline constexpr std::size_t kFreePlaces = 2;

struct Enrolment {
  std::vector<store::EnrolledWorker> workers;  // by number
  std::size_t places = 0;                      // for these and for newcomers
  std::vector<std::string> added;              // of the workers, those that the run had not before

  std::vector<std::string> names() const;
  bool has(std::string_view name) const;
};

struct EnrolmentRequest {
  std::vector<std::string> names;  // that are to take part
  std::size_t places = 0;          // asked for; 0: as many as there are, or have been
  std::size_t free_places = 0;     // beside the names where `places` is 0
};

// `stored` is the newest manifest of a run that is resumed, null for a new one. Refuses what is no
// name, names that repeat, and fewer places than there are workers or have been.
Result<Enrolment> enrol(const EnrolmentRequest& request, const store::Manifest* stored);

// As identity/workers_file.h describes it.
Result<std::vector<std::string>> read_workers_file(const std::filesystem::path& path);

// Follows a workers file.
//
// Thread-safety: none; one thread at a time.
class WorkersFileWatch {
 public:
  explicit WorkersFileWatch(std::filesystem::path path) : path_(std::move(path)) {}

  // The names that the file has now; none if it is as it was the last time.
  std::optional<Result<std::vector<std::string>>> look();

 private:
  std::filesystem::path path_;
  std::optional<std::string> seen_;  // its text, or why it could not be read
};

}  // namespace ballast::service
