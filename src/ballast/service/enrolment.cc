#include "ballast/service/enrolment.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "ballast/files/error_text.h"
#include "ballast/files/text_file.h"
#include "ballast/identity/name.h"
#include "ballast/identity/workers_file.h"

namespace ballast::service {
namespace {

Status check_names(const std::vector<std::string>& names) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    BALLAST_TRY_STATUS(identity::check_name(name));
    if (!seen.insert(name).second) {
      return invalid_argument(fmt::format("the worker {} is named twice", name));
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> Enrolment::names() const {
  std::vector<std::string> names;
  for (const store::EnrolledWorker& worker : workers) names.push_back(worker.name);
  return names;
}

bool Enrolment::has(std::string_view name) const {
  return std::ranges::find(workers, name, &store::EnrolledWorker::name) != workers.end();
}

Result<Enrolment> enrol(const EnrolmentRequest& request, const store::Manifest* stored) {
  BALLAST_TRY_STATUS(check_names(request.names));
  Enrolment enrolment;
  std::size_t places_before = 0;
  if (stored != nullptr) {
    enrolment.workers = stored->workers;
    places_before = stored->shape.worker_count;
  }
  for (const std::string& name : request.names) {
    if (enrolment.has(name)) continue;
    enrolment.workers.push_back({.name = name, .certificate = {}});
    enrolment.added.push_back(name);
  }
  const std::size_t needed = std::max(enrolment.workers.size(), places_before);
  enrolment.places = request.places > 0
                         ? request.places
                         : std::max(enrolment.workers.size() + request.free_places, places_before);
  if (enrolment.places > kPlacesMax) {
    return invalid_argument(fmt::format("{} places for workers are too many; {} are the most",
                                        enrolment.places, kPlacesMax));
  }
  if (enrolment.places >= needed) return enrolment;
  return invalid_argument(
      fmt::format("--max-workers says {}, but the run has {} enrolled workers and {} places, and "
                  "these can only become more",
                  enrolment.places, enrolment.workers.size(), needed));
}

Result<std::vector<std::string>> read_workers_file(const std::filesystem::path& path) {
  BALLAST_TRY(const std::string text, files::read_text(path, kWorkersFileBytesMax));
  return files::naming(path, identity::parse_workers_file(text));
}

std::optional<Result<std::vector<std::string>>> WorkersFileWatch::look() {
  auto text = files::read_text(path_, kWorkersFileBytesMax);
  std::string seen = text ? *text : text.error().message;
  if (seen_ == seen) return std::nullopt;
  seen_ = std::move(seen);
  if (!text) return tl::unexpected(std::move(text).error());
  return files::naming(path_, identity::parse_workers_file(*text));
}

}  // namespace ballast::service
