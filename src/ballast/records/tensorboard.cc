#include "ballast/records/tensorboard.h"

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "ballast/files/text_file.h"
#include "ballast/records/run_file.h"
#include "ballast/wire/crc32c.h"

namespace ballast::records {
namespace {

constexpr std::string_view kFileVersion = "brain.Event:2";
constexpr std::string_view kFileName = "events.out.tfevents.ballast";

// How protobuf encodes a field; stands in the low three bits of its key.
enum class WireType : std::uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

template <typename Unsigned>
void put_little_endian(std::string& out, Unsigned value) {
  for (std::size_t i = 0; i < sizeof(value); ++i) {
    out += static_cast<char>(value >> (8 * i) & 0xFF);
  }
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7F) | 0x80);
  out += static_cast<char>(value);
}

void put_key(std::string& out, std::uint32_t field, WireType type) {
  put_varint(out, field << 3 | static_cast<std::uint32_t>(type));
}

void put_double(std::string& out, std::uint32_t field, double value) {
  put_key(out, field, WireType::kFixed64);
  put_little_endian(out, std::bit_cast<std::uint64_t>(value));
}

void put_float(std::string& out, std::uint32_t field, float value) {
  put_key(out, field, WireType::kFixed32);
  put_little_endian(out, std::bit_cast<std::uint32_t>(value));
}

void put_integer(std::string& out, std::uint32_t field, std::uint64_t value) {
  put_key(out, field, WireType::kVarint);
  put_varint(out, value);
}

void put_bytes(std::string& out, std::uint32_t field, std::string_view bytes) {
  put_key(out, field, WireType::kBytes);
  put_varint(out, bytes.size());
  out += bytes;
}

void put_scalar(std::string& summary, std::string_view tag, double scalar) {
  std::string value;
  put_bytes(value, 1, tag);
  put_float(value, 2, static_cast<float>(scalar));
  put_bytes(summary, 1, value);
}

// The checksum of data that holds checksums would be weak, so the format masks them.
std::uint32_t masked_checksum(std::string_view bytes) {
  return std::rotr(wire::crc32c(std::as_bytes(std::span(bytes))), 15) + 0xA282EAD8u;
}

std::string frame(std::string_view bytes) {
  std::string out;
  put_little_endian(out, std::uint64_t{bytes.size()});
  put_little_endian(out, masked_checksum(out));
  out += bytes;
  put_little_endian(out, masked_checksum(bytes));
  return out;
}

std::string version_frame(double wall_time) {
  std::string event;
  put_double(event, 1, wall_time);
  put_bytes(event, 3, kFileVersion);
  return frame(event);
}

}  // namespace

std::string event_frame(const EvaluationRecord& evaluation, double wall_time) {
  std::string summary;
  put_scalar(summary, "test/accuracy", evaluation.test_accuracy);
  put_scalar(summary, "test/loss", evaluation.test_loss);
  put_scalar(summary, "train/loss", evaluation.train_loss);
  put_scalar(summary, "byzantine/updates", static_cast<double>(evaluation.byzantine_updates));
  put_scalar(summary, "staleness/mean", evaluation.staleness_mean);
  put_scalar(summary, "staleness/max", static_cast<double>(evaluation.staleness_max));
  if (evaluation.back_door) put_scalar(summary, "test/back_door", *evaluation.back_door);
  for (const ExplanationField& field : kExplanationFields) {
    if (!evaluation.why) break;
    put_scalar(summary, fmt::format("why/{}", field.name), (*evaluation.why).*(field.member));
  }
  std::string event;
  put_double(event, 1, wall_time);
  put_integer(event, 2, evaluation.t);
  put_bytes(event, 5, summary);
  return frame(event);
}

std::string event_file(const RunRecord& record, double start_wall_time) {
  std::string bytes = version_frame(start_wall_time);
  for (const EvaluationRecord& evaluation : record.evaluations) {
    bytes += event_frame(evaluation, start_wall_time + evaluation.seconds);
  }
  return bytes;
}

Status write_event_file(const std::filesystem::path& folder, const RunRecord& record,
                        double start_wall_time) {
  const std::filesystem::path run_folder = folder / file_stem(record);
  BALLAST_TRY_STATUS(files::make_folder(run_folder));
  return files::write_text(run_folder / kFileName, event_file(record, start_wall_time));
}

}  // namespace ballast::records
