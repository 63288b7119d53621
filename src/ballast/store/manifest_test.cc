#include "ballast/store/manifest.h"

#include <gtest/gtest.h>

#include <string>

#include "ballast/base/rng.h"
#include "ballast/files/test_support.h"
#include "ballast/store/test_run.h"

namespace ballast::store {
namespace {

using files::refusal;

Manifest example() {
  Manifest manifest;
  manifest.generation = 3;
  manifest.created_s = kRunNow;
  manifest.run = "a \"run\"";
  manifest.incarnation = 2;
  manifest.shape = {.config = "c", .worker_count = 2, .dim = 10, .statistic_count = 1};
  manifest.workers = {{.name = "worker-0", .certificate = "-----BEGIN\nABC=\n"},
                      {.name = "gpu", .certificate = {}}};
  manifest.accepted_count = UINT64_MAX;
  manifest.steps = 12;
  manifest.journal_position = 40;
  manifest.senders = {{.sequence = UINT64_MAX,
                       .issued = UINT64_MAX,
                       .staleness = 4,
                       .last_seen = server::Instant(-5),
                       .verdicts = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
                       .ticket = wire::Ticket{.incarnation = 2, .version = 12, .sequence = 99}},
                      {}};
  manifest.method = "table";
  manifest.numbers = {{"counts", {7.0, 0.0}}, {"kept", {0.1 + 0.2, 0.0}}};
  manifest.vectors = {
      {.name = "w",
       .revision = 12,
       .value_count = 10,
       .file = {.bytes = 72, .checksum = std::string(32, 'a')}},
      {.name = "method-row-0",
       .revision = 3,
       .value_count = 11,
       .file = {.bytes = 76, .checksum = std::string(32, '0')}},
  };
  return manifest;
}

std::string body_of(const std::string& text) {
  const std::size_t start = text.find("checkpoint\":") + 12;
  return text.substr(start, text.size() - start - 2);
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

TEST(Manifest, ReadsBackAsItWasWritten) {
  const std::string text = to_text(example());
  const Manifest read = parse_manifest(text).value();
  EXPECT_EQ(to_text(read), text);
  EXPECT_EQ(read.accepted_count, UINT64_MAX);
  EXPECT_EQ(read.workers, example().workers);
  EXPECT_EQ(read.numbers[1].values[0], 0.1 + 0.2);
  EXPECT_EQ(read.senders[0].last_seen, server::Instant(-5));
  EXPECT_EQ(read.senders[0].ticket->version, 12u);
  EXPECT_FALSE(read.senders[1].ticket.has_value());
  EXPECT_EQ(find_vector(read, "x"), nullptr);
  EXPECT_EQ(find_vector(read, "w")->file.bytes, 72u);
}

TEST(Manifest, EveryFlippedBitIsFound) {
  const std::string text = to_text(example());
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      EXPECT_FALSE(parse_manifest(damaged).has_value()) << "byte " << at << " bit " << bit;
    }
  }
}

TEST(Manifest, EveryTruncationIsFound) {
  const std::string text = to_text(example());
  for (std::size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(parse_manifest(std::string_view(text).substr(0, size)).has_value()) << size;
  }
}

// With a right checksum: what somebody could write who wants to harm.
TEST(Manifest, AForgedManifestIsRefused) {
  const std::string body = body_of(to_text(example()));
  ASSERT_TRUE(parse_manifest_body(body).has_value());
  const auto message = [&](const std::string& what, const std::string& by) {
    return refusal(parse_manifest_body(replaced(body, what, by)));
  };
  EXPECT_EQ(message("\"format\":2", "\"format\":1"),
            "has format 1; this program reads format 2: finish the run with the version that began "
            "it");
  EXPECT_EQ(message("\"format\":2,", ""), "is wrong: 'format' is missing");
  EXPECT_EQ(message("\"dim\":10", "\"dim\":-1"),
            "is wrong: 'dim' is not a whole number up to 1099511627776");
  EXPECT_EQ(message("\"dim\":10", "\"dim\":4611686018427387904"),
            "is wrong: 'dim' is not a whole number up to 1099511627776");
  EXPECT_EQ(message("\"values\":10", "\"values\":11"),
            "is wrong: 'bytes' contradicts the number of values");
  EXPECT_EQ(message("\"bytes\":76", "\"bytes\":75"),
            "is wrong: 'bytes' contradicts the number of values");
  EXPECT_EQ(message("\"steps\":12", "\"steps\":1.5"),
            "is wrong: 'steps' is not a whole number up to 18446744073709551615");
  EXPECT_EQ(message("aaaa\"", "../x\""), "is wrong: 'xxh3' is no checksum");
  EXPECT_EQ(message("[9,8,7,6,5,4,3,2,1,0]", "[7,6]"), "is wrong: 'verdicts' are not 10");
  EXPECT_EQ(message("[9,8,7,6,5,4,3,2,1,0]", "[9,8,7,6,5,4,3,2,1,\"\"]"),
            "is wrong: 'verdicts' are not whole numbers");
  EXPECT_EQ(message("\"worker_count\":2", "\"worker_count\":3"), "is wrong: 'senders' are not 3");
  EXPECT_EQ(message("\"name\":\"gpu\"", "\"name\":\"worker-0\""),
            "is wrong: 'workers' repeat a name");
  EXPECT_EQ(message("\"name\":\"gpu\"", "\"name\":\"g\\u0000u\""),
            "is wrong: 'name' is not printable text of up to 200 characters");
  EXPECT_EQ(message("ABC=", "A\\u0007C="),
            "is wrong: 'certificate' is not text of up to 8192 characters");
  EXPECT_EQ(
      message("{\"name\":\"gpu\",", "{\"name\":\"a\",\"certificate\":\"\"},{\"name\":\"gpu\","),
      "is wrong: 'workers' are 3, for 2 places");
  EXPECT_EQ(message("\"name\":\"kept\"", "\"name\":\"counts\""),
            "is wrong: 'numbers' repeat a name");
  EXPECT_EQ(message("\"values\":[7.0", "\"values\":[null"),
            "is wrong: 'values' are not all numbers");
  for (const std::string name : {"../x", "a/b", "", "W", "a.b"}) {
    EXPECT_EQ(message("\"name\":\"w\"", "\"name\":\"" + name + "\""),
              "is wrong: 'name' is not made of lower-case letters, digits and dashes");
  }
  EXPECT_EQ(message("\"file\":{", "\"file\":3,\"v\":{"), "is wrong: 'file' is not an object");
  EXPECT_EQ(message("\"config\":\"c\"", "\"config\":\"\\u0007\""),
            "is wrong: 'config' is not printable text of up to 200 characters");
}

TEST(Manifest, WhatIsNoObjectIsRefused) {
  for (const std::string body : {"", "3", "[]", "{", "null", "{}"}) {
    EXPECT_FALSE(parse_manifest_body(body).has_value()) << body;
  }
  EXPECT_FALSE(parse_manifest_body(std::string(100'000, '[')).has_value());
}

}  // namespace
}  // namespace ballast::store
