#pragma once
// Private to `ballast bench serve`: the certificates of a server and its workers, in a folder that
// lasts as long as the measurement.

#include <cstddef>
#include <filesystem>
#include <string>
#include <utility>

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

}  // namespace ballast::apps
