#include "ballast/service/probes.h"

namespace ballast::service {
namespace {

HttpAnswer answer(bool is_good, std::string_view good, std::string_view bad) {
  return {.code = is_good ? 200 : 503, .body = std::string(is_good ? good : bad) + "\n"};
}

}  // namespace

std::optional<HttpAnswer> probe(std::string_view path, const Health& health) {
  if (path == "/livez") return answer(true, "alive", "");
  if (path == "/readyz") {
    return answer(health.is_acknowledging && !health.is_over, "ready",
                  health.is_over ? "the training is over"
                                 : "not acknowledging: checkpoints fail; see the log");
  }
  if (path == "/healthz") {
    return answer(health.is_stepping && !health.is_over, "training",
                  health.is_over ? "the training is over" : "paused");
  }
  return std::nullopt;
}

}  // namespace ballast::service
