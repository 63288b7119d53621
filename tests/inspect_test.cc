// `ballast inspect` on the folder of a run, as a user sees it.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ballast/robust/registry.h"
#include "ballast/server/table_method.h"
#include "ballast/store/store.h"

namespace ballast {
namespace {

namespace fs = std::filesystem;

struct Said {
  int exit_code;
  std::string text;
};

Said run(const std::string& arguments) {
  const std::string command = std::string(BALLAST_PROGRAM) + " " + arguments + " 2>&1";
  std::FILE* pipe = ::popen(command.c_str(), "r");
  Said said = {-1, ""};
  std::array<char, 4096> buffer;
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    said.text.append(buffer.data(), count);
  }
  said.exit_code = WEXITSTATUS(::pclose(pipe));
  return said;
}

class InspectCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = fs::path(testing::TempDir()) / "ballast_inspect_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    place_ = name;
  }
  void TearDown() override { fs::remove_all(place_); }

  // Two generations: of the start, and of one update of worker 1.
  fs::path save() const {
    const fs::path folder = place_ / "run";
    auto method =
        server::make_table_method({.worker_count = 3, .dim = 2}, robust::parse_rule("mean").value(),
                                  kernels::make_reference_backend());
    auto server = server::ParameterServer::make(
                      {.worker_count = 3},
                      {.method = std::move(method).value(),
                       .optimizer = optim::make_sgd_server<float>({}, {0.0f, 0.0f}).value()})
                      .value();
    const store::RunShape shape = {
        .config = "abc", .worker_count = 3, .dim = 2, .statistic_count = 0};
    auto store = store::Store::create(folder, "first", shape, server.state(), 0).value();
    const auto ticket = server.on_join(1)->ticket;
    const std::vector<float> values = {1.0f, 2.0f};
    server.on_update({.worker = 1, .ticket = ticket, .values = values});
    const store::JournalRecord record = {.t = 1, .worker = 1, .sequence = 1};
    EXPECT_TRUE(store.append({&record, 1}).has_value());
    EXPECT_TRUE(store.save(server.state(), 86'400).has_value());
    return folder;
  }

  fs::path place_;
};

TEST_F(InspectCommand, ShowsTheGenerations) {
  const Said said = run("inspect " + save().string());
  EXPECT_EQ(said.exit_code, 0);
  for (const char* part :
       {"1970-01-02T00:00:00Z", "1/3", "intact", "run: first", "configuration: abc",
        "method: table", "accepted updates: 0 1 0", "incarnation: 1", "journal: 1 records"}) {
    EXPECT_NE(said.text.find(part), std::string::npos) << part << " in\n" << said.text;
  }
}

TEST_F(InspectCommand, SpeaksJson) {
  const Said said = run("inspect --json " + save().string());
  const auto json = nlohmann::json::parse(said.text);
  ASSERT_EQ(json["generations"].size(), 2u);
  EXPECT_EQ(json["generations"][0]["generation"], 2);
  EXPECT_EQ(json["generations"][0]["t"], 1);
  EXPECT_EQ(json["generations"][0]["workers"][1]["count"], 1);
  EXPECT_EQ(json["generations"][0]["intact"], true);
  EXPECT_EQ(json["journal"]["records"], 1);
}

TEST_F(InspectCommand, ShowsWhatIsDamaged) {
  const fs::path folder = save();
  fs::resize_file(folder / "gen-2" / "w.bin", 3);
  const Said said = run("inspect " + folder.string());
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_NE(said.text.find("w.bin: has 3 bytes instead of 40"), std::string::npos) << said.text;
}

TEST_F(InspectCommand, WithoutACheckpointFailsInOneLine) {
  for (const fs::path& folder : {place_, place_ / "none"}) {
    const Said said = run("inspect " + folder.string());
    EXPECT_EQ(said.exit_code, 2);
    EXPECT_EQ(std::count(said.text.begin(), said.text.end(), '\n'), 1) << said.text;
    EXPECT_NE(said.text.find(folder.string()), std::string::npos);
  }
}

}  // namespace
}  // namespace ballast
