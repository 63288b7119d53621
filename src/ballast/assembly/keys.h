#pragma once
// Every key of a specification: one visible table, from which reading, `--set`, the errors, the
// resolved specification and the printed reference are all made.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/assembly/run_spec.h"
#include "ballast/assembly/toml_document.h"
#include "ballast/assembly/value.h"
#include "ballast/base/error.h"
#include "ballast/expression/catalogue.h"

namespace ballast::assembly {

enum class KeyType {
  kFlag,        // bool
  kWhole,       // std::uint64_t
  kNumber,      // double
  kBeta,        // double, or the text "1/k"
  kText,        // std::string
  kWord,        // std::string, one of the key's words
  kPath,        // std::string
  kWholeList,   // std::vector<std::uint64_t>
  kExpression,  // std::string, of the key's registry
};

struct Key {
  std::string_view name;
  KeyType type = KeyType::kText;
  std::span<const std::string_view> words = {};           // of a kWord
  std::string_view help;                                  // one line
  const expression::Catalogue& (*catalogue)() = nullptr;  // of a kExpression
  // Of a run. The keys of the whole specification, `name`, `seeds` and `threads`, have no `set`,
  // cannot be varied, and `get` gives their default.
  Value (*get)(const RunSpec& run) = nullptr;
  // Requires: a value that read_value() made for this key.
  void (*set)(RunSpec& run, const Value& value) = nullptr;

  bool is_of_run() const noexcept { return set != nullptr; }
};

// In the order in which they are to be listed.
std::span<const Key> keys() noexcept;

// The key of that name; the error suggests the nearest one, or what replaced a key of old.
Result<const Key*> find_key(std::string_view name);

// The value as the key's type. Its error says what the value must be, and leaves to the caller to
// say where it stands. A kNumber may also be a text with a fraction, such as "1/3".
Result<Value> read_value(const Key& key, const TomlNode& node);

// What `seeds` is when it is not given.
std::vector<std::uint64_t> default_seeds();

// "must be one of: ..." with the nearest of them.
std::string one_of_text(std::string_view word, std::span<const std::string_view> words);

// The table as Markdown, columns aligned so that it reads well in a terminal too.
std::string key_reference();

}  // namespace ballast::assembly
