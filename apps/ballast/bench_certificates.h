#pragma once
// Private to `ballast bench serve`: the certificates of a server and its workers, in a folder that
// lasts as long as the measurement.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "apps/ballast/bench_serve.h"
#include "ballast/base/error.h"
#include "ballast/transport/server.h"

namespace ballast::apps {

class BenchCertificates {
 public:
  static constexpr const char* kServer = "main";

  static Result<BenchCertificates> make(std::size_t workers);

  explicit BenchCertificates(std::string folder) : folder_(std::move(folder)) {}
  BenchCertificates(BenchCertificates&& other) noexcept;
  ~BenchCertificates();

  std::filesystem::path path() const { return std::filesystem::path(folder_) / "ca"; }

  // Of the server below or of a worker, by its name.
  transport::TlsFiles of(const std::string& name) const;

 private:
  std::string folder_;
};

// None without TLS.
Result<std::optional<BenchCertificates>> make_certificates(const ServeBenchOptions& options);
std::optional<transport::TlsFiles> files_of(const std::optional<BenchCertificates>& certificates,
                                            const std::string& name);

}  // namespace ballast::apps
