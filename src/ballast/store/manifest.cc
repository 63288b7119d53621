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
constexpr std::size_t kEntriesMax = std::size_t{1} << 22;
constexpr std::size_t kNumbersMax = std::size_t{1} << 24;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

OrderedJson to_json(const FileFacts& facts) {
  return {{"bytes", facts.bytes}, {"xxh3", facts.checksum}};
}

OrderedJson to_json(const server::SenderRecord& sender) {
  OrderedJson json = {{"sequence", sender.sequence},
                      {"issued", sender.issued},
                      {"staleness", sender.staleness},
                      {"last_seen_ns", sender.last_seen.count()},
                      {"verdicts", sender.verdicts}};
  if (const auto& ticket = sender.ticket) {
    json["ticket"] = {{"incarnation", ticket->incarnation},
                      {"version", ticket->version},
                      {"sequence", ticket->sequence}};
  }
  return json;
}

OrderedJson to_json(const VectorEntry& vector) {
  return {{"name", vector.name},
          {"revision", vector.revision},
          {"values", vector.value_count},
          {"file", to_json(vector.file)}};
}

OrderedJson to_json(const EnrolledWorker& worker) {
  return {{"name", worker.name}, {"certificate", worker.certificate}};
}

OrderedJson to_json(const server::NamedNumbers& numbers) {
  return {{"name", numbers.name}, {"values", numbers.values}};
}

template <typename Entry>
OrderedJson to_array(const std::vector<Entry>& entries) {
  OrderedJson json = OrderedJson::array();
  for (const Entry& entry : entries) json.push_back(to_json(entry));
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
                      {"method", manifest.method}};
  json["workers"] = to_array(manifest.workers);
  json["senders"] = to_array(manifest.senders);
  json["numbers"] = to_array(manifest.numbers);
  json["vectors"] = to_array(manifest.vectors);
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

void read_verdicts(const JsonFields& fields, server::SenderRecord& record) {
  const auto& tallies = fields.array("verdicts", record.verdicts.size());
  if (tallies.size() != record.verdicts.size()) {
    return fields.refuse("verdicts", fmt::format("are not {}", record.verdicts.size()));
  }
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    if (!tallies[i].is_number_unsigned()) return fields.refuse("verdicts", "are not whole numbers");
    record.verdicts[i] = tallies[i].get<std::uint64_t>();
  }
}

server::SenderRecord read_sender(const JsonFields& fields, std::uint32_t number) {
  server::SenderRecord sender;
  sender.sequence = fields.whole("sequence");
  sender.issued = fields.whole("issued");
  sender.staleness = fields.whole("staleness");
  sender.last_seen = server::Instant(fields.signed_whole("last_seen_ns"));
  read_verdicts(fields, sender);
  if (fields.has("ticket")) {
    const JsonFields ticket = fields.object("ticket");
    sender.ticket = wire::Ticket{.incarnation = ticket.whole("incarnation"),
                                 .worker = number,
                                 .version = ticket.whole("version"),
                                 .sequence = ticket.whole("sequence")};
  }
  return sender;
}

// A name that may become the name of a file.
std::string read_name(const JsonFields& fields) {
  std::string name = fields.text("name", kVectorNameMax);
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyz0123456789-";
  if (name.empty() || name.find_first_not_of(kAllowed) != std::string::npos) {
    fields.refuse("name", "is not made of lower-case letters, digits and dashes");
  }
  return name;
}

EnrolledWorker read_worker(const JsonFields& fields) {
  return {.name = fields.text("name", kTextBytesMax),
          .certificate = fields.lines("certificate", kCertificateBytesMax)};
}

server::NamedNumbers read_numbers(const JsonFields& fields) {
  server::NamedNumbers numbers{.name = read_name(fields), .values = {}};
  for (const auto& value : fields.array("values", kNumbersMax)) {
    if (!value.is_number()) {
      fields.refuse("values", "are not all numbers");
      return numbers;
    }
    numbers.values.push_back(value.get<double>());
  }
  return numbers;
}

VectorEntry read_vector(const JsonFields& fields) {
  VectorEntry vector{.name = read_name(fields),
                     .revision = fields.whole("revision"),
                     .value_count = fields.whole("values", kValuesMax),
                     .file = {}};
  vector.file = read_facts(fields.object("file"), vector.value_count);
  return vector;
}

RunShape read_shape(const JsonFields& fields) {
  return {.config = fields.text("config", kTextBytesMax),
          .worker_count = fields.whole("worker_count", kWorkersMax),
          .dim = fields.whole("dim", kValuesMax),
          .statistic_count = fields.whole("statistic_count", kValuesMax)};
}

template <typename Entry, typename Read>
std::vector<Entry> read_array(const JsonFields& fields, const char* key, Read&& read) {
  std::vector<Entry> entries;
  for (const auto& element : fields.array(key, kEntriesMax)) {
    entries.push_back(read(JsonFields(element, fields.problem())));
    if (!fields.is_fine()) break;
  }
  return entries;
}

// Two entries of one name would be two answers to one question.
template <typename Entry>
void refuse_repeats(const JsonFields& fields, const char* key, const std::vector<Entry>& entries) {
  std::vector<std::string_view> names(entries.size());
  std::ranges::transform(entries, names.begin(), &Entry::name);
  std::ranges::sort(names);
  if (std::ranges::adjacent_find(names) != names.end()) fields.refuse(key, "repeat a name");
}

void read_senders(const JsonFields& fields, Manifest& manifest) {
  std::uint32_t number = 0;
  manifest.senders = read_array<server::SenderRecord>(
      fields, "senders", [&](const JsonFields& sender) { return read_sender(sender, number++); });
  if (fields.is_fine() && manifest.senders.size() != manifest.shape.worker_count) {
    fields.refuse("senders", fmt::format("are not {}", manifest.shape.worker_count));
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
  manifest.method = fields.text("method", kTextBytesMax);
  manifest.workers = read_array<EnrolledWorker>(fields, "workers", read_worker);
  if (const auto checked = check_workers(manifest.workers, manifest.shape.worker_count); !checked) {
    fields.refuse("workers", checked.error().message);
  }
  read_senders(fields, manifest);
  manifest.numbers = read_array<server::NamedNumbers>(fields, "numbers", read_numbers);
  manifest.vectors = read_array<VectorEntry>(fields, "vectors", read_vector);
  refuse_repeats(fields, "numbers", manifest.numbers);
  refuse_repeats(fields, "vectors", manifest.vectors);
  return manifest;
}

Status differs(std::string_view what, std::uint64_t ours, std::uint64_t stored) {
  return invalid_argument(
      fmt::format("the checkpoint has {} {}, this server {}; start it with the settings of the run",
                  stored, what, ours));
}

}  // namespace

const VectorEntry* find_vector(const Manifest& manifest, std::string_view name) {
  const auto found = std::ranges::find(manifest.vectors, name, &VectorEntry::name);
  return found == manifest.vectors.end() ? nullptr : &*found;
}

Status check_workers(const std::vector<EnrolledWorker>& workers, std::uint64_t worker_count) {
  if (workers.size() > worker_count) {
    return invalid_argument(fmt::format("are {}, for {} places", workers.size(), worker_count));
  }
  std::vector<std::string_view> names(workers.size());
  std::ranges::transform(workers, names.begin(), &EnrolledWorker::name);
  std::ranges::sort(names);
  if (std::ranges::adjacent_find(names) != names.end()) return invalid_argument("repeat a name");
  for (const EnrolledWorker& worker : workers) {
    const bool fits = worker.name.size() <= kTextBytesMax && is_printable(worker.name) &&
                      worker.certificate.size() <= kCertificateBytesMax &&
                      is_printable_lines(worker.certificate);
    if (!fits) return invalid_argument("have a name or a certificate that is no text, or too long");
  }
  return {};
}

Status check_fits(const RunShape& ours, const RunShape& stored) {
  if (ours.worker_count < stored.worker_count) {
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
        fmt::format("has format {}; this program reads format {}: finish the run with the version "
                    "that began it",
                    format, kManifestFormat));
  }
  Manifest manifest = read_manifest(fields);
  if (!problem.empty()) return invalid_argument("is wrong: " + problem);
  return manifest;
}

}  // namespace ballast::store
