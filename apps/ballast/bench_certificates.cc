#include "apps/ballast/bench_certificates.h"

#include <cstdlib>
#include <system_error>

#include "apps/ballast/service_flags.h"
#include "ballast/identity/certificate_authority.h"
#include "ballast/service/plan.h"

namespace ballast::apps {

namespace fs = std::filesystem;

Result<BenchCertificates> BenchCertificates::make(std::size_t workers) {
  std::string folder = (fs::temp_directory_path() / "ballast-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return io_error("cannot make a folder for certificates");
  BenchCertificates made(folder);
  const auto now = wall_clock();
  BALLAST_TRY(auto authority, identity::CertificateAuthority::init(made.path(), {}, now));
  BALLAST_TRY_STATUS(authority.issue(
      {.name = kServer, .kind = identity::Kind::kServer, .hosts = {"127.0.0.1"}}, now));
  for (const std::string& name : service::default_names(workers)) {
    BALLAST_TRY_STATUS(authority.issue({.name = name}, now));
  }
  return made;
}

BenchCertificates::BenchCertificates(BenchCertificates&& other) noexcept
    : folder_(std::exchange(other.folder_, {})) {}

BenchCertificates::~BenchCertificates() {
  std::error_code ignored;
  if (!folder_.empty()) fs::remove_all(folder_, ignored);
}

transport::TlsFiles BenchCertificates::of(const std::string& name) const {
  return {.authority = path() / "ca.crt",
          .certificate = path() / (name + ".crt"),
          .key = path() / (name + ".key")};
}

Result<std::optional<BenchCertificates>> make_certificates(const ServeBenchOptions& options) {
  std::optional<BenchCertificates> certificates;
  if (options.has_tls) {
    BALLAST_TRY(auto made, BenchCertificates::make(options.workers));
    certificates.emplace(std::move(made));
  }
  return certificates;
}

std::optional<transport::TlsFiles> files_of(const std::optional<BenchCertificates>& certificates,
                                            const std::string& name) {
  if (!certificates) return std::nullopt;
  return certificates->of(name);
}

}  // namespace ballast::apps
