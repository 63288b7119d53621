#include "ballast/service/event.h"

#include <nlohmann/json.hpp>

namespace ballast::service {
namespace {

// Texts of the operating system and of peers need not be UTF-8.
std::string dump(const nlohmann::json& value) {
  return value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace

std::string json_text(std::string_view text) { return dump(text); }

std::string json_number(double value) { return dump(value); }

}  // namespace ballast::service
