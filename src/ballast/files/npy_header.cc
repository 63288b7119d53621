#include "ballast/files/npy_header.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "ballast/files/error_text.h"

namespace ballast::files {
namespace {

using Encoding = StoredType::Encoding;

// Without the character for the byte order. Unsigned bytes stand before booleans: the first entry
// of a type is the name it is written under.
constexpr std::array<StoredType, 12> kNpyTypes = {{
    {"f4", ElementType::kFloat32},
    {"f8", ElementType::kFloat64},
    {"i1", ElementType::kInt8},
    {"i2", ElementType::kInt16},
    {"i4", ElementType::kInt32},
    {"i8", ElementType::kInt64},
    {"u1", ElementType::kUint8},
    {"u2", ElementType::kUint16},
    {"u4", ElementType::kUint32},
    {"u8", ElementType::kUint64},
    {"b1", ElementType::kUint8},
    {"f2", ElementType::kFloat32, Encoding::kFloat16},
}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class HeaderParser {
 public:
  explicit HeaderParser(std::string_view text) : text_(text) {}

  Result<NpyHeader> parse() {
    BALLAST_TRY_STATUS(expect('{'));
    while (!skip('}')) {
      BALLAST_TRY_STATUS(parse_entry());
      if (skip(',')) continue;
      BALLAST_TRY_STATUS(expect('}'));
      break;
    }
    skip_spaces();
    if (cursor_ < text_.size()) return malformed("nothing after the dictionary");
    return finish();
  }

 private:
  Status parse_entry() {
    BALLAST_TRY(const std::string_view key, parse_string());
    BALLAST_TRY_STATUS(expect(':'));
    if (key == "descr") return fill(descr_, key, &HeaderParser::parse_descr);
    if (key == "fortran_order") return fill(is_fortran_order_, key, &HeaderParser::parse_bool);
    if (key == "shape") return fill(shape_, key, &HeaderParser::parse_shape);
    return invalid_argument(fmt::format(
        "the .npy header has an unknown key {}; save the array with numpy.save", in_quotes(key)));
  }

  template <typename T>
  Status fill(std::optional<T>& field, std::string_view key, Result<T> (HeaderParser::*parser)()) {
    if (field) {
      return invalid_argument(fmt::format("the .npy header has the key {} twice", in_quotes(key)));
    }
    BALLAST_TRY(field, (this->*parser)());
    return {};
  }

  Result<NpyHeader> finish() {
    if (!descr_) return missing("descr");
    if (!is_fortran_order_) return missing("fortran_order");
    if (!shape_) return missing("shape");
    BALLAST_TRY(NpyHeader header, header_of_type(*descr_));
    header.is_fortran_order = *is_fortran_order_;
    header.shape = std::move(*shape_);
    return header;
  }

  static Result<NpyHeader> header_of_type(std::string_view descr) {
    const char order = descr.empty() ? '\0' : descr.front();
    const StoredType* type = nullptr;
    if (order == '<' || order == '>' || order == '|') type = find_type(kNpyTypes, descr.substr(1));
    if (type == nullptr || (order == '|' && type->bytes() > 1)) {
      return unsupported(fmt::format(
          "elements of type {} are not supported; convert the array with astype('float32')",
          in_quotes(descr)));
    }
    return NpyHeader{.type = *type,
                     .byte_order = order == '>' ? std::endian::big : std::endian::little,
                     .shape = {}};
  }

  Result<std::string_view> parse_descr() {
    skip_spaces();
    if (peek() == '[') {
      return unsupported("arrays of records are not supported; save one field of it instead");
    }
    return parse_string();
  }

  Result<std::string_view> parse_string() {
    skip_spaces();
    const char quote = peek();
    if (quote != '\'' && quote != '"') return malformed("a quoted text");
    const std::size_t start = cursor_ + 1;
    const std::size_t end = text_.find(quote, start);
    if (end == std::string_view::npos) return malformed("a text with both its quotes");
    cursor_ = end + 1;
    return text_.substr(start, end - start);
  }

  Result<bool> parse_bool() {
    skip_spaces();
    for (const auto& [word, value] : {std::pair("True", true), std::pair("False", false)}) {
      if (!text_.substr(cursor_).starts_with(word)) continue;
      cursor_ += std::string_view(word).size();
      return value;
    }
    return malformed("True or False");
  }

  Result<ArrayShape> parse_shape() {
    ArrayShape shape;
    BALLAST_TRY_STATUS(expect('('));
    while (!skip(')')) {
      if (shape.size() == kDimensionsMax) {
        return unsupported(fmt::format("more than {} dimensions", kDimensionsMax));
      }
      BALLAST_TRY(const std::size_t dimension, parse_dimension());
      shape.push_back(dimension);
      if (skip(',')) continue;
      // In Python (3) is a number; only (3,) is a tuple.
      if (shape.size() == 1) return malformed("','");
      BALLAST_TRY_STATUS(expect(')'));
      break;
    }
    return shape;
  }

  Result<std::size_t> parse_dimension() {
    skip_spaces();
    if (!is_digit(peek())) return malformed("a dimension");
    std::size_t dimension = 0;
    const auto [rest, error] =
        std::from_chars(text_.data() + cursor_, text_.data() + text_.size(), dimension);
    if (error == std::errc::result_out_of_range) return malformed("a dimension below 2^64");
    cursor_ = static_cast<std::size_t>(rest - text_.data());
    return dimension;
  }

  void skip_spaces() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n') ++cursor_;
  }
  bool skip(char wanted) {
    skip_spaces();
    if (peek() != wanted) return false;
    ++cursor_;
    return true;
  }
  Status expect(char wanted) {
    if (!skip(wanted)) return malformed(fmt::format("'{}'", wanted));
    return {};
  }
  char peek() const { return cursor_ < text_.size() ? text_[cursor_] : '\0'; }

  tl::unexpected<Error> malformed(std::string_view expected) const {
    return invalid_argument(fmt::format(
        "the .npy header is malformed: expected {} at its byte {}; save the array again", expected,
        cursor_));
  }
  static tl::unexpected<Error> missing(std::string_view key) {
    return invalid_argument(
        fmt::format("the .npy header has no key {}; save the array again", in_quotes(key)));
  }

  std::string_view text_;
  std::size_t cursor_ = 0;
  std::optional<std::string_view> descr_;
  std::optional<bool> is_fortran_order_;
  std::optional<ArrayShape> shape_;
};

}  // namespace

Result<NpyHeader> parse_npy_header(std::string_view text) { return HeaderParser(text).parse(); }

std::string npy_dictionary(ElementType type, const ArrayShape& shape) {
  return fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                     element_bytes(type) == 1 ? '|' : '<', stored_name(kNpyTypes, type),
                     to_string(shape));
}

}  // namespace ballast::files
