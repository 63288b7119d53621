#pragma once
// Trained models as safetensors files that Python loads: each tensor under its own name and shape.

#include <filesystem>

#include "ballast/base/error.h"
#include "ballast/experiment/run.h"
#include "ballast/learn/model.h"

namespace ballast::experiment {

// Parameters and running statistics, with the run's name and seed as metadata.
// Determinism: the same run gives the same bytes.
Status write_model(const std::filesystem::path& path, const learn::Model& model,
                   const FinishedRun& run);

// Replaces `to` by a copy of `from`, all of it or nothing.
Status copy_model(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace ballast::experiment
