#include "ballast/assembly/keys.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <type_traits>

#include "ballast/attacks/registry.h"
#include "ballast/base/nearest_word.h"
#include "ballast/kernels/backend.h"
#include "ballast/methods/registry.h"
#include "ballast/robust/registry.h"
#include "ballast/server/weight_policy.h"
#include "ballast/sim/schedule.h"
#include "ballast/sim/virtual_time.h"

namespace ballast::assembly {
namespace {

// The words of an enumeration, in the order of its values.
template <typename Enum>
constexpr std::array<std::string_view, 0> kWords = {};
template <>
constexpr std::array<std::string_view, 4> kWords<PartitionKind> = {"shared", "even", "dirichlet",
                                                                   "shards"};
template <>
constexpr std::array<std::string_view, 2> kWords<Engine> = {"native", "torch"};
template <>
constexpr std::array<std::string_view, 2> kWords<Clock> = {"draw", "virtual"};
template <>
constexpr std::array<std::string_view, 2> kWords<Reply> = {"newest", "paper"};
template <>
constexpr std::array<std::string_view, 3> kWords<Optimizer> = {"mu2", "momentum", "sgd"};
template <>
constexpr std::array<std::string_view, 2> kWords<Alpha> = {"constant", "t"};
template <>
constexpr std::array<std::string_view, 3> kWords<ProjectionKind> = {"none", "box", "ball"};

using Path = std::filesystem::path;
using Beta = std::optional<double>;
using WholeList = std::vector<std::uint64_t>;

template <typename Member>
constexpr KeyType type_of() {
  if constexpr (std::is_same_v<Member, bool>) return KeyType::kFlag;
  if constexpr (std::is_same_v<Member, std::uint64_t>) return KeyType::kWhole;
  if constexpr (std::is_same_v<Member, double>) return KeyType::kNumber;
  if constexpr (std::is_same_v<Member, Beta>) return KeyType::kBeta;
  if constexpr (std::is_same_v<Member, Path>) return KeyType::kPath;
  if constexpr (std::is_same_v<Member, WholeList>) return KeyType::kWholeList;
  return std::is_enum_v<Member> ? KeyType::kWord : KeyType::kText;
}

template <typename Member>
Value to_value(const Member& member) {
  if constexpr (std::is_enum_v<Member>) {
    return std::string(kWords<Member>[static_cast<std::size_t>(member)]);
  } else if constexpr (std::is_same_v<Member, Path>) {
    return member.string();
  } else if constexpr (std::is_same_v<Member, Beta>) {
    return member ? Value(*member) : Value("1/k");
  } else {
    return member;
  }
}

template <typename Member>
void assign(Member& member, const Value& value) {
  if constexpr (std::is_enum_v<Member>) {
    const auto word = std::ranges::find(kWords<Member>, std::get<std::string>(value));
    member = static_cast<Member>(word - kWords<Member>.begin());
  } else if constexpr (std::is_same_v<Member, Path>) {
    member = std::get<std::string>(value);
  } else if constexpr (std::is_same_v<Member, Beta>) {
    const double* number = std::get_if<double>(&value);
    member = number != nullptr ? Beta(*number) : std::nullopt;
  } else {
    member = std::get<Member>(value);
  }
}

template <auto member>
constexpr Key key(std::string_view name, std::string_view help) {
  using Member = std::remove_cvref_t<decltype(std::declval<RunSpec>().*member)>;
  return {.name = name,
          .type = type_of<Member>(),
          .words = kWords<Member>,
          .help = help,
          .get = [](const RunSpec& run) { return to_value(run.*member); },
          .set = [](RunSpec& run, const Value& value) { assign(run.*member, value); }};
}

template <auto member, auto registry>
constexpr Key expression_key(std::string_view name, std::string_view help) {
  Key made = key<member>(name, help);
  made.type = KeyType::kExpression;
  made.catalogue = []() -> const expression::Catalogue& { return registry().catalogue(); };
  return made;
}

// The words of a member that stays a text, because others know what they mean.
template <auto member>
constexpr Key word_key(std::string_view name, std::span<const std::string_view> words,
                       std::string_view help) {
  Key made = key<member>(name, help);
  made.type = KeyType::kWord;
  made.words = words;
  return made;
}

constexpr std::array kKeys = {
    Key{.name = "name",
        .type = KeyType::kText,
        .help = "what the results are called; \"\": the name of the file",
        .get = [](const RunSpec&) { return Value(std::string()); }},
    Key{.name = "seeds",
        .type = KeyType::kWholeList,
        .help = "each run is repeated with each of these",
        .get = [](const RunSpec&) { return Value(default_seeds()); }},
    Key{.name = "threads",
        .type = KeyType::kWhole,
        .help =
            "of all runs together, or of a server's aggregation; 0: all there are, or as many as "
            "the server has work for",
        .get = [](const RunSpec&) { return Value(std::uint64_t{0}); }},
    word_key<&RunSpec::device>("device", kernels::kDevices, "where rows are kept and combined"),
    key<&RunSpec::updates>("updates", "length of a run, in updates that the server accepts"),
    key<&RunSpec::evaluate_every>("evaluate_every", "updates from one test to the next"),

    key<&RunSpec::data>("data", "mnist, fashion-mnist, cifar10, or files: own .npy arrays"),
    key<&RunSpec::data_dir>("data_dir",
                            "folder of the data sets; \"\": where `data get` puts them"),
    key<&RunSpec::train_images>("train_images", "with data = \"files\": a .npy file"),
    key<&RunSpec::train_labels>("train_labels", "with data = \"files\": a .npy file"),
    key<&RunSpec::test_images>("test_images", "with data = \"files\": a .npy file"),
    key<&RunSpec::test_labels>("test_labels", "with data = \"files\": a .npy file"),
    key<&RunSpec::validation_samples>(
        "validation_samples", "held out of the training set and tested on; 0: the test set is"),
    key<&RunSpec::augment>("augment", "the data set's own augmentation; only cifar10 has one"),
    key<&RunSpec::partition>("partition", "which samples a worker draws from"),
    key<&RunSpec::dirichlet_alpha>("dirichlet_alpha", "with dirichlet: small means few classes"),
    key<&RunSpec::shards_per_worker>("shards_per_worker",
                                     "with shards: pieces of the sorted set for each worker"),

    key<&RunSpec::model>("model", "mnist-cnn, cifar10-cnn, softmax, mlp, FILE.pt; \"\": by data"),
    key<&RunSpec::hidden>("hidden", "with model = \"mlp\": width of the hidden layer"),
    key<&RunSpec::engine>("engine", "who computes gradients; FILE.pt always uses torch"),
    key<&RunSpec::batch>("batch", "samples per gradient"),

    key<&RunSpec::workers>("workers", "number of workers, the Byzantine ones included"),
    key<&RunSpec::byzantine>("byzantine", "number of Byzantine workers"),
    key<&RunSpec::share>("share", "Byzantine share of the updates, below 1/2"),
    expression_key<&RunSpec::attack, attacks::attack_registry>(
        "attack", "what Byzantine workers do, such as \"empire(0.1)\""),

    expression_key<&RunSpec::arrivals, sim::arrival_registry>(
        "arrivals", "who sends next, such as \"id^2\" or \"burst(10)\""),
    key<&RunSpec::trace>("trace", "with arrivals = \"trace\": the file"),
    key<&RunSpec::clock>("clock", "draw the next sender, as the paper does, or simulate time"),
    expression_key<&RunSpec::compute_time, sim::compute_time_registry>(
        "compute_time", "with clock = \"virtual\": time per update, such as \"lognormal(0.5)\""),
    key<&RunSpec::reply>("reply", "model sent back: x_t of Algorithm 2, or the newest"),
    key<&RunSpec::staleness_max>("staleness_max",
                                 "updates on models older than this are refused; 0: none is"),

    expression_key<&RunSpec::method, methods::method_registry>(
        "method", "what the server does with updates, such as \"basgd(10, cwmed)\""),
    expression_key<&RunSpec::rule, robust::rule_registry>(
        "rule", "with method = \"table\": aggregation rule, such as \"ctma(gm, 0.4)\""),
    expression_key<&RunSpec::weights, server::weight_registry>(
        "weights", "of the table's rows, such as \"f-cap(1, 0.2) & f-cap(8, 0.45)\""),

    key<&RunSpec::server_samples>("server_samples",
                                  "training samples for the server alone, where the method needs "
                                  "them"),
    key<&RunSpec::server_batch>("server_batch", "samples per gradient of the server's own"),

    key<&RunSpec::optimizer>("optimizer", "of the server and of the workers"),
    key<&RunSpec::eta>("eta", "learning rate"),
    key<&RunSpec::eta_decay_after>("eta_decay_after", "updates after which eta drops"),
    key<&RunSpec::eta_decay_factor>("eta_decay_factor", "what eta is then multiplied by"),
    key<&RunSpec::beta>("beta", "of mu2: weight of the new sample, a number or \"1/k\""),
    key<&RunSpec::alpha>("alpha", "of mu2: constant (averages by gamma), or the theory's t"),
    key<&RunSpec::gamma>("gamma", "of mu2 with constant alpha: share of the newest iterate"),
    key<&RunSpec::momentum>("momentum", "of momentum: what is kept of the old direction"),
    key<&RunSpec::projection>("projection", "the set that iterates are kept in"),
    key<&RunSpec::box_low>("box_low", "with projection = \"box\""),
    key<&RunSpec::box_high>("box_high", "with projection = \"box\""),
    key<&RunSpec::ball_radius>("ball_radius", "with projection = \"ball\", around the origin"),
};

// Keys that became arguments of an expression, and how they are written now.
struct ReplacedKey {
  std::string_view name;
  std::string_view instead;
};
constexpr ReplacedKey kReplacedKeys[] = {
    {"attack_epsilon", "attack = \"empire(0.1)\""}, {"attack_sigma", "attack = \"gaussian(1)\""},
    {"attack_factor", "attack = \"scaled(-10)\""},  {"attack_target", "attack = \"mimic(0)\""},
    {"burst", "arrivals = \"burst(10)\""},          {"f", "weights = \"f-cap(1, 0.2)\""},
    {"cap_share", "weights = \"f-cap(1, 0.2)\""},
};

// A word this long is not a misspelt one, and comparing it with all known words takes long.
constexpr std::size_t kMisspeltCharactersMax = 64;

std::optional<std::string_view> nearest_known(std::string_view word,
                                              std::span<const std::string_view> known) {
  if (word.size() > kMisspeltCharactersMax) return std::nullopt;
  return nearest_word(word, known);
}

std::string type_text(const Key& key) {
  switch (key.type) {
    case KeyType::kFlag:
      return "true, false";
    case KeyType::kWhole:
      return "whole number";
    case KeyType::kNumber:
      return "number";
    case KeyType::kBeta:
      return "number, \"1/k\"";
    case KeyType::kText:
      return "text";
    case KeyType::kWord:
      return fmt::format("{}", fmt::join(key.words, ", "));
    case KeyType::kPath:
      return "file";
    case KeyType::kWholeList:
      return "whole numbers";
    case KeyType::kExpression:
      return std::string(key.catalogue().family.noun);
  }
  return "";
}

}  // namespace

std::span<const Key> keys() noexcept { return kKeys; }

Result<const Key*> find_key(std::string_view name) {
  const auto* found = std::ranges::find(kKeys, name, &Key::name);
  if (found != kKeys.end()) return found;
  const auto* replaced = std::ranges::find(kReplacedKeys, name, &ReplacedKey::name);
  if (replaced != std::end(kReplacedKeys)) {
    return not_found(fmt::format("there is no key '{}' any more; it is an argument now: {}", name,
                                 replaced->instead));
  }
  std::vector<std::string_view> names(kKeys.size());
  std::ranges::transform(kKeys, names.begin(), &Key::name);
  const auto nearest = nearest_known(name, names);
  const std::string hint =
      nearest ? fmt::format("did you mean '{}'?", *nearest) : "docs/spec.md lists the keys";
  return not_found(fmt::format("there is no key '{}'; {}", to_shown_text(name), hint));
}

std::vector<std::uint64_t> default_seeds() { return {1, 2, 3}; }

std::string one_of_text(std::string_view word, std::span<const std::string_view> words) {
  const auto nearest = nearest_known(word, words);
  const std::string hint = nearest ? fmt::format("; did you mean '{}'?", *nearest) : "";
  return fmt::format("must be one of: {}{}", fmt::join(words, ", "), hint);
}

std::string key_reference() {
  constexpr std::string_view kRow = "| {:<16} | {:<23} | {:<13} | {} |\n";
  std::string text = fmt::format(kRow, "key", "value", "default", "meaning");
  text += fmt::format("|{:-<18}|{:-<25}|{:-<15}|---|\n", "", "", "");
  for (const Key& row : kKeys) {
    text += fmt::format(kRow, row.name, type_text(row), to_toml(row.get(RunSpec())), row.help);
  }
  return text;
}

}  // namespace ballast::assembly
