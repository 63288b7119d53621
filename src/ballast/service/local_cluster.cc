#include "ballast/service/local_cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

#include "ballast/assembly/parts.h"
#include "ballast/files/text_file.h"
#include "ballast/identity/certificate_authority.h"
#include "ballast/service/child_process.h"
#include "ballast/service/quorum.h"
#include "ballast/service/work.h"

namespace ballast::service {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kBetweenLooks{50};
constexpr milliseconds kStartMax{120'000};  // loading the data may take a while
constexpr milliseconds kServerEndMax{60'000};
constexpr milliseconds kWorkerEndMax{5'000};
constexpr std::size_t kResultBytesMax = std::size_t{16} << 20;
constexpr std::string_view kServerName = "main";

class LocalCluster {
 public:
  LocalCluster(const LocalClusterOptions& options, const Liars& liars)
      : options_(options), liars_(liars), names_(default_names(liars.run.workers)) {}

  Result<std::string> run() {
    BALLAST_TRY_STATUS(issue_certificates());
    BALLAST_TRY_STATUS(start_server());
    BALLAST_TRY(const std::string port, wait_for_port());
    for (std::uint32_t i = 0; i < names_.size(); ++i) BALLAST_TRY_STATUS(start_worker(i, port));
    watch();
    if (is_stopped()) server_->terminate();
    const int code = server_->wait(kServerEndMax);
    end_workers();
    if (code != 0) return server_failed();
    return files::read_text(options_.folder / "result.json", kResultBytesMax);
  }

 private:
  Status issue_certificates() {
    BALLAST_TRY_STATUS(files::make_folder(options_.folder));
    const auto now = options_.clock();
    BALLAST_TRY(auto authority, identity::CertificateAuthority::init(ca(), {}, now));
    BALLAST_TRY_STATUS(authority.issue(
        {.name = std::string(kServerName), .kind = identity::Kind::kServer, .hosts = {"localhost"}},
        now));
    for (const std::string& name : names_) {
      BALLAST_TRY_STATUS(authority.issue({.name = name}, now));
    }
    return {};
  }

  fs::path ca() const { return options_.folder / "ca"; }

  std::vector<std::string> command(std::string_view verb, std::string_view name) const {
    std::vector<std::string> words = {options_.program.string(),
                                      std::string(verb),
                                      options_.spec.string(),
                                      "--ca",
                                      (ca() / "ca.crt").string(),
                                      "--cert",
                                      (ca() / fmt::format("{}.crt", name)).string(),
                                      "--key",
                                      (ca() / fmt::format("{}.key", name)).string()};
    for (const std::string& setting : options_.settings) {
      words.insert(words.end(), {"--set", setting});
    }
    return words;
  }

  Status start_server() {
    std::vector<std::string> words = command("serve", kServerName);
    words.insert(words.end(),
                 {"--listen", "127.0.0.1:0", "--denied", (ca() / "denied").string(), "--state",
                  (options_.folder / "state").string(), "--ports-file", ports_file().string(),
                  "--model-out", (options_.folder / "model.safetensors").string(), "--threads",
                  fmt::format("{}", options_.threads), "--linger-seconds", "0", "--json"});
    if (!options_.http.empty()) words.insert(words.end(), {"--http", options_.http});
    BALLAST_TRY(auto child, ChildProcess::start({.command = std::move(words),
                                                 .output = options_.folder / "result.json",
                                                 .log = options_.folder / "server.log"}));
    server_.emplace(std::move(child));
    return {};
  }

  fs::path ports_file() const { return options_.folder / "ports"; }

  Result<std::string> wait_for_port() {
    const auto end = std::chrono::steady_clock::now() + kStartMax;
    std::error_code ignored;
    while (!fs::exists(ports_file(), ignored)) {
      if (server_->exit_code()) return server_failed();
      if (is_stopped()) return interrupted("stopped before the server was up");
      if (std::chrono::steady_clock::now() >= end) return io_error("the server does not start");
      std::this_thread::sleep_for(kBetweenLooks);
    }
    BALLAST_TRY(const std::string text, files::read_text(ports_file(), 100));
    return std::string(text.begin(), std::ranges::find(text, ' '));
  }

  Status start_worker(std::uint32_t number, const std::string& port) {
    const std::string& name = names_[number];
    std::vector<std::string> words = command("work", name);
    words.insert(words.end(), {"--server", "localhost:" + port, "--name", name});
    const bool is_byzantine = number + liars_.count >= names_.size();
    const std::string& attack = liars_.run.attack;
    if (is_byzantine) words.insert(words.end(), {"--attack", attack});
    BALLAST_TRY(auto child,
                ChildProcess::start({.command = std::move(words),
                                     .log = options_.folder / fmt::format("{}.log", name)}));
    workers_.push_back(std::move(child));
    options_.events(
        {Severity::kInfo,
         "started",
         {{"worker", name}, {"attack", is_byzantine ? EventValue(attack) : EventValue(nullptr)}}});
    return {};
  }

  bool is_stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  // Until the server has ended or somebody wants an end.
  void watch() {
    std::vector<bool> is_dead(workers_.size());
    while (!server_->exit_code() && !is_stopped()) {
      std::this_thread::sleep_for(kBetweenLooks);
      for (std::size_t i = 0; i < workers_.size(); ++i) {
        if (is_dead[i] || !workers_[i].exit_code() || server_->exit_code()) continue;
        is_dead[i] = true;
        options_.events({Severity::kWarning,
                         "worker-ended",
                         {{"worker", names_[i]}, {"code", *workers_[i].exit_code()}}});
      }
    }
  }

  void end_workers() {
    for (ChildProcess& worker : workers_) worker.terminate();
    for (ChildProcess& worker : workers_) worker.wait(kWorkerEndMax);
  }

  // The last line of its log says why.
  tl::unexpected<Error> server_failed() const {
    const fs::path path = options_.folder / "server.log";
    std::string text = files::read_text(path, kResultBytesMax).value_or("");
    while (text.ends_with('\n')) text.pop_back();
    return io_error(fmt::format("the server failed, see {}: {}", path.string(),
                                text.substr(text.find_last_of('\n') + 1)));
  }

  const LocalClusterOptions& options_;
  const Liars& liars_;
  const std::vector<std::string> names_;
  std::optional<ChildProcess> server_;
  std::vector<ChildProcess> workers_;
};

}  // namespace

Result<std::string> run_local_cluster(const LocalClusterOptions& options) {
  BALLAST_TRY(experiment::Spec spec, experiment::read_spec(options.spec));
  for (const std::string& setting : options.settings) {
    BALLAST_TRY_STATUS(experiment::apply_override(spec, setting));
  }
  BALLAST_TRY(const experiment::PlannedRun planned, plan_run(spec));
  BALLAST_TRY_STATUS(
      check_quorum(quorum_facts(assembly::weight_policy(planned.run), planned.run.workers, 0), 0));
  BALLAST_TRY(const Liars liars, plan_liars(std::move(spec)));
  if (liars.count > 0) BALLAST_TRY_STATUS(make_network_attack(liars.run, liars.run.attack));
  std::error_code ignored;
  if (fs::exists(options.folder, ignored)) {
    return invalid_argument(
        fmt::format("{} exists already; name another folder with --out", options.folder.string()));
  }
  return LocalCluster(options, liars).run();
}

}  // namespace ballast::service
