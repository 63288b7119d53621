#include "ballast/service/server_status.h"

#include <fmt/core.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <iterator>

namespace ballast::service {
namespace {

using Json = nlohmann::ordered_json;

HttpAnswer answer(bool is_good, std::string_view good, std::string_view bad) {
  return {.code = is_good ? 200 : 503, .body = std::string(is_good ? good : bad) + "\n"};
}

std::string_view state_of(const server::ParameterServer& server, std::uint32_t worker) {
  if (server.has_ticket(worker)) return "computing";
  return server.is_held(worker) ? "held" : "away";
}

Json verdicts_json(const WorkerStatus& worker) {
  Json verdicts = Json::object();
  for (std::size_t i = 0; i < worker.verdicts.size(); ++i) {
    if (worker.verdicts[i] == 0) continue;
    verdicts[std::string(server::name(static_cast<server::Verdict>(i)))] = worker.verdicts[i];
  }
  return verdicts;
}

Json worker_json(const WorkerStatus& worker) {
  return {{"name", worker.name},
          {"state", worker.state},
          {"count", worker.count},
          {"lifetime_count", worker.lifetime_count},
          {"weight_share", worker.weight_share},
          {"trimmed_share", worker.count > 0 ? 1.0 - worker.kept : 0.0},
          {"staleness", worker.staleness},
          {"norm", worker.norm},
          {"distance", worker.distance},
          {"verdicts", verdicts_json(worker)}};
}

Json method_json(const ServerStatus& status) {
  Json json = {{"name", status.method}};
  for (const server::NamedNumber& figure : status.method_figures) {
    json[figure.name] = figure.value;
  }
  return json;
}

Json network_json(const transport::NetworkCounts& counts) {
  return {{"streams_opened", counts.streams_opened},
          {"streams_refused", counts.streams_refused},
          {"streams_stalled", counts.streams_stalled},
          {"joins_refused", counts.joins_refused},
          {"streams_denied", counts.streams_denied},
          {"workers_revoked", counts.workers_revoked},
          {"calls_refused", counts.calls_refused},
          {"connections_ended", counts.guard.ended()},
          {"connections_displaced", counts.guard.ended_displaced},
          {"deny_list_unreadable", counts.is_deny_list_unreadable},
          {"short_of_memory", counts.guard.short_of_memory}};
}

// Collects lines; a name's help and type come before its first value.
class Metrics {
 public:
  void declare(std::string_view name, std::string_view type, std::string_view help) {
    fmt::format_to(std::back_inserter(text_), "# HELP ballast_{} {}\n# TYPE ballast_{} {}\n", name,
                   help, name, type);
  }
  template <typename T>
  void add(std::string_view name, std::string_view labels, T value) {
    fmt::format_to(std::back_inserter(text_), "ballast_{}{} {}\n", name, labels, value);
  }
  template <typename T>
  void one(std::string_view name, std::string_view type, std::string_view help, T value) {
    declare(name, type, help);
    add(name, "", value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

// One metric of every worker.
template <typename Get>
void add_of_workers(Metrics& metrics, const ServerStatus& status, std::string_view name,
                    std::string_view type, std::string_view help, Get get) {
  metrics.declare(name, type, help);
  for (const WorkerStatus& worker : status.workers) {
    metrics.add(name, fmt::format("{{worker=\"{}\"}}", worker.name), get(worker));
  }
}

void add_verdicts(Metrics& metrics, const ServerStatus& status) {
  metrics.declare("verdicts_total", "counter", "updates of a worker by verdict");
  for (const WorkerStatus& worker : status.workers) {
    for (std::size_t i = 0; i < worker.verdicts.size(); ++i) {
      const auto verdict = server::name(static_cast<server::Verdict>(i));
      metrics.add("verdicts_total",
                  fmt::format(R"({{worker="{}",verdict="{}"}})", worker.name, verdict),
                  worker.verdicts[i]);
    }
  }
}

void add_streams(Metrics& metrics, const transport::NetworkCounts& counts) {
  const auto total = [&](auto name, auto help, auto value) {
    metrics.one(name, "counter", help, value);
  };
  total("streams_opened_total", "streams of workers", counts.streams_opened);
  total("streams_refused_total", "of strangers and revoked ones", counts.streams_refused);
  total("streams_stalled_total", "dropped for being too slow", counts.streams_stalled);
  total("streams_surplus_total", "ended because their worker opened too many",
        counts.streams_surplus);
  total("streams_denied_total", "ended for a certificate no longer good", counts.streams_denied);
  total("calls_refused_total", "health checks of certificates that are not good",
        counts.calls_refused);
  total("workers_revoked_total", "rows taken away for a revocation", counts.workers_revoked);
  total("joins_refused_total", "of another protocol or another network", counts.joins_refused);
  metrics.one("deny_list_unreadable", "gauge", "1 while nobody is let in for it",
              counts.is_deny_list_unreadable ? 1 : 0);
}

void add_guard(Metrics& metrics, const transport::GuardCounts& counts) {
  constexpr std::string_view kEnded = "connections_ended_total";
  metrics.declare(kEnded, "counter", "by the guard, for breaking a limit");
  metrics.add(kEnded, R"({limit="calls"})", counts.ended_calls);
  metrics.add(kEnded, R"({limit="strange"})", counts.ended_strange);
  metrics.add(kEnded, R"({limit="unread"})", counts.ended_unread);
  metrics.add(kEnded, R"({limit="models"})", counts.ended_models);
  metrics.add(kEnded, R"({limit="denied"})", counts.ended_denied);
  metrics.add(kEnded, R"({limit="displaced"})", counts.ended_displaced);
  metrics.add(kEnded, R"({limit="idle"})", counts.ended_idle);
  constexpr std::string_view kRefused = "connections_refused_total";
  metrics.declare(kRefused, "counter", "that were not even taken");
  metrics.add(kRefused, R"({why="full"})", counts.refused_full);
  metrics.add(kRefused, R"({why="twin"})", counts.refused_twins);
  metrics.one("short_of_memory_total", "counter",
              "looks that found memory above the budget and no connection to end",
              counts.short_of_memory);
}

}  // namespace

ServerStatus status_of(const server::ParameterServer& server,
                       const std::vector<robust::RowMeasure>& measures) {
  ServerStatus status{.incarnation = server.admission().incarnation,
                      .version = server.model().version,
                      .accepted = server.accepted_count(),
                      .pause_reason = server.pause_reason(),
                      .method = server.method().description(),
                      .method_figures = server.method().figures(),
                      .evictions = server.eviction_count(),
                      .places = server.worker_count()};
  std::vector<server::WorkerRecord> workers;
  double sum = 0.0;
  for (std::uint32_t i = 0; i < server.worker_count(); ++i) {
    workers.push_back(server.worker(i));
    sum += static_cast<double>(workers.back().weight);
  }
  // The places after the named ones are free.
  for (std::uint32_t i = 0; i < server.admission().names.size(); ++i) {
    const server::WorkerRecord& record = workers[i];
    const robust::RowMeasure measure = i < measures.size() ? measures[i] : robust::RowMeasure{};
    status.workers.push_back(
        {.name = server.admission().names[i],
         .state = state_of(server, i),
         .count = record.count,
         .lifetime_count = record.lifetime_count,
         .weight_share = sum > 0.0 ? static_cast<double>(record.weight) / sum : 0.0,
         .kept = record.kept,
         .staleness = record.staleness,
         .norm = measure.norm,
         .distance = measure.distance,
         .verdicts = record.verdicts});
  }
  return status;
}

std::string status_json(const ServerStatus& status) {
  Json json = {{"run", status.run},
               {"incarnation", status.incarnation},
               {"generation", status.generation},
               {"unsaved", status.unsaved},
               {"checkpoint_failures", status.checkpoint_failures},
               {"lost_at_resume", status.lost_at_resume},
               {"acknowledging", status.is_acknowledging},
               {"version", status.version},
               {"accepted", status.accepted},
               {"updates", status.updates},
               {"paused", status.pause_reason ? Json(*status.pause_reason) : Json()},
               {"method", method_json(status)},
               {"evictions", status.evictions},
               {"evaluation", nullptr},
               {"places", status.places},
               {"network", network_json(status.network)},
               {"workers", Json::array()}};
  if (const auto& evaluation = status.evaluation) {
    json["evaluation"] = {{"accepted", evaluation->accepted},
                          {"accuracy", evaluation->accuracy},
                          {"loss", evaluation->loss}};
  }
  for (const WorkerStatus& worker : status.workers) {
    json["workers"].push_back(worker_json(worker));
  }
  return json.dump() + "\n";
}

std::string metrics_text(const ServerStatus& status) {
  Metrics metrics;
  metrics.one("model_version", "gauge", "steps taken", status.version);
  metrics.one("updates_accepted", "gauge", "accepted updates that the state holds",
              status.accepted);
  metrics.one("incarnation", "gauge", "lives of this server", status.incarnation);
  metrics.one("checkpoint_generation", "gauge", "the newest durable one", status.generation);
  metrics.one("updates_unsaved", "gauge", "accepted updates that no checkpoint holds",
              status.unsaved);
  metrics.one("updates_unsaved_max", "gauge", "more are not acknowledged", status.unsaved_max);
  metrics.one("checkpoint_failures_total", "counter", "checkpoints that could not be written",
              status.checkpoint_failures);
  metrics.one("updates_lost_at_resume", "gauge",
              "acknowledged before the last crash and in no checkpoint", status.lost_at_resume);
  metrics.one("is_acknowledging", "gauge", "0 while updates wait for a checkpoint to succeed",
              status.is_acknowledging ? 1 : 0);
  metrics.one("is_stepping", "gauge", "0 while the server pauses below its quorum",
              status.pause_reason ? 0 : 1);
  for (const server::NamedNumber& figure : status.method_figures) {
    metrics.one("method_" + figure.name, "gauge", "of the method " + status.method, figure.value);
  }
  metrics.one("evictions_total", "counter", "rows taken away for silence", status.evictions);
  metrics.one("workers_enrolled", "gauge", "names that may take part", status.workers.size());
  metrics.one("worker_places", "gauge", "for these and for newcomers", status.places);
  add_streams(metrics, status.network);
  add_guard(metrics, status.network.guard);
  if (const auto& evaluation = status.evaluation) {
    metrics.one("test_accuracy", "gauge", "of the last evaluation", evaluation->accuracy);
    metrics.one("test_loss", "gauge", "of the last evaluation", evaluation->loss);
  }
  const auto of_workers = [&](auto name, auto help, auto get) {
    add_of_workers(metrics, status, name, "gauge", help, get);
  };
  of_workers("worker_count", "accepted updates that its row rests on",
             [](const auto& w) { return w.count; });
  of_workers("worker_lifetime_count", "accepted updates in all",
             [](const auto& w) { return w.lifetime_count; });
  of_workers("worker_weight_share", "share of the weight",
             [](const auto& w) { return w.weight_share; });
  of_workers("worker_kept", "what the rule used of its weight",
             [](const auto& w) { return w.kept; });
  of_workers("worker_staleness", "of its last update", [](const auto& w) { return w.staleness; });
  of_workers("worker_norm", "of its row", [](const auto& w) { return w.norm; });
  of_workers("worker_distance", "of its row to the last direction",
             [](const auto& w) { return w.distance; });
  add_verdicts(metrics, status);
  return metrics.take();
}

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
