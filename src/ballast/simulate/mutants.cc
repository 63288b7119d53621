#include "ballast/simulate/mutants.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "ballast/simulate/mutant_disks.h"
#include "ballast/simulate/mutant_methods.h"

namespace ballast::simulate {
namespace {

using Objection = std::optional<transport::Close>;

// Finding 4: below the quorum there are no weights, and no statistics with them.
std::optional<std::vector<float>> no_statistics_in_a_pause(const server::ParameterServer& server) {
  return server.pause_reason() ? std::nullopt : server.statistics();
}

// Finding 6: only whether there are as many workers as a step needs.
Status any_quorum(const server::WeightPolicy& policy, std::size_t workers) {
  return server::validate(policy, workers);
}

void acknowledge_without_journal(transport::ExchangeOptions& options) {
  options.hooks.judged = [judged = options.hooks.judged](const auto& server,
                                                         const auto& update) -> Objection {
    constexpr std::uint64_t kEvery = 5;
    return server.accepted_count() % kEvery == 0 ? std::nullopt : judged(server, update);
  };
}

void ignore_objections(transport::ExchangeOptions& options) {
  options.hooks.judged = [judged = options.hooks.judged](const auto& server,
                                                         const auto& update) -> Objection {
    (void)judged(server, update);
    return std::nullopt;
  };
}

void hoard_models(transport::ExchangeOptions& options) {
  options.hooks.judged = [judged = options.hooks.judged,
                          hoard = std::make_shared<std::vector<server::Snapshot>>()](
                             const auto& server, const auto& update) {
    hoard->push_back(server.model());
    return judged(server, update);
  };
}

std::vector<DefectMutant> findings() {
  return {
      {"finding-1",
       "a row that rests on fewer updates than its worker ever sent is not restored",
       {.method = refuse_rows_after_removal}},
      {"finding-2",
       "barrier and lead limit look at the row's count, which a fresh join resets",
       {.method = lead_by_row_count, .admission = [](auto& admission) { admission.lead.f = 0; }}},
      {"finding-4",
       "no running statistics while the server pauses",
       {.statistics = no_statistics_in_a_pause}},
      {"finding-6",
       "a run that f absent workers stop for good is started",
       {.is_allowed = any_quorum}},
      {"finding-11",
       "the server's own stalls count as silence of the workers",
       {.exchange = [](auto& options) { options.stride = std::chrono::hours(1); }}},
  };
}

std::vector<DefectMutant> defects_around_the_state() {
  return {
      {"no-cap",
       "weights are the counts, whatever the caps say",
       {.server_scenario = [](Scenario& scenario) { scenario.policy = server::CountWeights{}; }}},
      {"wrong-f",
       "the cap holds for one worker fewer than f, or for a larger share",
       {.server_scenario = loosen_caps}},
      {"old-life",
       "a resumed server issues tickets of the life before it",
       {.incarnation = [](std::uint64_t) { return std::uint64_t{1}; }}},
      {"never-evicts",
       "a worker that is silent for ever keeps its row",
       {.admission = [](auto& admission) { admission.silence_max = Instant::zero(); }}},
      {"left-waiting", "one honest worker is held and never released", {.method = never_want_last}},
      {"no-journal",
       "every fifth update is acknowledged without being noted",
       {.exchange = acknowledge_without_journal}},
      {"deaf-to-journal",
       "updates are acknowledged although the journal failed",
       {.exchange = ignore_objections}},
      {"no-bound",
       "updates are acknowledged however many are in no checkpoint",
       {.hooks = [](auto& options) { options.unsaved_max = std::uint64_t{1} << 40; }}},
      {"forgets-certificates",
       "a checkpoint does not say under which certificates its workers had joined",
       {.exchange = [](auto& options) { options.hooks.certificate = {}; }}},
      {"hoarder", "every model is kept", {.exchange = hoard_models}},
  };
}

std::vector<DefectMutant> defects_of_checkpoints() {
  return {
      {"no-flush", "files of a checkpoint are not flushed to the disk", {.disk = without_flush}},
      {"no-folder-flush",
       "names of a checkpoint are not flushed to the disk",
       {.disk = without_folder_flush}},
      {"old-row",
       "a row that changed is taken for unchanged and linked",
       {.method = freeze_revisions}},
      {"lost-counts", "rows are restored with a count of one", {.method = restore_counts_as_one}},
      {"lost-past",
       "what rows are judged by begins anew with a resume",
       {.method = restore_without_past}},
      {"lost-buffers",
       "what a method has collected for its next step is gone after a resume",
       {.method = restore_without_collected}},
      {"unsaved-filter",
       "what a filter goes by is in no checkpoint",
       {.method = refuse_by_forgotten_number}},
      {"lost-delays",
       "after a resume every update counts as computed on the newest model",
       {.method = take_updates_for_fresh}},
  };
}

}  // namespace

std::vector<DefectMutant> defect_mutants() {
  std::vector<DefectMutant> mutants = findings();
  for (auto list : {defects_around_the_state(), defects_of_checkpoints()}) {
    std::ranges::move(list, std::back_inserter(mutants));
  }
  return mutants;
}

MutantFinding find_mutant_violation(const DefectMutant& mutant, std::uint64_t seeds_max,
                                    std::uint64_t events) {
  MutantFinding finding{.name = mutant.name, .defect = mutant.defect, .violation = {}};
  while (!finding.violation && finding.seeds < seeds_max) {
    ++finding.seeds;
    finding.violation =
        simulate({.seed = finding.seeds, .events = events}, mutant.components).violation;
  }
  return finding;
}

std::string finding_table(std::span<const MutantFinding> findings) {
  std::string table = "| mutant | defect | found by | seeds |\n|---|---|---|---:|\n";
  for (const MutantFinding& finding : findings) {
    table += fmt::format("| {} | {} | {} | {} |\n", finding.name, finding.defect,
                         finding.violation ? finding.violation->checker : "nobody", finding.seeds);
  }
  return table;
}

}  // namespace ballast::simulate
