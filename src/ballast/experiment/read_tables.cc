// Reads the tables [[panel]], [[curve]] and [[claim]].

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ballast/experiment/spec_reader.h"

namespace ballast::experiment {
namespace {

constexpr std::array<std::string_view, 5> kClaimKeys = {kTextKey, kBetterKey, kWorseKey, kMarginKey,
                                                        kWithinKey};

}  // namespace

Result<const assembly::TomlNode::List*> SpecReader::tables_of(
    const assembly::TomlEntry& tables) const {
  const auto* nodes = std::get_if<assembly::TomlNode::List>(&tables.node.value);
  if (nodes != nullptr && nodes->size() <= kTablesMax) return nodes;
  return error_at(origin(tables.key, tables.line, tables.node),
                  fmt::format("must be at most {} tables: [[{}]]", kTablesMax, tables.key));
}

Result<const assembly::TomlNode::Table*> SpecReader::entries_of(
    std::string_view kind, const assembly::TomlNode& node) const {
  if (const auto* entries = std::get_if<assembly::TomlNode::Table>(&node.value)) return entries;
  return error_at(origin(kind, node.line, node), fmt::format("must be a table: [[{}]]", kind));
}

Result<std::string> SpecReader::read_label(const assembly::TomlEntry& entry) const {
  const std::string place = origin(entry.key, entry.line, entry.node);
  auto value = assembly::read_value(
      assembly::Key{.name = entry.key, .type = assembly::KeyType::kText, .help = ""}, entry.node);
  if (!value) return error_at(place, value.error());
  std::string label = std::get<std::string>(std::move(*value));
  BALLAST_TRY_STATUS(check_length(label, place));
  return label;
}

Result<std::vector<std::string>> SpecReader::read_labels(const assembly::TomlEntry& entry) const {
  const auto* nodes = std::get_if<assembly::TomlNode::List>(&entry.node.value);
  if (nodes == nullptr || nodes->size() > kTablesMax) {
    return error_at(origin(entry.key, entry.line, entry.node),
                    fmt::format("must be a list of at most {} labels", kTablesMax));
  }
  std::vector<std::string> labels;
  for (const assembly::TomlNode& node : *nodes) {
    BALLAST_TRY(std::string label,
                read_label({.key = entry.key, .line = entry.line, .node = node}));
    labels.push_back(std::move(label));
  }
  return labels;
}

Result<double> SpecReader::read_real(const assembly::TomlEntry& entry) const {
  const auto value = assembly::read_value(
      assembly::Key{.name = entry.key, .type = assembly::KeyType::kNumber, .help = ""}, entry.node);
  if (!value) return error_at(origin(entry.key, entry.line, entry.node), value.error());
  return std::get<double>(*value);
}

Status SpecReader::read_variants(std::vector<Variant>& variants,
                                 const assembly::TomlEntry& tables) const {
  BALLAST_TRY(const assembly::TomlNode::List* nodes, tables_of(tables));
  for (const assembly::TomlNode& node : *nodes) {
    BALLAST_TRY(Variant variant, read_variant(tables.key, node));
    if (std::ranges::find(variants, variant.label, &Variant::label) != variants.end()) {
      const assembly::TomlNode label{.line = node.line, .value = variant.label};
      return error_at(origin(kLabelKey, node.line, label),
                      fmt::format("another {} has this label", tables.key));
    }
    variants.push_back(std::move(variant));
  }
  return {};
}

Result<Variant> SpecReader::read_variant(std::string_view kind,
                                         const assembly::TomlNode& node) const {
  BALLAST_TRY(const assembly::TomlNode::Table* entries, entries_of(kind, node));
  Variant variant;
  for (const assembly::TomlEntry& entry : *entries) {
    if (entry.key == kStatedShareKey && kind == kPanelKey) {
      BALLAST_TRY(variant.stated_share, read_real(entry));
    } else if (entry.key == kNeedsKey && kind == kCurveKey) {
      BALLAST_TRY(variant.needs, read_label(entry));
    } else if (entry.key == kNotInKey && kind == kCurveKey) {
      BALLAST_TRY(variant.not_in, read_labels(entry));
    } else {
      BALLAST_TRY_STATUS(read_into(variant, entry));
    }
  }
  if (!variant.label.empty()) return variant;
  return error_at(origin(kind, node.line, node), "needs a label = \"TEXT\"");
}

Status SpecReader::read_into(Variant& variant, const assembly::TomlEntry& entry) const {
  if (entry.key == kLabelKey) {
    BALLAST_TRY(variant.label, read_label(entry));
    return {};
  }
  BALLAST_TRY_STATUS(key_of_a_run(entry.key, origin(entry.key, entry.line, entry.node)));
  BALLAST_TRY(Setting setting, read_setting(entry));
  variant.settings.push_back(std::move(setting));
  return {};
}

Status SpecReader::read_claims(std::vector<Claim>& claims,
                               const assembly::TomlEntry& tables) const {
  BALLAST_TRY(const assembly::TomlNode::List* nodes, tables_of(tables));
  for (const assembly::TomlNode& node : *nodes) {
    BALLAST_TRY(Claim claim, read_claim(node));
    claims.push_back(std::move(claim));
  }
  return {};
}

Result<Claim> SpecReader::read_claim(const assembly::TomlNode& node) const {
  BALLAST_TRY(const assembly::TomlNode::Table* entries, entries_of(kClaimKey, node));
  Claim claim;
  claim.origin = origin(kClaimKey, node.line, node);
  for (const assembly::TomlEntry& entry : *entries) BALLAST_TRY_STATUS(read_into(claim, entry));
  if (claim.within && (claim.margin != 0.0 || !(*claim.within >= 0.0))) {
    return error_at(claim.origin, "takes a margin, or within = POINTS from 0: on par, either way");
  }
  if (!claim.text.empty() && !claim.better.empty() && !claim.worse.empty()) return claim;
  return error_at(claim.origin, "needs a text, and as better and worse the labels of two curves");
}

Status SpecReader::read_into(Claim& claim, const assembly::TomlEntry& entry) const {
  if (entry.key == kMarginKey) {
    BALLAST_TRY(claim.margin, read_real(entry));
    return {};
  }
  if (entry.key == kWithinKey) {
    BALLAST_TRY(claim.within, read_real(entry));
    return {};
  }
  if (std::ranges::find(kClaimKeys, entry.key) == kClaimKeys.end()) {
    return error_at(origin(entry.key, entry.line, entry.node),
                    "a key of a claim " + assembly::one_of_text(entry.key, kClaimKeys));
  }
  BALLAST_TRY(std::string text, read_label(entry));
  (entry.key == kTextKey     ? claim.text
   : entry.key == kBetterKey ? claim.better
                             : claim.worse) = std::move(text);
  return {};
}

}  // namespace ballast::experiment
