#pragma once
// What a run leaves behind, in memory. The files made of it are metrics_csv.h, run_file.h,
// summary.h, tensorboard.h and plot.h.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast::records {

// What the rule made of the rows at the moment of an evaluation, and who was how late before it.
// What is not defined, such as a share of nobody, is NaN.
struct Explanation {
  double byzantine_weight = 0.0;    // their share of all weight, as the weight policy has it
  double byzantine_kept = 0.0;      // their share of the weight that the rule kept
  double byzantine_in_gm = 0.0;     // sum of their coefficients in the weighted geometric median
  double direction_cosine = 0.0;    // between the rule's result and the weighted honest mean
  double direction_distance = 0.0;  // from that mean, over the honest noise
  double honest_noise = 0.0;        // root mean square distance of honest rows from their mean,
                                    // by weight, over the length of the mean
  double staleness_honest = 0.0;    // means over the updates since the last evaluation
  double staleness_byzantine = 0.0;

  bool operator==(const Explanation&) const = default;
};

// Every member with its name in files, in their order.
struct ExplanationField {
  std::string_view name;
  double Explanation::*member;
};
inline constexpr std::array<ExplanationField, 8> kExplanationFields = {{
    {"byzantine_weight", &Explanation::byzantine_weight},
    {"byzantine_kept", &Explanation::byzantine_kept},
    {"byzantine_in_gm", &Explanation::byzantine_in_gm},
    {"direction_cosine", &Explanation::direction_cosine},
    {"direction_distance", &Explanation::direction_distance},
    {"honest_noise", &Explanation::honest_noise},
    {"staleness_honest", &Explanation::staleness_honest},
    {"staleness_byzantine", &Explanation::staleness_byzantine},
}};

// The state of a run after t accepted updates.
struct EvaluationRecord {
  std::uint64_t t = 0;
  double test_accuracy = 0.0;  // fraction of the test set, 0 to 1
  double test_loss = 0.0;
  double train_loss = 0.0;  // mean over the honest updates since the last evaluation; NaN if none
  std::uint64_t byzantine_updates = 0;  // accepted so far
  double staleness_mean = 0.0;          // over the updates since the last evaluation
  std::uint64_t staleness_max = 0;
  double seconds = 0.0;                 // of training since the start of the run
  std::optional<Explanation> why = {};  // where it was asked for
  // The share of test samples with a trigger that are taken for its target; where the attack has
  // one.
  std::optional<double> back_door = {};

  bool operator==(const EvaluationRecord&) const = default;
};

// Stable: the names are written to files.
enum class RunStatus {
  kFinished,
  kInterrupted,  // stopped by the user; will be run again
  kDiverged,     // a value left the finite numbers; running again would do the same
};

struct RunRecord {
  std::string run = {};    // unique among the runs of a grid with the same seed
  std::string panel = {};  // the picture it is drawn in
  std::string curve = {};  // the line it belongs to there; runs with other seeds share it
  std::uint64_t seed = 0;
  std::string fingerprint = {};  // of everything that decides the result
  // What tells this run from the others: the keys that vary among them, and their values here.
  std::vector<std::pair<std::string, std::string>> settings = {};
  std::vector<EvaluationRecord> evaluations = {};  // t increases
  RunStatus status = RunStatus::kFinished;
  double gradient_seconds = 0.0;  // in gradients, summed over threads
  double total_seconds = 0.0;

  bool operator==(const RunRecord&) const = default;
};

}  // namespace ballast::records
