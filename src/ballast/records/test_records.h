#pragma once
// Records for this room's tests.

#include <filesystem>
#include <vector>

#include "ballast/data/temporary_folder.h"
#include "ballast/records/records.h"

namespace ballast::records {

inline data::TemporaryFolder make_test_folder() {
  return data::TemporaryFolder::create(std::filesystem::temp_directory_path()).value();
}

inline EvaluationRecord evaluation_at(std::uint64_t t, double accuracy) {
  return {.t = t,
          .test_accuracy = accuracy,
          .test_loss = 1.0 - accuracy,
          .train_loss = 0.5,
          .byzantine_updates = t / 4,
          .staleness_mean = 7.5,
          .staleness_max = 30,
          .seconds = static_cast<double>(t) / 100.0};
}

inline RunRecord record_of(const std::string& panel, const std::string& curve, std::uint64_t seed,
                           double final_accuracy) {
  RunRecord record{.run = panel + ", " + curve,
                   .panel = panel,
                   .curve = curve,
                   .seed = seed,
                   .fingerprint = "f" + std::to_string(seed)};
  record.evaluations = {evaluation_at(100, final_accuracy / 2), evaluation_at(200, final_accuracy)};
  record.total_seconds = 4.0;
  record.gradient_seconds = 3.0;
  return record;
}

// Two panels; two curves with seeds 1 and 2 in the first, one curve with one seed in the second.
inline std::vector<RunRecord> some_records() {
  return {record_of("label flip", "\xCF\x89-GM", 1, 0.96),
          record_of("label flip", "\xCF\x89-GM", 2, 0.98), record_of("label flip", "mean", 1, 0.1),
          record_of("label flip", "mean", 2, 0.3), record_of("sign flip", "mean", 1, 0.5)};
}

}  // namespace ballast::records
