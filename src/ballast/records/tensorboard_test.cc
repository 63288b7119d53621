#include "ballast/records/tensorboard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "ballast/data/program.h"
#include "ballast/records/test_records.h"

namespace ballast::records {
namespace {

// Bytes written as pairs of hexadecimal digits; spaces are for the eye.
std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    while (digits[i] == ' ') ++i;
    bytes += static_cast<char>(std::stoi(std::string(digits.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

std::string text_hex(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    digits += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    digits += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return digits;
}

TEST(EventFile, BeginsWithTheVersion) {
  EXPECT_EQ(text_hex(event_file({}, 1.5)),
            text_hex(from_hex("1800000000000000 a37f4b22"  // 24 bytes
                              "09 000000000000f83f"        // 1: the double 1.5
                              "1a 0d" +                    // 3: a text of 13 bytes
                              text_hex("brain.Event:2") +  //
                              "2a28646c")));               // the checksum
}

TEST(EventFile, EncodesScalarsAsTheFormatSays) {
  const std::string frame = event_frame({.t = 300, .test_accuracy = 0.5}, 2.0);

  // Each scalar: 1: a message of n + 7 bytes {1: a text of n bytes, 2: a float}.
  const auto scalar = [](std::string_view tag, std::string_view value) {
    const auto length = static_cast<char>(tag.size());
    return from_hex("0a") + static_cast<char>(length + 7) + from_hex("0a") + length +
           std::string(tag) + from_hex("15") + from_hex(value);
  };
  const std::string summary =
      scalar("test/accuracy", "0000003f") + scalar("test/loss", "00000000") +
      scalar("train/loss", "00000000") + scalar("byzantine/updates", "00000000") +
      scalar("staleness/mean", "00000000") + scalar("staleness/max", "00000000");
  ASSERT_EQ(summary.size(), 130u);
  const std::string event = from_hex(
                                "09 0000000000000040"  // 1: the double 2
                                "10 ac02"              // 2: 300 = 0x2c + 2 * 128
                                "2a 8201") +           // 5: a message of 130 bytes
                            summary;
  EXPECT_EQ(text_hex(frame.substr(12, frame.size() - 16)), text_hex(event));
}

TEST(EventFile, HasWhatTheRuleDidWhereItIsKnown) {
  EXPECT_EQ(event_frame({.t = 1}, 2.0).find("why/"), std::string::npos);
  const std::string frame = event_frame({.t = 1, .why = Explanation{}}, 2.0);
  for (const ExplanationField& field : kExplanationFields) {
    EXPECT_NE(frame.find("why/" + std::string(field.name)), std::string::npos) << field.name;
  }
}

TEST(EventFile, IsUnderstoodByAnIndependentDecoder) {
  const auto folder = make_test_folder();
  RunRecord record = record_of("p", "c", 7, 0.75);
  record.run = "gm";
  record.evaluations[1].t = 5'000'000'000;
  ASSERT_TRUE(write_event_file(folder.path(), record, 1000.25));

  const auto decoded = folder.path() / "decoded.json";
  const auto events = folder.path() / "gm-seed7" / "events.out.tfevents.ballast";
  const Status run =
      data::run_program({.arguments = {"python3", BALLAST_EVENT_DECODER, events, decoded}});
  ASSERT_TRUE(run) << run.error().message;
  std::ifstream file(decoded);

  EXPECT_EQ(nlohmann::json::parse(file), nlohmann::json::parse(R"([
    {"wall_time": 1000.25, "file_version": "brain.Event:2"},
    {"wall_time": 1001.25, "step": 100, "scalars": {
      "test/accuracy": 0.375, "test/loss": 0.625, "train/loss": 0.5, "byzantine/updates": 25.0,
      "staleness/mean": 7.5, "staleness/max": 30.0}},
    {"wall_time": 1002.25, "step": 5000000000, "scalars": {
      "test/accuracy": 0.75, "test/loss": 0.25, "train/loss": 0.5, "byzantine/updates": 50.0,
      "staleness/mean": 7.5, "staleness/max": 30.0}}])"));
}

}  // namespace
}  // namespace ballast::records
