#include <memory>
#include <string>

#include "apps/ballast/commands.h"
#include "ballast/assembly/catalogues.h"
#include "ballast/expression/render.h"

namespace ballast::apps {
namespace {

struct ListFlags {
  std::string kind = {};
  bool as_json = false;
  bool as_markdown = false;
};

std::string render(const expression::Catalogue& catalogue, const ListFlags& flags) {
  if (flags.as_json) return to_json_lines(catalogue);
  return flags.as_markdown ? to_markdown(catalogue) : to_text(catalogue);
}

Status list(const ListFlags& flags) {
  if (!flags.kind.empty()) {
    BALLAST_TRY(const auto* catalogue, assembly::find_catalogue(flags.kind));
    return print(render(*catalogue, flags));
  }
  std::string text;
  for (const expression::Catalogue& catalogue : assembly::catalogues()) {
    // JSON lines say themselves what they are of.
    if (!flags.as_json) {
      text += (text.empty() ? "" : "\n") + expression::list_word(catalogue.family) + ":\n\n";
    }
    text += render(catalogue, flags);
  }
  return print(text);
}

}  // namespace

void add_list_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("list", "List everything that can be named: rules, attacks, weights, ...");
  const auto flags = std::make_shared<ListFlags>();
  command->footer(
      "\nRules nest, as in nnm(ctma(gm, 0.3), 0.3). An argument is given by position or by key, a\n"
      "number as 0.4 or 1/3. Where '&' joins several, all of them hold at once.\n"
      "\n"
      "  ballast list attacks\n");
  command->add_option("KIND", flags->kind,
                      "rules, attacks, weights, arrivals, compute-times, models or optimizers; all "
                      "of them without");
  command->add_flag("--json", flags->as_json, "One JSON object per line");
  command->add_flag("--markdown", flags->as_markdown, "A table for the documents");
  command->callback([&action, flags] { action = [flags] { return list(*flags); }; });
}

}  // namespace ballast::apps
