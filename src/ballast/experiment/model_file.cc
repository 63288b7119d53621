#include "ballast/experiment/model_file.h"

#include <fmt/core.h>

#include <span>
#include <string>
#include <vector>

#include "ballast/files/array.h"
#include "ballast/files/file_io.h"
#include "ballast/files/safetensors.h"
#include "ballast/files/text_file.h"

namespace ballast::experiment {
namespace {

void add_tensors(std::span<const learn::TensorSlot> slots, std::span<const float> values,
                 std::vector<files::TensorView>& tensors) {
  for (const learn::TensorSlot& slot : slots) {
    const std::size_t count = files::element_count(slot.shape).value();
    tensors.push_back(
        {slot.name, files::ArrayView(slot.shape, values.subspan(slot.offset, count))});
  }
}

}  // namespace

Status write_model(const std::filesystem::path& path, const learn::Model& model,
                   const FinishedRun& run) {
  std::vector<files::TensorView> tensors;
  add_tensors(model.parameters(), run.model, tensors);
  if (!run.statistics.empty()) add_tensors(model.statistics(), run.statistics, tensors);
  return files::write_safetensors(
      path, tensors, {{"run", run.record.run}, {"seed", fmt::format("{}", run.record.seed)}});
}

Status copy_model(const std::filesystem::path& from, const std::filesystem::path& to) {
  BALLAST_TRY(const auto bytes, files::naming(from, files::read_file(from)));
  const std::span<const std::byte> pieces[] = {bytes};
  return files::naming(to, files::write_file_atomically(to, pieces));
}

}  // namespace ballast::experiment
