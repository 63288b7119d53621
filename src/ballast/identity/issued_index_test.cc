#include "ballast/identity/issued_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ballast/identity/test_authority.h"

namespace ballast::identity {
namespace {

using files::refusal;
using testing::StartsWith;

TEST(IssuedIndex, IsReadAsItWasWritten) {
  const std::vector<IssuedCertificate> issued = {
      {"worker-1", Kind::kWorker, {"3f"}, {kNow, kNow + days(1)}},
      {"main", Kind::kServer, {"a0"}, {kNow, kNow + days(2)}}};
  EXPECT_EQ(parse_issued_index(format_issued_index(issued)), issued);
  EXPECT_EQ(parse_issued_index(format_issued_index({})), std::vector<IssuedCertificate>());
}

TEST(IssuedIndex, ReadsItsDocumentedForm) {
  const auto issued = parse_issued_index(
      R"({"format": 1, "certificates": [{"name": "w", "kind": "server", "serial": "1f",
          "not_before": 0, "not_after": 86400}]})");
  ASSERT_TRUE(issued.has_value()) << issued.error().message;
  const std::chrono::sys_seconds epoch{};
  EXPECT_EQ(issued->at(0),
            (IssuedCertificate{"w", Kind::kServer, {"1f"}, {epoch, epoch + days(1)}}));
}

TEST(IssuedIndex, SaysWhatIsWrong) {
  for (const char* text : {"", "[]", "{", "7"}) {
    EXPECT_THAT(refusal(parse_issued_index(text)), StartsWith("is not a JSON object;")) << text;
  }
  for (const char* text : {"{}", R"({"format": 2})", R"({"format": "1"})"}) {
    EXPECT_THAT(refusal(parse_issued_index(text)), StartsWith("is not of format 1;")) << text;
  }
  EXPECT_THAT(refusal(parse_issued_index(R"({"format": 1, "certificates": {}})")),
              StartsWith("has no list 'certificates';"));
  for (const char* entry :
       {"7", "{}", R"({"name": "../w", "kind": "worker", "serial": "1", "not_before": 0,
        "not_after": 1})",
        R"({"name": "w", "kind": "king", "serial": "1", "not_before": 0, "not_after": 1})",
        R"({"name": "w", "kind": "worker", "serial": "XY", "not_before": 0, "not_after": 1})",
        R"({"name": "w", "kind": "worker", "serial": "1", "not_before": 0.5, "not_after": 1})",
        R"({"name": "w", "kind": "worker", "serial": "1", "not_before": 0})"}) {
    const std::string text = std::string(R"({"format": 1, "certificates": [)") + entry + "]}";
    EXPECT_EQ(refusal(parse_issued_index(text)),
              "certificate 0 is malformed; restore the file from a backup")
        << entry;
  }
}

}  // namespace
}  // namespace ballast::identity
