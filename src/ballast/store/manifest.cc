#include "ballast/store/manifest.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "ballast/store/checksum.h"
#include "ballast/store/json_fields.h"
#include "ballast/store/values_file.h"

namespace ballast::store {
namespace {

using OrderedJson = nlohmann::ordered_json;

// The text is prefix, checksum, middle, body, suffix: valid JSON in which the bytes that the
// checksum covers are known before anything is parsed.
constexpr std::string_view kPrefix = R"({"xxh3":")";
constexpr std::string_view kMiddle = "\",\n\"checkpoint\":";
constexpr std::string_view kSuffix = "}\n";
constexpr std::size_t kChecksumDigits = 32;
constexpr std::uint64_t kWorkersMax = std::uint64_t{1} << 20;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

OrderedJson to_json(const FileFacts& facts) {
  return {{"bytes", facts.bytes}, {"xxh3", facts.checksum}};
}

OrderedJson to_json(const WorkerEntry& worker) {
  const server::WorkerRecord& record = worker.record;
  OrderedJson json = {{"count", record.count},
                      {"sequence", record.sequence},
                      {"kept", record.kept},
                      {"staleness", record.staleness},
                      {"last_seen_ns", record.last_seen.count()},
                      {"verdicts", record.verdicts}};
  if (record.given) json["given"] = *record.given;
  if (worker.slot) json["slot"] = to_json(*worker.slot);
  return json;
}

OrderedJson to_json(const Manifest& manifest) {
  OrderedJson json = {{"format", kManifestFormat},
                      {"generation", manifest.generation},
                      {"created_s", manifest.created_s},
                      {"run", manifest.run},
                      {"incarnation", manifest.incarnation},
                      {"config", manifest.shape.config},
                      {"worker_count", manifest.shape.worker_count},
                      {"dim", manifest.shape.dim},
                      {"statistic_count", manifest.shape.statistic_count},
                      {"accepted_count", manifest.accepted_count},
                      {"unknown_count", manifest.unknown_count},
                      {"steps", manifest.steps},
                      {"journal_position", manifest.journal_position},
                      {"w", to_json(manifest.w)}};
  if (manifest.x) json["x"] = to_json(*manifest.x);
  if (manifest.centre) json["centre"] = to_json(*manifest.centre);
  json["workers"] = OrderedJson::array();
  for (const WorkerEntry& worker : manifest.workers) json["workers"].push_back(to_json(worker));
  return json;
}

FileFacts read_facts(const JsonFields& fields, std::uint64_t value_count) {
  FileFacts facts = {.bytes = fields.whole("bytes"), .checksum = fields.text("xxh3", 32)};
  const bool is_hex = facts.checksum.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (facts.checksum.size() != kChecksumDigits || !is_hex) fields.refuse("xxh3", "is no checksum");
  if (facts.bytes != values_file_bytes(value_count)) {
    fields.refuse("bytes", "contradicts the number of values");
  }
  return facts;
}

std::optional<FileFacts> read_optional_facts(const JsonFields& fields, const char* key,
                                             std::uint64_t value_count) {
  if (!fields.has(key)) return std::nullopt;
  return read_facts(fields.object(key), value_count);
}

void read_verdicts(const JsonFields& fields, server::WorkerRecord& record) {
  const auto& tallies = fields.array("verdicts", record.verdicts.size());
  if (tallies.size() != record.verdicts.size()) {
    return fields.refuse("verdicts", fmt::format("are not {}", record.verdicts.size()));
  }
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    if (!tallies[i].is_number_unsigned()) return fields.refuse("verdicts", "are not whole numbers");
    record.verdicts[i] = tallies[i].get<std::uint64_t>();
  }
}

WorkerEntry read_worker(const JsonFields& fields, const RunShape& shape) {
  WorkerEntry worker;
  server::WorkerRecord& record = worker.record;
  record.count = fields.whole("count");
  record.sequence = fields.whole("sequence");
  record.kept = fields.finite("kept");
  record.staleness = fields.whole("staleness");
  record.last_seen = server::Instant(fields.signed_whole("last_seen_ns"));
  if (fields.has("given")) record.given = fields.whole("given");
  read_verdicts(fields, record);
  worker.slot = read_optional_facts(fields, "slot", shape.dim + shape.statistic_count);
  if (worker.slot.has_value() != (record.count > 0)) {
    fields.refuse("slot", "must be there exactly if the count is positive");
  }
  return worker;
}

RunShape read_shape(const JsonFields& fields) {
  return {.config = fields.text("config", kTextBytesMax),
          .worker_count = fields.whole("worker_count", kWorkersMax),
          .dim = fields.whole("dim", kValuesMax),
          .statistic_count = fields.whole("statistic_count", kValuesMax)};
}

void read_workers(const JsonFields& fields, Manifest& manifest) {
  const auto& workers = fields.array("workers", kWorkersMax);
  if (workers.size() != manifest.shape.worker_count) {
    return fields.refuse("workers", fmt::format("are not {}", manifest.shape.worker_count));
  }
  for (const auto& worker : workers) {
    manifest.workers.push_back(read_worker(JsonFields(worker, fields.problem()), manifest.shape));
    if (!fields.is_fine()) return;
  }
}

Manifest read_manifest(const JsonFields& fields) {
  Manifest manifest;
  manifest.generation = fields.whole("generation", INT64_MAX);
  manifest.created_s = fields.signed_whole("created_s");
  manifest.run = fields.text("run", kTextBytesMax);
  manifest.incarnation = fields.whole("incarnation", INT64_MAX);
  manifest.shape = read_shape(fields);
  manifest.accepted_count = fields.whole("accepted_count");
  manifest.unknown_count = fields.whole("unknown_count");
  manifest.steps = fields.whole("steps");
  manifest.journal_position = fields.whole("journal_position", INT64_MAX);
  manifest.w = read_facts(fields.object("w"), manifest.shape.dim);
  manifest.x = read_optional_facts(fields, "x", manifest.shape.dim);
  manifest.centre = read_optional_facts(fields, "centre", manifest.shape.dim);
  read_workers(fields, manifest);
  return manifest;
}

Status differs(std::string_view what, std::uint64_t ours, std::uint64_t stored) {
  return invalid_argument(
      fmt::format("the checkpoint has {} {}, this server {}; start it with the settings of the run",
                  stored, what, ours));
}

}  // namespace

Status check_same(const RunShape& ours, const RunShape& stored) {
  if (ours.worker_count != stored.worker_count) {
    return differs("workers", ours.worker_count, stored.worker_count);
  }
  if (ours.dim != stored.dim) return differs("parameters", ours.dim, stored.dim);
  if (ours.statistic_count != stored.statistic_count) {
    return differs("statistics", ours.statistic_count, stored.statistic_count);
  }
  if (ours.config == stored.config) return {};
  return invalid_argument(
      fmt::format("the checkpoint was made with configuration {}, this server has {}; start it "
                  "with the settings of the run",
                  stored.config, ours.config));
}

std::string to_text(const Manifest& manifest) {
  const std::string body = to_json(manifest).dump();
  return fmt::format("{}{}{}{}{}", kPrefix, checksum_text(bytes_of(body)), kMiddle, body, kSuffix);
}

Result<Manifest> parse_manifest(std::string_view text) {
  const std::size_t start = kPrefix.size() + kChecksumDigits + kMiddle.size();
  if (text.size() < start + kSuffix.size() || !text.starts_with(kPrefix) ||
      text.substr(kPrefix.size() + kChecksumDigits, kMiddle.size()) != kMiddle ||
      !text.ends_with(kSuffix)) {
    return invalid_argument("is not the manifest of a checkpoint");
  }
  const auto body = text.substr(start, text.size() - start - kSuffix.size());
  if (text.substr(kPrefix.size(), kChecksumDigits) != checksum_text(bytes_of(body))) {
    return invalid_argument("is damaged: its checksum is wrong");
  }
  return parse_manifest_body(body);
}

Result<Manifest> parse_manifest_body(std::string_view body) {
  const auto json = nlohmann::json::parse(body, nullptr, false);
  if (!json.is_object()) return invalid_argument("holds no JSON object");
  std::string problem;
  const JsonFields fields(json, problem);
  const std::uint64_t format = fields.whole("format");
  if (fields.is_fine() && format != kManifestFormat) {
    return unsupported(
        fmt::format("has format {}; this program reads format {}", format, kManifestFormat));
  }
  Manifest manifest = read_manifest(fields);
  if (!problem.empty()) return invalid_argument("is wrong: " + problem);
  return manifest;
}

}  // namespace ballast::store
