#include "ballast/assembly/model_file.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "ballast/assembly/value.h"
#include "ballast/files/array.h"
#include "ballast/files/error_text.h"
#include "ballast/files/file_io.h"
#include "ballast/files/safetensors.h"
#include "ballast/files/text_file.h"

namespace ballast::assembly {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kInputKey = "input";

std::size_t size_of(const learn::TensorSlot& slot) {
  return files::element_count(slot.shape).value();
}

void add_tensors(std::span<const learn::TensorSlot> slots, std::span<const float> values,
                 std::vector<files::TensorView>& tensors) {
  for (const learn::TensorSlot& slot : slots) {
    tensors.push_back(
        {slot.name, files::ArrayView(slot.shape, values.subspan(slot.offset, size_of(slot)))});
  }
}

files::Metadata metadata_of(const learn::Model& model, const ModelInput& input,
                            const ModelOrigin& origin) {
  files::Metadata metadata = {{"format", "ballast-model-1"},
                              {"run", origin.run},
                              {"seed", fmt::format("{}", origin.seed)},
                              {std::string(kInputKey), to_json(input)},
                              {"layers", Json(model.layers()).dump()}};
  if (origin.updates) metadata["updates"] = fmt::format("{}", *origin.updates);
  return metadata;
}

std::string shape_text(const std::vector<std::size_t>& shape) { return files::to_string(shape); }

// Copies one tensor of the file to its place.
Status take_tensor(const files::Tensors& file, const learn::TensorSlot& slot,
                   std::span<float> values) {
  const files::Array* array = file.find(slot.name);
  if (array == nullptr) {
    return invalid_argument(fmt::format("is not this model: it has no tensor '{}' of shape {}",
                                        slot.name, shape_text(slot.shape)));
  }
  if (array->shape != slot.shape || array->type() != files::ElementType::kFloat32) {
    return invalid_argument(fmt::format(
        "is not this model: its tensor '{}' is {} of shape {}, but the specification's is float32 "
        "of shape {}",
        slot.name, files::element_name(array->type()), shape_text(array->shape),
        shape_text(slot.shape)));
  }
  const auto& elements = std::get<0>(array->values);
  std::ranges::copy(elements, values.begin() + static_cast<std::ptrdiff_t>(slot.offset));
  return {};
}

Status check_no_others(const files::Tensors& file, const learn::Model& model) {
  std::set<std::string_view> known;
  for (const auto slots : {model.parameters(), model.statistics()}) {
    for (const learn::TensorSlot& slot : slots) known.insert(slot.name);
  }
  for (const files::Tensor& tensor : file.tensors) {
    if (known.contains(tensor.name)) continue;
    return invalid_argument(fmt::format(
        "is not this model: it holds a tensor '{}', which the specification's model does not have",
        to_printable(tensor.name)));
  }
  return {};
}

Result<LoadedModel> from_tensors(files::Tensors file, const learn::Model& model) {
  BALLAST_TRY_STATUS(check_no_others(file, model));
  LoadedModel loaded{.parameters = std::vector<float>(model.dim()),
                     .statistics = model.initial_statistics(),
                     .metadata = std::move(file.metadata)};
  for (const learn::TensorSlot& slot : model.parameters()) {
    BALLAST_TRY_STATUS(take_tensor(file, slot, loaded.parameters));
  }
  // All of the statistics or none: a run that ended before it had any leaves them out.
  const auto statistics = model.statistics();
  const bool has_some = std::ranges::any_of(
      statistics, [&](const auto& slot) { return file.find(slot.name) != nullptr; });
  if (!has_some) return loaded;
  for (const learn::TensorSlot& slot : statistics) {
    BALLAST_TRY_STATUS(take_tensor(file, slot, loaded.statistics));
  }
  return loaded;
}

}  // namespace

ModelInput input_of(const data::Dataset& dataset) {
  return {.shape = dataset.shape(),
          .class_count = dataset.class_count(),
          .has_pixels = dataset.has_pixels(),
          .normalization = dataset.normalization()};
}

std::string to_json(const ModelInput& input) {
  const data::Shape& shape = input.shape;
  return Json({{"shape", {shape.channels, shape.height, shape.width}},
               {"classes", input.class_count},
               {"pixels", input.has_pixels},
               {"mean", input.normalization.mean},
               {"deviation", input.normalization.deviation}})
      .dump();
}

Result<ModelInput> parse_model_input(const std::string& text) {
  try {
    const Json json = Json::parse(text);
    const auto shape = json.at("shape").get<std::array<std::size_t, 3>>();
    ModelInput input{
        .shape = {.channels = shape[0], .height = shape[1], .width = shape[2]},
        .class_count = json.at("classes").get<int>(),
        .has_pixels = json.at("pixels").get<bool>(),
        .normalization = {.mean = json.at("mean").get<std::vector<float>>(),
                          .deviation = json.at("deviation").get<std::vector<float>>()}};
    return input;
  } catch (const Json::exception&) {
    return invalid_argument("does not describe the input of a model");
  }
}

Status write_model(const std::filesystem::path& path, const learn::Model& model,
                   const ModelInput& input, ModelValues values, const ModelOrigin& origin) {
  std::vector<files::TensorView> tensors;
  add_tensors(model.parameters(), values.parameters, tensors);
  if (!values.statistics.empty()) add_tensors(model.statistics(), values.statistics, tensors);
  return files::write_safetensors(path, tensors, metadata_of(model, input, origin));
}

Result<LoadedModel> read_model(const std::filesystem::path& path, const learn::Model& model) {
  BALLAST_TRY(files::Tensors file, files::read_safetensors(path));
  return files::naming(path, from_tensors(std::move(file), model));
}

Status check_same_input(const LoadedModel& loaded, const ModelInput& ours) {
  const auto found = loaded.metadata.find(std::string(kInputKey));
  if (found == loaded.metadata.end() || found->second == to_json(ours)) return {};
  return invalid_argument(
      fmt::format("the model was trained on other input: {}, but the specification's data are {}",
                  to_printable(found->second), to_json(ours)));
}

Status copy_model(const std::filesystem::path& from, const std::filesystem::path& to) {
  BALLAST_TRY(const auto bytes, files::read_file(from));
  const std::span<const std::byte> pieces[] = {bytes};
  return files::write_file_atomically(to, pieces);
}

}  // namespace ballast::assembly
