#pragma once
// What the tests of this room share: an authority in a folder of its own, at a fixed time.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "ballast/files/test_support.h"
#include "ballast/identity/certificate.h"
#include "ballast/identity/certificate_authority.h"

namespace ballast::identity {

using std::chrono::days;

inline constexpr std::chrono::sys_seconds kNow =
    std::chrono::sys_days(std::chrono::year(2026) / 1 / 1) + std::chrono::hours(12);

inline mode_t mode_of(const std::filesystem::path& path) {
  struct stat facts;
  EXPECT_EQ(::stat(path.c_str(), &facts), 0) << path;
  return facts.st_mode & 07777;
}

class AuthorityTest : public files::FolderTest {
 protected:
  CertificateAuthority make_authority(std::string_view folder = "ca",
                                      const AuthorityOptions& options = {}) const {
    auto authority = CertificateAuthority::init(in_folder(folder), options, kNow);
    EXPECT_TRUE(authority.has_value()) << authority.error().message;
    return *authority;
  }

  static IssuedFiles issue(CertificateAuthority& authority, const IssueRequest& request,
                           std::chrono::sys_seconds now = kNow) {
    const auto issued = authority.issue(request, now);
    EXPECT_TRUE(issued.has_value()) << issued.error().message;
    return issued.value_or(IssuedFiles{});
  }

  static IssueRequest worker(std::string name) { return {.name = std::move(name)}; }
  static IssueRequest server(std::string name, std::vector<std::string> hosts = {"localhost"}) {
    return {.name = std::move(name), .kind = Kind::kServer, .hosts = std::move(hosts)};
  }

  static CertificatePtr read_certificate(const std::filesystem::path& path) {
    CertificatePtr certificate = certificate_from_pem(content_of(path));
    EXPECT_NE(certificate, nullptr) << path;
    return certificate;
  }
};

}  // namespace ballast::identity
