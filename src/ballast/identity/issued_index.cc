#include "ballast/identity/issued_index.h"

#include <fmt/format.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "ballast/identity/name.h"

namespace ballast::identity {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

std::optional<std::string> text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

std::optional<std::chrono::sys_seconds> time_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer()) return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(found->get<std::int64_t>()));
}

std::optional<Kind> kind_called(const std::optional<std::string>& text) {
  for (const Kind kind : {Kind::kWorker, Kind::kServer}) {
    if (text == to_string(kind)) return kind;
  }
  return std::nullopt;
}

std::optional<IssuedCertificate> parse_entry(const Json& entry) {
  if (!entry.is_object()) return std::nullopt;
  const auto name = text_at(entry, "name");
  const auto kind = kind_called(text_at(entry, "kind"));
  const auto serial = text_at(entry, "serial");
  const auto from = time_at(entry, "not_before");
  const auto until = time_at(entry, "not_after");
  if (!name || !is_name(*name) || !kind || !serial || !is_serial(*serial) || !from || !until) {
    return std::nullopt;
  }
  return IssuedCertificate{*name, *kind, {*serial}, {*from, *until}};
}

tl::unexpected<Error> broken(std::string_view why) {
  return invalid_argument(fmt::format("{}; restore the file from a backup", why));
}

}  // namespace

Result<std::vector<IssuedCertificate>> parse_issued_index(std::string_view text) {
  const Json index = Json::parse(text, nullptr, false);
  if (!index.is_object()) return broken("is not a JSON object");
  const auto format = index.find("format");
  if (format == index.end() || *format != kFormat) return broken("is not of format 1");
  const auto entries = index.find("certificates");
  if (entries == index.end() || !entries->is_array()) return broken("has no list 'certificates'");
  std::vector<IssuedCertificate> issued;
  for (const Json& entry : *entries) {
    auto certificate = parse_entry(entry);
    if (!certificate) return broken(fmt::format("certificate {} is malformed", issued.size()));
    issued.push_back(std::move(*certificate));
  }
  return issued;
}

std::string format_issued_index(const std::vector<IssuedCertificate>& issued) {
  Json entries = Json::array();
  for (const IssuedCertificate& certificate : issued) {
    entries.push_back({{"name", certificate.name},
                       {"kind", to_string(certificate.kind)},
                       {"serial", certificate.serial.hex},
                       {"not_before", certificate.validity.from.time_since_epoch().count()},
                       {"not_after", certificate.validity.until.time_since_epoch().count()}});
  }
  return Json{{"format", kFormat}, {"certificates", std::move(entries)}}.dump(1) + "\n";
}

}  // namespace ballast::identity
