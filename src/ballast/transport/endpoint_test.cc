#include "ballast/transport/endpoint.h"

#include <gtest/gtest.h>

#include <string>

namespace ballast::transport {
namespace {

TEST(Endpoint, HostAndPortAreTakenApart) {
  EXPECT_EQ(parse_endpoint("example.org:7000").value().host, "example.org");
  EXPECT_EQ(parse_endpoint("127.0.0.1:0").value().port, "0");
  EXPECT_EQ(parse_endpoint("[::1]:65535").value().host, "::1");
}

TEST(Endpoint, NonsenseIsRefused) {
  for (const char* text : {"", ":", "host", "host:", ":7000", "host:70000", "host:7x", "::1:7000",
                           "host:-1", "[]:1"}) {
    const auto endpoint = parse_endpoint(text);
    ASSERT_FALSE(endpoint) << text;
    EXPECT_NE(endpoint.error().message.find("HOST:PORT"), std::string::npos);
  }
}

TEST(Endpoint, LoopbackIsRecognised) {
  const auto is_loopback = [](const char* text) {
    return resolve(parse_endpoint(text).value()).value().is_loopback();
  };
  EXPECT_TRUE(is_loopback("127.0.0.1:1"));
  EXPECT_TRUE(is_loopback("127.9.9.9:1"));
  EXPECT_TRUE(is_loopback("[::1]:1"));
  EXPECT_FALSE(is_loopback("0.0.0.0:1"));
  EXPECT_FALSE(is_loopback("10.0.0.1:1"));
  EXPECT_FALSE(is_loopback("[::]:1"));
}

}  // namespace
}  // namespace ballast::transport
