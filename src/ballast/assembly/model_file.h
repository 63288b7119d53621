#pragma once
// Trained models as safetensors files that Python loads: each tensor under its own name and shape,
// and in the metadata what else is needed to use them. docs/models.md has the metadata's keys.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/data/dataset.h"
#include "ballast/learn/model.h"

namespace ballast::assembly {

// What a model takes: the samples' shape, how they are brought to it, and the classes it tells
// apart.
struct ModelInput {
  data::Shape shape = {};
  int class_count = 0;
  bool has_pixels = false;  // 0 .. 255 are taken for 0 .. 1 first
  data::Normalization normalization = {};
};
ModelInput input_of(const data::Dataset& dataset);

// As one JSON object. Reading refuses whatever to_json() cannot have written.
std::string to_json(const ModelInput& input);
Result<ModelInput> parse_model_input(const std::string& text);

// Where a model comes from.
struct ModelOrigin {
  std::string run;
  std::uint64_t seed = 0;
  std::optional<std::uint64_t> updates = std::nullopt;  // that it has seen
};

struct ModelValues {
  std::span<const float> parameters;
  std::span<const float> statistics = {};  // empty: the file holds none
};

// Replaces the file, all of it or nothing.
// Determinism: the same arguments give the same bytes.
Status write_model(const std::filesystem::path& path, const learn::Model& model,
                   const ModelInput& input, ModelValues values, const ModelOrigin& origin);

struct LoadedModel {
  std::vector<float> parameters;
  std::vector<float> statistics;  // the model's initial ones where the file holds none
  std::map<std::string, std::string> metadata;
};

// The tensors of a file as the model's flat vectors. Refuses a file in which one is missing, has
// another shape or is not of floats, or which holds one that the model does not have.
Result<LoadedModel> read_model(const std::filesystem::path& path, const learn::Model& model);

// Ok if the file's model was trained on samples brought to it as these are, or does not say.
Status check_same_input(const LoadedModel& loaded, const ModelInput& ours);

// Replaces `to` by a copy of `from`, all of it or nothing.
Status copy_model(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace ballast::assembly
