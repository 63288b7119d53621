#include "ballast/store/json_fields.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

namespace ballast::store {
namespace {

const JsonFields::Json kNoObject = JsonFields::Json::object();
const JsonFields::Json kNoArray = JsonFields::Json::array();

}  // namespace

bool is_printable(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_printable_lines(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= ' ' && c <= '~') || c == '\n'; });
}

void JsonFields::refuse(std::string_view key, std::string_view why) const {
  if (problem_.empty()) problem_ = fmt::format("'{}' {}", key, why);
}

template <typename Test>
const JsonFields::Json* JsonFields::find(const char* key, std::string_view kind,
                                         Test&& passes) const {
  if (!has(key)) {
    refuse(key, "is missing");
    return nullptr;
  }
  const Json& value = object_.at(key);
  if (passes(value)) return &value;
  refuse(key, fmt::format("is not {}", kind));
  return nullptr;
}

std::uint64_t JsonFields::whole(const char* key, std::uint64_t max) const {
  const Json* value = find(key, fmt::format("a whole number up to {}", max), [&](const Json& json) {
    return json.is_number_unsigned() && json.get<std::uint64_t>() <= max;
  });
  return value != nullptr ? value->get<std::uint64_t>() : 0;
}

std::int64_t JsonFields::signed_whole(const char* key) const {
  const Json* value = find(key, "a whole number of 63 bits", [](const Json& json) {
    return json.is_number_integer() &&
           (!json.is_number_unsigned() || json.get<std::uint64_t>() <= INT64_MAX);
  });
  return value != nullptr ? value->get<std::int64_t>() : 0;
}

double JsonFields::finite(const char* key) const {
  const Json* value = find(key, "a finite number", [](const Json& json) {
    return json.is_number() && std::isfinite(json.get<double>());
  });
  return value != nullptr ? value->get<double>() : 0.0;
}

std::string JsonFields::text(const char* key, std::size_t size_max) const {
  const Json* value = find(key, fmt::format("printable text of up to {} characters", size_max),
                           [&](const Json& json) {
                             if (!json.is_string()) return false;
                             const auto& text = json.get_ref<const std::string&>();
                             return text.size() <= size_max && is_printable(text);
                           });
  return value != nullptr ? value->get<std::string>() : std::string();
}

std::string JsonFields::lines(const char* key, std::size_t size_max) const {
  const Json* value =
      find(key, fmt::format("text of up to {} characters", size_max), [&](const Json& json) {
        if (!json.is_string()) return false;
        const auto& text = json.get_ref<const std::string&>();
        return text.size() <= size_max && is_printable_lines(text);
      });
  return value != nullptr ? value->get<std::string>() : std::string();
}

JsonFields JsonFields::object(const char* key) const {
  const Json* value = find(key, "an object", [](const Json& json) { return json.is_object(); });
  return JsonFields(value != nullptr ? *value : kNoObject, problem_);
}

const JsonFields::Json& JsonFields::array(const char* key, std::size_t size_max) const {
  const Json* value =
      find(key, fmt::format("an array of up to {} elements", size_max),
           [&](const Json& json) { return json.is_array() && json.size() <= size_max; });
  return value != nullptr ? *value : kNoArray;
}

}  // namespace ballast::store
