#include "ballast/files/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "ballast/files/error_text.h"

namespace ballast::files {
namespace {

using Encoding = StoredType::Encoding;

// U8 stands before BOOL: the first entry of a type is the name it is written under.
constexpr std::array<StoredType, 13> kSafetensorsTypes = {{
    {"F32", ElementType::kFloat32},
    {"F64", ElementType::kFloat64},
    {"I8", ElementType::kInt8},
    {"I16", ElementType::kInt16},
    {"I32", ElementType::kInt32},
    {"I64", ElementType::kInt64},
    {"U8", ElementType::kUint8},
    {"U16", ElementType::kUint16},
    {"U32", ElementType::kUint32},
    {"U64", ElementType::kUint64},
    {"BOOL", ElementType::kUint8},
    {"F16", ElementType::kFloat32, Encoding::kFloat16},
    {"BF16", ElementType::kFloat32, Encoding::kBfloat16},
}};

// Follows the JSON token by token and takes only the form a header has. There is no document in
// memory, so that duplicate keys are seen and nesting ends where the form ends: at depth three.
class HeaderReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  // The entries in the order of the text, or why there are none.
  Result<SafetensorsHeader> result(bool is_complete) && {
    if (!is_complete) return invalid_argument(std::move(problem_));
    return std::move(header_);
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kOutside) return enter(Place::kTop);
    if (place_ != Place::kTop) return unexpected("an object");
    if (key_ == kMetadataKey) return enter(Place::kMetadata);
    header_.entries.push_back({.name = key_, .type = {}, .shape = {}});
    dtype_.reset();
    shape_.reset();
    offsets_.reset();
    return enter(Place::kTensor);
  }

  bool key(std::string& text) override {
    key_ = std::move(text);
    if (place_ == Place::kTop && !names_.insert(key_).second) {
      return fail(fmt::format("has {} twice", in_quotes(key_)));
    }
    if (place_ == Place::kMetadata && header_.metadata.contains(key_)) {
      return fail(fmt::format("has the metadata {} twice", in_quotes(key_)));
    }
    if (place_ == Place::kTensor) return check_field();
    return true;
  }

  bool string(std::string& text) override {
    if (place_ == Place::kMetadata) {
      header_.metadata.emplace(key_, std::move(text));
      return true;
    }
    if (place_ != Place::kTensor || key_ != "dtype") return unexpected("a text");
    dtype_ = std::move(text);
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kTensor || key_ == "dtype") return unexpected("a list");
    (key_ == "shape" ? shape_ : offsets_).emplace();
    return enter(Place::kNumbers);
  }

  bool number_unsigned(std::uint64_t number) override {
    if (place_ != Place::kNumbers) return unexpected("a number");
    auto& numbers = key_ == "shape" ? *shape_ : *offsets_;
    if (numbers.size() == kDimensionsMax) return fail("has a list that is too long");
    numbers.push_back(number);
    return true;
  }

  bool end_array() override { return enter(Place::kTensor); }

  bool end_object() override {
    if (place_ == Place::kTensor && !finish_tensor()) return false;
    return enter(place_ == Place::kTop ? Place::kOutside : Place::kTop);
  }

  bool null() override { return unexpected("null"); }
  bool boolean(bool) override { return unexpected("a truth value"); }
  bool number_integer(std::int64_t) override { return unexpected("a negative number"); }
  bool number_float(double, const std::string&) override { return unexpected("a fraction"); }
  bool binary(binary_t&) override { return unexpected("binary data"); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return fail(fmt::format("is not valid JSON at its byte {}", position));
  }

 private:
  enum class Place { kOutside, kTop, kMetadata, kTensor, kNumbers };

  bool enter(Place place) {
    place_ = place;
    return true;
  }

  bool check_field() {
    const bool is_known = key_ == "dtype" || key_ == "shape" || key_ == "data_offsets";
    if (!is_known) return fail_tensor(fmt::format("has an unknown key {}", in_quotes(key_)));
    const bool is_repeated = key_ == "dtype"   ? dtype_.has_value()
                             : key_ == "shape" ? shape_.has_value()
                                               : offsets_.has_value();
    if (is_repeated) return fail_tensor(fmt::format("has {} twice", in_quotes(key_)));
    return true;
  }

  bool finish_tensor() {
    if (!dtype_) return fail_tensor("has no 'dtype'");
    if (!shape_) return fail_tensor("has no 'shape'");
    if (!offsets_ || offsets_->size() != 2) return fail_tensor("needs two 'data_offsets'");
    const StoredType* type = find_type(kSafetensorsTypes, *dtype_);
    if (type == nullptr) {
      return fail_tensor(fmt::format("has type {}, which is not supported; convert it to F32",
                                     in_quotes(*dtype_)));
    }
    TensorEntry& entry = header_.entries.back();
    entry.type = *type;
    entry.shape = std::move(*shape_);
    entry.begin = offsets_->front();
    entry.end = offsets_->back();
    return true;
  }

  bool unexpected(std::string_view what) {
    return fail(fmt::format("has {} where none belongs, near key {}", what, in_quotes(key_)));
  }
  bool fail_tensor(std::string_view what) {
    return fail(
        fmt::format("is wrong: tensor {} {}", in_quotes(header_.entries.back().name), what));
  }
  bool fail(std::string_view what) {
    problem_ = fmt::format("the safetensors header {}; save the tensors again", what);
    return false;
  }

  Place place_ = Place::kOutside;
  std::string key_;
  std::string problem_;
  std::set<std::string> names_;
  SafetensorsHeader header_;
  // The fields of the tensor at hand, in whatever order they come.
  std::optional<std::string> dtype_;
  std::optional<ArrayShape> shape_;
  std::optional<ArrayShape> offsets_;
};

tl::unexpected<Error> wrong_entry(const TensorEntry& entry, std::string_view what) {
  return invalid_argument(
      fmt::format("tensor {} {}; save the tensors again", in_quotes(entry.name), what));
}

Status check_size(const TensorEntry& entry) {
  const auto count = element_count(entry.shape);
  std::size_t needed = 0;
  if (!count || __builtin_mul_overflow(*count, entry.type.bytes(), &needed)) {
    return wrong_entry(
        entry, fmt::format("has a shape {} beyond what memory can hold", to_string(entry.shape)));
  }
  if (entry.begin > entry.end || entry.end - entry.begin != needed) {
    return wrong_entry(
        entry,
        fmt::format("of type {} and shape {} needs {} bytes but has offsets {} to {}",
                    entry.type.name, to_string(entry.shape), needed, entry.begin, entry.end));
  }
  return {};
}

Status check_coverage(const std::vector<TensorEntry>& entries, std::size_t data_bytes) {
  std::size_t covered = 0;
  for (const TensorEntry& entry : entries) {
    BALLAST_TRY_STATUS(check_size(entry));
    if (entry.begin < covered) return wrong_entry(entry, "overlaps the one before it");
    if (entry.begin > covered) return wrong_entry(entry, "leaves a hole before it");
    covered = entry.end;
  }
  if (covered == data_bytes) return {};
  return invalid_argument(
      fmt::format("{}: the tensors need {} bytes of data but {} are there; copy or save it again",
                  covered > data_bytes ? "truncated" : "has too many bytes", covered, data_bytes));
}

}  // namespace

Result<SafetensorsHeader> parse_safetensors_header(std::string_view json, std::size_t data_bytes) {
  HeaderReader reader;
  const bool is_complete = nlohmann::json::sax_parse(json.begin(), json.end(), &reader);
  BALLAST_TRY(SafetensorsHeader header, std::move(reader).result(is_complete));
  // An empty tensor shares its place with the one behind it, and goes first.
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const TensorEntry& left, const TensorEntry& right) {
                     return std::pair(left.begin, left.end) < std::pair(right.begin, right.end);
                   });
  BALLAST_TRY_STATUS(check_coverage(header.entries, data_bytes));
  return header;
}

Result<std::string> safetensors_json(std::span<const TensorView* const> tensors,
                                     const Metadata& metadata) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header[std::string(kMetadataKey)] = metadata;
  std::size_t offset = 0;
  for (const TensorView* tensor : tensors) {
    const std::size_t end = offset + tensor->array.bytes().size();
    header[tensor->name] = {{"dtype", stored_name(kSafetensorsTypes, tensor->array.type())},
                            {"shape", tensor->array.shape},
                            {"data_offsets", {offset, end}}};
    offset = end;
  }
  try {
    return header.dump();
  } catch (const nlohmann::json::exception&) {
    return invalid_argument("names and metadata of tensors must be UTF-8");
  }
}

}  // namespace ballast::files
