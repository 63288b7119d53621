#include "ballast/identity/alternative_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast::identity {
namespace {

using testing::HasSubstr;

std::string refusal(Kind kind, const std::vector<std::string>& hosts) {
  const auto names = alternative_names(kind, "a", hosts);
  return names ? "accepted: " + *names : names.error().message;
}

TEST(AlternativeNames, OfAWorkerIsItsUriAlone) {
  EXPECT_EQ(alternative_names(Kind::kWorker, "worker-1", {}), "URI:urn:ballast:worker:worker-1");
  EXPECT_THAT(refusal(Kind::kWorker, {"localhost"}), HasSubstr("has no hosts"));
}

TEST(AlternativeNames, OfAServerAreItsHosts) {
  EXPECT_EQ(
      alternative_names(Kind::kServer, "main", {"train.example.org", "10.0.0.7", "2001:db8::1"}),
      "URI:urn:ballast:server:main,DNS:train.example.org,IP:10.0.0.7,IP:2001:db8::1");
}

TEST(AlternativeNames, OfLocalhostIncludeItsAddressesOnce) {
  EXPECT_EQ(alternative_names(Kind::kServer, "main", {"localhost", "127.0.0.1", "localhost"}),
            "URI:urn:ballast:server:main,DNS:localhost,IP:127.0.0.1,IP:::1");
}

TEST(AlternativeNames, AreLimitedInNumber) {
  EXPECT_THAT(refusal(Kind::kServer, {}), HasSubstr("needs 1 to 64 hosts"));
  EXPECT_TRUE(alternative_names(Kind::kServer, "a", std::vector<std::string>(64, "h")).has_value());
  EXPECT_THAT(refusal(Kind::kServer, std::vector<std::string>(65, "h")), HasSubstr("not 65"));
}

TEST(AlternativeNames, RefuseWhatIsNoHost) {
  for (const std::string host :
       {"", ".", "a.", ".a", "a..b", "*.example.org", "-a", "a-", "a_b", "a b", "10.0.0.300",
        "10.0.0", "fe80::1%eth0", "a,DNS:b", "a\nb", "http://a", "a:443", "[::1]"}) {
    EXPECT_THAT(refusal(Kind::kServer, {host}), HasSubstr("is neither a host name nor an IP"))
        << host;
  }
  EXPECT_THAT(refusal(Kind::kServer, {std::string("a\0.b", 4)}), HasSubstr("is neither"));
  EXPECT_THAT(refusal(Kind::kServer, {std::string(64, 'a')}), HasSubstr("is neither"));
  std::string long_name = "a";
  for (int i = 0; i < 127; ++i) long_name += ".a";
  EXPECT_THAT(refusal(Kind::kServer, {long_name}), HasSubstr("is neither"));
}

}  // namespace
}  // namespace ballast::identity
