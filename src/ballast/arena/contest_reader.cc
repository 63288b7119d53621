#include "ballast/arena/contest_reader.h"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "ballast/assembly/keys.h"

namespace ballast::arena {
namespace {

using assembly::TomlEntry;
using assembly::TomlNode;

// Longer lists are a mistake.
constexpr std::size_t kListMax = 1000;

class ArenaReader {
 public:
  explicit ArenaReader(std::string file) : file_(std::move(file)) {}

  Status read(ContestSpec& contest, const TomlEntry& arena) const {
    constexpr std::array<std::string_view, 6> kKeys = {"title",  "recommended", "best",
                                                       "worlds", "search",      "size"};
    BALLAST_TRY(const TomlNode::Table* entries, table_of(arena));
    SearchChanges search;
    for (const TomlEntry& entry : *entries) {
      if (entry.key == "title") {
        BALLAST_TRY(contest.title, text_of(entry, entry.node));
      } else if (entry.key == "recommended") {
        BALLAST_TRY(contest.recommended, text_of(entry, entry.node));
      } else if (entry.key == "best") {
        BALLAST_TRY(contest.best, whole_of(entry, entry.node));
      } else if (entry.key == "worlds") {
        BALLAST_TRY_STATUS(read_list(contest.worlds, entry, &ArenaReader::text_of));
      } else if (entry.key == "search") {
        BALLAST_TRY_STATUS(read_search(search, entry));
      } else if (entry.key == "size") {
        BALLAST_TRY_STATUS(read_sizes(contest.sizes, entry));
      } else {
        return unknown(entry, kKeys);
      }
    }
    contest.search = {.etas = search.etas.value_or(std::vector<double>()),
                      .validation_samples = search.validation_samples.value_or(0),
                      .attacks = search.attacks.value_or(std::vector<std::string>()),
                      .panels = search.panels.value_or(std::vector<std::string>()),
                      .seeds = search.seeds.value_or(std::vector<std::uint64_t>())};
    return {};
  }

 private:
  tl::unexpected<Error> wrong(const TomlEntry& entry, std::string_view message) const {
    return invalid_argument(fmt::format("{}:{}: {}: {}", file_, entry.line,
                                        assembly::to_shown_text(entry.key), message));
  }

  tl::unexpected<Error> unknown(const TomlEntry& entry,
                                std::span<const std::string_view> keys) const {
    return wrong(entry, "a key of [arena] " + assembly::one_of_text(entry.key, keys));
  }

  Result<const TomlNode::Table*> table_of(const TomlEntry& entry) const {
    if (const auto* entries = std::get_if<TomlNode::Table>(&entry.node.value)) return entries;
    return wrong(entry, "must be a table");
  }

  Result<const TomlNode::List*> list_of(const TomlEntry& entry) const {
    const auto* nodes = std::get_if<TomlNode::List>(&entry.node.value);
    if (nodes != nullptr && !nodes->empty() && nodes->size() <= kListMax) return nodes;
    return wrong(entry, fmt::format("must be a list of 1 to {}", kListMax));
  }

  Result<std::string> text_of(const TomlEntry& entry, const TomlNode& node) const {
    const auto* text = std::get_if<std::string>(&node.value);
    if (text == nullptr || text->empty()) return wrong(entry, "must be a text");
    if (text->size() > experiment::kTextBytesMax) return wrong(entry, "is too long");
    return *text;
  }

  Result<std::uint64_t> whole_of(const TomlEntry& entry, const TomlNode& node) const {
    const auto* whole = std::get_if<std::int64_t>(&node.value);
    if (whole == nullptr || *whole < 1) return wrong(entry, "must be a whole number from 1");
    return static_cast<std::uint64_t>(*whole);
  }

  Result<double> step_of(const TomlEntry& entry, const TomlNode& node) const {
    const auto* number = std::get_if<double>(&node.value);
    const auto* whole = std::get_if<std::int64_t>(&node.value);
    const double step = number != nullptr  ? *number
                        : whole != nullptr ? static_cast<double>(*whole)
                                           : 0.0;
    if (!std::isfinite(step) || step <= 0.0) return wrong(entry, "must be numbers above 0");
    return step;
  }

  template <typename T>
  Status read_list(std::vector<T>& values, const TomlEntry& entry,
                   Result<T> (ArenaReader::*value_of)(const TomlEntry&, const TomlNode&)
                       const) const {
    BALLAST_TRY(const TomlNode::List* nodes, list_of(entry));
    values.clear();
    for (const TomlNode& node : *nodes) {
      BALLAST_TRY(T value, (this->*value_of)(entry, node));
      values.push_back(std::move(value));
    }
    return {};
  }

  Status read_search(SearchChanges& search, const TomlEntry& table) const {
    constexpr std::array<std::string_view, 5> kKeys = {"eta", "validation_samples", "attacks",
                                                       "panels", "seeds"};
    BALLAST_TRY(const TomlNode::Table* entries, table_of(table));
    for (const TomlEntry& entry : *entries) {
      if (entry.key == "eta") {
        BALLAST_TRY_STATUS(read_list(search.etas.emplace(), entry, &ArenaReader::step_of));
      } else if (entry.key == "validation_samples") {
        BALLAST_TRY(search.validation_samples, whole_of(entry, entry.node));
      } else if (entry.key == "attacks") {
        BALLAST_TRY_STATUS(read_list(search.attacks.emplace(), entry, &ArenaReader::text_of));
      } else if (entry.key == "panels") {
        BALLAST_TRY_STATUS(read_list(search.panels.emplace(), entry, &ArenaReader::text_of));
      } else if (entry.key == "seeds") {
        BALLAST_TRY_STATUS(read_list(search.seeds.emplace(), entry, &ArenaReader::whole_of));
      } else {
        return unknown(entry, kKeys);
      }
    }
    return {};
  }

  Status read_sizes(std::vector<ContestSize>& sizes, const TomlEntry& tables) const {
    BALLAST_TRY(const TomlNode::List* nodes, list_of(tables));
    for (const TomlNode& node : *nodes) {
      ContestSize size;
      BALLAST_TRY_STATUS(read_size(size, {.key = tables.key, .line = node.line, .node = node}));
      sizes.push_back(std::move(size));
    }
    return {};
  }

  Status read_size(ContestSize& size, const TomlEntry& table) const {
    constexpr std::array<std::string_view, 5> kKeys = {"name", "set", "panels", "best", "search"};
    BALLAST_TRY(const TomlNode::Table* entries, table_of(table));
    for (const TomlEntry& entry : *entries) {
      if (entry.key == "name") {
        BALLAST_TRY(size.name, text_of(entry, entry.node));
      } else if (entry.key == "set") {
        BALLAST_TRY_STATUS(read_list(size.settings, entry, &ArenaReader::text_of));
      } else if (entry.key == "panels") {
        BALLAST_TRY_STATUS(read_list(size.panels, entry, &ArenaReader::text_of));
      } else if (entry.key == "best") {
        BALLAST_TRY(size.best, whole_of(entry, entry.node));
      } else if (entry.key == "search") {
        BALLAST_TRY_STATUS(read_search(size.search, entry));
      } else {
        return unknown(entry, kKeys);
      }
    }
    if (!size.name.empty() && size.name != kFullSize) return {};
    return wrong(table, "needs a name of its own");
  }

  std::string file_;
};

}  // namespace

Status read_arena(ContestSpec& contest, const TomlEntry& arena, const std::string& file) {
  return ArenaReader(file).read(contest, arena);
}

}  // namespace ballast::arena
