#include "ballast/assembly/catalogues.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

#include "ballast/assembly/keys.h"
#include "ballast/expression/render.h"

namespace ballast::assembly {
namespace {

using expression::Catalogue;

std::string document(const std::string& name) {
  std::ifstream file(std::string(BALLAST_DOCS_FOLDER "/") + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// What stands in the document between the marks that tools/update_docs.py fills.
std::string marked(const std::string& name, const std::string& command) {
  const std::string text = document(name);
  const std::string begin = "<!-- made by: " + command + " -->\n\n";
  const std::size_t from = text.find(begin);
  if (from == std::string::npos) return name + " has no mark for " + command;
  const std::size_t start = from + begin.size();
  return text.substr(start, text.find("\n<!-- end -->", start) - start);
}

TEST(Catalogues, StandInTheDocuments) {
  for (const Catalogue& catalogue : catalogues()) {
    const std::string word = list_word(catalogue.family);
    const bool has_page = word == "rules" || word == "methods" || word == "attacks";
    EXPECT_EQ(marked(has_page ? word + ".md" : "spec.md", "ballast list " + word + " --markdown"),
              to_markdown(catalogue))
        << "run tools/update_docs.py";
  }
  EXPECT_EQ(marked("spec.md", "ballast train --keys"), key_reference())
      << "run tools/update_docs.py";
}

TEST(Catalogues, NameEverythingOnceAndExplainIt) {
  for (const Catalogue& catalogue : catalogues()) {
    std::set<std::string_view> names;
    for (const expression::Entry* entry : catalogue.entries) {
      SCOPED_TRACE(entry->name);
      EXPECT_TRUE(names.insert(entry->name).second);
      EXPECT_FALSE(entry->help.empty());
      EXPECT_EQ(entry->help.find('|'), std::string_view::npos) << "it ends a cell of the table";
      bool may_be_required = true;
      for (const expression::Parameter& parameter : entry->parameters) {
        EXPECT_FALSE(parameter.help.empty()) << parameter.name;
        EXPECT_TRUE(may_be_required || !parameter.is_required) << "required ones come first";
        may_be_required = parameter.is_required;
      }
    }
  }
}

TEST(Catalogues, HaveTheWordsOfTheKey) {
  const Key* key = find_key("optimizer").value();
  const auto& entries = find_catalogue("optimizers").value()->entries;
  ASSERT_EQ(key->words.size(), entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) EXPECT_EQ(key->words[i], entries[i]->name);
}

TEST(Catalogues, AreFoundByTheirWord) {
  EXPECT_EQ(find_catalogue("compute-times").value()->family.noun, "compute time");
  EXPECT_EQ(find_catalogue("rule").error().message,
            "there is no list of 'rule'; did you mean 'rules'?");
  EXPECT_THAT(find_catalogue("x").error().message, testing::HasSubstr("there are methods, rules"));
}

}  // namespace
}  // namespace ballast::assembly
