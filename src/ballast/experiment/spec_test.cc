#include "ballast/experiment/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "ballast/experiment/grid.h"

namespace ballast::experiment {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Spec parsed(std::string_view text) {
  auto spec = parse_spec(text, "spec.toml");
  EXPECT_TRUE(spec.has_value()) << (spec ? "" : spec.error().message);
  return spec ? *spec : Spec();
}

std::string parse_error(std::string_view text) {
  const auto spec = parse_spec(text, "spec.toml");
  return spec ? "no error" : spec.error().message;
}

std::string override_error(Spec spec, std::string_view assignment) {
  const auto status = apply_override(spec, assignment);
  return status ? "no error" : status.error().message;
}

constexpr std::string_view kEverything = R"toml(
name = "all"
seeds = [7, 8]
workers = 17
byzantine = 8
share = "1/3"
beta = "1/k"
alpha = "t"
eta = 1
eta_decay_after = [10, 20]
model = "nets/own.pt"
augment = false
arrivals = "id^2"
rule = "ctma(gm, {share})"
[[panel]]
label = "one"
stated_share = 0.4
staleness_max = 10
[[panel]]
label = "two"
batch = 8
[grid]
weights = ["count", "f-cap"]
attack = ["sign-flip", "label-flip"]
eta_decay_factor = [0.5, 1e-5]
[[curve]]
label = "with \"quotes\" \\ and \u0007"
optimizer = "momentum"
momentum = 0.5
[[curve]]
label = "plain"
[[claim]]
text = "plain is \"better\""
better = "plain"
worse = "with \"quotes\" \\ and \u0007"
margin = -0.5
)toml";

TEST(Spec, EmptyTextIsThePapersSetting) {
  const Spec spec = parsed("");

  EXPECT_EQ(spec.name, "spec");
  EXPECT_THAT(spec.seeds, ElementsAre(1, 2, 3));
  EXPECT_EQ(spec.base, assembly::RunSpec());
}

TEST(Spec, ReadsEveryKindOfValue) {
  const Spec spec = parsed(kEverything);

  EXPECT_EQ(spec.name, "all");
  EXPECT_THAT(spec.seeds, ElementsAre(7, 8));
  EXPECT_EQ(spec.base.workers, 17u);
  EXPECT_EQ(spec.base.share, 1.0 / 3.0);
  EXPECT_FALSE(spec.base.beta.has_value());
  EXPECT_EQ(spec.base.alpha, assembly::Alpha::kLinear);
  EXPECT_EQ(spec.base.eta, 1.0);
  EXPECT_THAT(spec.base.eta_decay_after, ElementsAre(10, 20));
  EXPECT_FALSE(spec.base.augment);
  EXPECT_EQ(spec.base.arrivals, "id^2");
  EXPECT_EQ(spec.base.rule, "ctma(gm, {share})");
}

TEST(Spec, ReadsPanelsAndClaims) {
  const Spec spec = parsed(kEverything);

  ASSERT_EQ(spec.panels.size(), 2u);
  EXPECT_EQ(spec.panels[0].label, "one");
  EXPECT_EQ(spec.panels[0].stated_share, 0.4);
  EXPECT_EQ(spec.panels[1].stated_share, std::nullopt);
  EXPECT_EQ(spec.panels[1].settings.at(0).key->name, "batch");
  ASSERT_EQ(spec.claims.size(), 1u);
  EXPECT_EQ(spec.claims[0].text, "plain is \"better\"");
  EXPECT_EQ(spec.claims[0].better, "plain");
  EXPECT_EQ(spec.claims[0].worse, spec.curves[0].label);
  EXPECT_EQ(spec.claims[0].margin, -0.5);
}

TEST(Spec, KeepsTheOrderOfTheGridAndTheCurves) {
  const Spec spec = parsed(kEverything);

  ASSERT_EQ(spec.grid.size(), 3u);
  EXPECT_EQ(spec.grid[0].key->name, "weights");
  EXPECT_EQ(spec.grid[1].key->name, "attack");
  EXPECT_EQ(spec.grid[1].choices[1].value, assembly::Value("label-flip"));
  ASSERT_EQ(spec.curves.size(), 2u);
  EXPECT_EQ(spec.curves[0].label, "with \"quotes\" \\ and \a");
  EXPECT_EQ(spec.curves[1].label, "plain");
}

TEST(Spec, TakesFileNamesFromTheFolderOfTheFile) {
  const auto spec = parse_spec("model = \"../own.pt\"\ntrace = \"/a/t\"", "/home/x/spec.toml");

  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->base.model, "/home/own.pt");
  EXPECT_EQ(spec->base.trace, "/a/t");
}

TEST(Spec, ResolvedTextReadsBackAsTheSameSpec) {
  for (const std::string_view text : {std::string_view(), kEverything}) {
    const Spec spec = parsed(text);
    const std::string resolved = to_toml(spec);
    SCOPED_TRACE(resolved);

    const auto again = parse_spec(resolved, "elsewhere/other.toml");

    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(*again, spec);
    EXPECT_EQ(to_toml(*again), resolved);
  }
}

TEST(Spec, ResolvedTextHasEveryKey) {
  const std::string resolved = "\n" + to_toml(parsed(""));

  for (const assembly::Key& key : assembly::keys()) {
    EXPECT_THAT(resolved, HasSubstr("\n" + std::string(key.name) + " = ")) << key.name;
  }
}

TEST(Spec, NamesTheNearestKeyAndTheLine) {
  EXPECT_EQ(parse_error("workers = 9\nshares = 0.4"),
            "spec.toml:2: shares = 0.4: there is no key 'shares'; did you mean 'share'?");
  EXPECT_EQ(parse_error("[grid]\natack = [\"little\"]"),
            "spec.toml:2: grid.atack = [\"little\"]: there is no key 'atack'; did you mean "
            "'attack'?");
  EXPECT_EQ(parse_error("[[curve]]\nlabel = \"a\"\nruel = \"gm\""),
            "spec.toml:3: ruel = \"gm\": there is no key 'ruel'; did you mean 'rule'?");
  EXPECT_EQ(parse_error("something_else_entirely = 1"),
            "spec.toml:1: something_else_entirely = 1: there is no key 'something_else_entirely'; "
            "docs/spec.md lists the keys");
}

TEST(Spec, RefusesWrongTypes) {
  EXPECT_EQ(parse_error("workers = 9.5"),
            "spec.toml:1: workers = 9.5: must be a whole number, 0 or more");
  EXPECT_EQ(parse_error("workers = -1"),
            "spec.toml:1: workers = -1: must be a whole number, 0 or more");
  EXPECT_THAT(parse_error("share = \"a lot\""), HasSubstr("must be a finite number"));
  EXPECT_THAT(parse_error("share = \"1/0\""), HasSubstr("must be a finite number"));
  EXPECT_THAT(parse_error("eta = inf"), HasSubstr("must be a finite number"));
  EXPECT_THAT(parse_error("beta = \"1/t\""), HasSubstr("or \"1/k\""));
  EXPECT_THAT(parse_error("augment = 1"), HasSubstr("must be true or false"));
  EXPECT_THAT(parse_error("rule = 3"), HasSubstr("must be a text in quotes"));
  EXPECT_THAT(parse_error("rule = 2020-01-01"), HasSubstr("rule = a date or time: must be a text"));
  EXPECT_THAT(parse_error("trace = [\"a\"]"), HasSubstr("must be a text in quotes"));
  EXPECT_THAT(parse_error("seeds = [1, \"2\"]"), HasSubstr("must be a list of whole numbers"));
  EXPECT_THAT(parse_error("eta_decay_after = 3"), HasSubstr("must be a list of whole numbers"));
  EXPECT_THAT(parse_error("[workers]\nx = 1"), HasSubstr("workers = a table: must be a whole"));
}

TEST(Spec, NamesTheNearestWord) {
  EXPECT_EQ(parse_error("reply = \"news\""),
            "spec.toml:1: reply = \"news\": must be one of: newest, paper; did you mean 'newest'?");
}

TEST(Spec, RefusesTextThatIsNotToml) {
  EXPECT_THAT(parse_error("workers = 9\nshare ="), testing::StartsWith("spec.toml:2: "));
  EXPECT_THAT(parse_error("share = 0.1\nshare = 0.2"), testing::StartsWith("spec.toml:2: "));
  EXPECT_THAT(parse_error(std::string(assembly::kTomlBytesMax + 1, ' ')),
              HasSubstr("is it a specification"));
}

// Characters that toml++ 3.3 stumbles over.
TEST(Spec, ReadsTextBeyondAscii) {
  EXPECT_EQ(parsed("name = \"\xcf\x89-GM\"").name, "\xcf\x89-GM");
  EXPECT_EQ(parsed("name = \"\"\"\\\n\xc2\xa7\"\"\"").name, "\xc2\xa7");
  EXPECT_THAT(parse_error("workers = 20\xcd\x93"), testing::StartsWith("spec.toml:1: "));
  EXPECT_THAT(parse_error("\xcc\xaa"), testing::StartsWith("spec.toml:1: "));
}

TEST(Spec, RefusesWhatIsTooLong) {
  const std::string longest(kTextBytesMax, 'x');
  EXPECT_EQ(parse_error("name = \"" + longest + "\""), "no error");
  EXPECT_THAT(parse_error("name = \"" + longest + "x\""), HasSubstr("longer than 4096 bytes"));
  EXPECT_THAT(parse_error("trace = \"" + longest + "\""), HasSubstr("longer than 4096 bytes"));
  EXPECT_THAT(parse_error("[[curve]]\nlabel = \"" + longest + "x\""),
              HasSubstr("longer than 4096 bytes"));

  std::string choices = "[grid]\nbatch = [0";
  for (std::size_t i = 1; i <= kChoicesMax; ++i) choices += ", " + std::to_string(i);
  EXPECT_THAT(parse_error(choices + "]"), HasSubstr("must be a list of 1 to 1000 values"));
}

TEST(Spec, RefusesSeedsThatAreMissingOrRepeated) {
  EXPECT_EQ(parse_error("threads = 1025"),
            "spec.toml:1: threads = 1025: there may be at most 1024 threads");
  EXPECT_THAT(parse_error("device = \"tpu\""), HasSubstr("must be one of: cpu, reference, cuda"));
  EXPECT_EQ(parse_error("seeds = []"), "spec.toml:1: seeds = []: there must be at least one seed");
  EXPECT_EQ(parse_error("seeds = [1, 2, 1]"),
            "spec.toml:1: seeds = [1, 2, 1]: a seed is listed twice");
}

TEST(Spec, RefusesGridsThatAreNone) {
  EXPECT_EQ(parse_error("grid = 3"), "spec.toml:1: grid = 3: must be a table: [grid]");
  EXPECT_EQ(parse_error("[grid]\nshare = 0.4"),
            "spec.toml:2: grid.share = 0.4: must be a list of 1 to 1000 values");
  EXPECT_EQ(parse_error("[grid]\nshare = []"),
            "spec.toml:2: grid.share = []: must be a list of 1 to 1000 values");
  EXPECT_EQ(parse_error("[grid]\nshare = [\n0.1,\n0.1]"),
            "spec.toml:4: grid.share = 0.1: is listed twice");
  EXPECT_EQ(parse_error("[grid]\nshare = [\n0.1,\ntrue]").substr(0, 30),
            "spec.toml:4: grid.share = true");
  EXPECT_THAT(parse_error("[grid]\nseeds = [[1], [2]]"), HasSubstr("is one for all runs"));
}

TEST(Spec, RefusesCurvesThatAreNone) {
  EXPECT_THAT(parse_error("curve = 3"), HasSubstr("must be at most 1000 tables: [[curve]]"));
  EXPECT_THAT(parse_error("curve = [3]"), HasSubstr("must be a table: [[curve]]"));
  EXPECT_THAT(parse_error("[[curve]]\nrule = \"gm\""), HasSubstr("needs a label"));
  EXPECT_THAT(parse_error("[[curve]]\nlabel = 3"), HasSubstr("label = 3: must be a text"));
  EXPECT_THAT(parse_error("[[curve]]\nlabel = \"a\"\n[[curve]]\nlabel = \"a\""),
              testing::AllOf(HasSubstr("spec.toml:3"), HasSubstr("another curve has this label")));
  EXPECT_THAT(parse_error("[[curve]]\nlabel = \"a\"\nname = \"b\""),
              HasSubstr("is one for all runs"));
}

TEST(Spec, RefusesAKeyBothInTheGridAndInACurve) {
  EXPECT_EQ(parse_error("[grid]\nrule = [\"gm\"]\n[[curve]]\nlabel = \"a\"\nrule = \"mean\""),
            "spec.toml:2: grid.rule = \"gm\": the curve \"a\" sets rule too; keep one of the two");
}

TEST(Spec, NamesTheNewFormOfAnOldKey) {
  EXPECT_EQ(
      parse_error("attack = \"empire\"\nattack_epsilon = 0.3"),
      "spec.toml:2: attack_epsilon = 0.3: there is no key 'attack_epsilon' any more; it is an "
      "argument now: attack = \"empire(0.1)\"");
  for (const auto& [key, instead] :
       {std::pair{"attack_sigma", "gaussian(1)"}, std::pair{"attack_factor", "scaled(-10)"},
        std::pair{"attack_target", "mimic(0)"}, std::pair{"burst", "arrivals = \"burst(10)\""},
        std::pair{"f", "weights = \"f-cap(1, 0.2)\""},
        std::pair{"cap_share", "weights = \"f-cap(1, 0.2)\""}}) {
    EXPECT_THAT(parse_error(std::string(key) + " = 3"), HasSubstr(instead)) << key;
  }
  EXPECT_THAT(parse_error("[[curve]]\nlabel = \"a\"\nf = 3"), HasSubstr("f-cap(1, 0.2)"));
}

TEST(Spec, RefusesPanelsThatAreNone) {
  EXPECT_THAT(parse_error("panel = 3"), HasSubstr("must be at most 1000 tables: [[panel]]"));
  EXPECT_THAT(parse_error("[[panel]]\nshare = 0.3"), HasSubstr("needs a label"));
  EXPECT_THAT(parse_error("[[panel]]\nlabel = \"a\"\n[[panel]]\nlabel = \"a\""),
              HasSubstr("another panel has this label"));
  EXPECT_THAT(parse_error("[[panel]]\nlabel = \"a\"\nstated_share = \"most\""),
              testing::StartsWith("spec.toml:3: stated_share = \"most\": must be a finite number"));
  EXPECT_THAT(parse_error("[[curve]]\nlabel = \"a\"\nstated_share = 0.3"),
              HasSubstr("there is no key 'stated_share'"));
  EXPECT_THAT(parse_error("[[panel]]\nlabel = \"a\"\nneeds = \"f\""),
              HasSubstr("there is no key 'needs'"));
  EXPECT_THAT(parse_error("[[curve]]\nlabel = \"a\"\nnot_in = \"p\""),
              HasSubstr("must be a list of at most"));
  EXPECT_THAT(parse_error("[[curve]]\nlabel = \"a\"\nnot_in = [\"p\"]"),
              HasSubstr("the curve \"a\" is not_in a panel \"p\", which does not exist"));
}

TEST(Spec, RefusesAKeyBothInAPanelAndInTheGrid) {
  constexpr std::string_view kPanel = "[[panel]]\nlabel = \"p\"\nshare = 0.3\n";
  EXPECT_EQ(parse_error(std::string(kPanel) + "[grid]\nshare = [0.2]"),
            "spec.toml:5: grid.share = 0.2: the panel \"p\" sets share too; keep one of the two");
}

TEST(Spec, ReadsClaimsOfBeingOnPar) {
  const std::string text =
      "[[curve]]\nlabel = \"a\"\n[[curve]]\nlabel = \"b\"\n[[claim]]\ntext = \"t\"\n"
      "better = \"a\"\nworse = \"b\"\n";
  const auto spec = parse_spec(text + "within = 1.5\n", "spec.toml");
  ASSERT_TRUE(spec.has_value()) << spec.error().message;
  EXPECT_EQ(spec->claims.at(0).within, std::optional(1.5));
  EXPECT_EQ(parse_spec(to_toml(*spec), "spec.toml").value(), *spec);
  EXPECT_THAT(parse_error(text + "within = 1\nmargin = 1\n"), HasSubstr("a margin, or within"));
  EXPECT_THAT(parse_error(text + "within = -1\n"), HasSubstr("a margin, or within"));
}

TEST(Spec, RefusesClaimsThatAreNone) {
  const std::string curve = "[[curve]]\nlabel = \"w-GM\"\n[[claim]]\ntext = \"t\"\n";
  EXPECT_THAT(parse_error("claim = [3]"), HasSubstr("must be a table: [[claim]]"));
  EXPECT_EQ(parse_error(curve + "better = \"w-GM\""),
            "spec.toml:3: claim = a table: needs a text, and as better and worse the labels of two "
            "curves");
  EXPECT_EQ(parse_error(curve + "better = \"w-GM\"\nworse = \"w-GN\""),
            "spec.toml:3: claim = a table: there is no curve \"w-GN\"; did you mean \"w-GM\"?");
  EXPECT_THAT(parse_error(curve + "better = \"w-GM\"\nworse = \"something else\""),
              HasSubstr("name the label of a [[curve]]"));
  EXPECT_EQ(parse_error(curve + "beter = \"w-GM\""),
            "spec.toml:5: beter = \"w-GM\": a key of a claim must be one of: text, better, worse, "
            "margin, within; did you mean 'better'?");
  EXPECT_THAT(parse_error(curve + "margin = \"much\""), HasSubstr("must be a finite number"));
}

TEST(Override, TakesTomlOrABareText) {
  Spec spec = parsed("");

  for (const std::string_view assignment :
       {"share=0.3", "threads=3", "device=reference", "rule=ctma(gm, 0.4)", "seeds=[4, 5]",
        "beta=1/k", "name=2024", "augment=false", "dirichlet_alpha = 1/3", "reply=\"newest\"",
        "weights=f-cap(1, 0.2) & f-cap(3, 1/3)"}) {
    const auto status = apply_override(spec, assignment);
    EXPECT_TRUE(status.has_value()) << assignment << ": " << status.error().message;
  }

  EXPECT_EQ(spec.base.share, 0.3);
  EXPECT_EQ(spec.base.rule, "ctma(gm, 0.4)");
  EXPECT_THAT(spec.seeds, ElementsAre(4, 5));
  EXPECT_EQ(spec.threads, 3u);
  EXPECT_EQ(spec.base.device, "reference");
  EXPECT_FALSE(spec.base.beta.has_value());
  EXPECT_EQ(spec.name, "2024");
  EXPECT_FALSE(spec.base.augment);
  EXPECT_EQ(spec.base.dirichlet_alpha, 1.0 / 3.0);
  EXPECT_EQ(spec.base.weights, "f-cap(1, 0.2) & f-cap(3, 1/3)");
  EXPECT_EQ(spec.base.reply, assembly::Reply::kNewest);
}

TEST(Override, AddsAndReplacesAxesOfTheGrid) {
  Spec spec = parsed("[grid]\nshare = [0.1, 0.2]");

  ASSERT_TRUE(apply_override(spec, "grid.attack=[\"little\", \"empire\"]").has_value());
  ASSERT_TRUE(apply_override(spec, "grid.share=[0.3]").has_value());

  ASSERT_EQ(spec.grid.size(), 2u);
  EXPECT_EQ(spec.grid[0].choices.size(), 1u);
  EXPECT_EQ(spec.grid[1].key->name, "attack");
}

TEST(Override, FixesAKeyThatTheGridVaries) {
  Spec spec = parsed("[grid]\nshare = [0.1, 0.2]");

  ASSERT_TRUE(apply_override(spec, "share=0.3").has_value());

  EXPECT_TRUE(spec.grid.empty());
  EXPECT_EQ(spec.base.share, 0.3);
}

TEST(Override, RefusesWhatWouldHaveNoEffect) {
  const Spec spec = parsed("[[curve]]\nlabel = \"a\"\nrule = \"gm\"");

  EXPECT_EQ(override_error(spec, "rule=mean"),
            "--set rule=mean: every [[curve]] sets rule; edit the file");
  EXPECT_THAT(override_error(spec, "grid.rule=[\"mean\"]"), HasSubstr("the curve \"a\" sets rule"));
  EXPECT_EQ(override_error(parsed("[[panel]]\nlabel = \"p\"\nshare = 0.3"), "share=0.1"),
            "--set share=0.1: every [[panel]] sets share; edit the file");
}

TEST(Override, NamesItselfInErrors) {
  const Spec spec = parsed("");

  EXPECT_EQ(override_error(spec, "shares=0.6"),
            "--set shares=0.6: there is no key 'shares'; did you mean 'share'?");
  EXPECT_EQ(override_error(spec, "workers=many"),
            "--set workers=many: must be a whole number, 0 or more");
  EXPECT_EQ(override_error(spec, "workers"), "--set workers: must have the form key=value");
  EXPECT_THAT(override_error(spec, "grid=[1]"), HasSubstr("set grid.KEY=[VALUES]"));
  EXPECT_THAT(override_error(spec, "panel=[1]"), HasSubstr("edit the file"));
  EXPECT_THAT(override_error(spec, "name=\xff"), HasSubstr("UTF-8"));
}

TEST(Override, DoesNotReadASecondKeyOutOfAValue) {
  const Spec spec = parsed("");

  EXPECT_EQ(override_error(spec, "share=0.1\nworkers=3").substr(0, 31),
            "--set share=0.1?workers=3: must");
}

TEST(Override, ChangesNothingWhenItFails) {
  Spec spec = parsed("[grid]\nshare = [0.1]\n[[curve]]\nlabel = \"a\"\nrule = \"gm\"");
  const Spec before = spec;

  EXPECT_FALSE(apply_override(spec, "rule=mean").has_value());
  EXPECT_FALSE(apply_override(spec, "grid.rule=[\"mean\"]").has_value());

  EXPECT_EQ(spec, before);
}

TEST(Override, TakesFileNamesFromTheCurrentFolder) {
  Spec spec = parsed("");

  ASSERT_TRUE(apply_override(spec, "trace=arrivals.txt").has_value());

  EXPECT_EQ(spec.base.trace, std::filesystem::current_path() / "arrivals.txt");
}

TEST(ReadSpec, NamesAFileThatIsMissing) {
  const auto spec = read_spec("there/is/no/spec.toml");

  ASSERT_FALSE(spec.has_value());
  EXPECT_THAT(spec.error().message, testing::StartsWith("there/is/no/spec.toml: cannot open: "));
}

}  // namespace
}  // namespace ballast::experiment
