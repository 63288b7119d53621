// The same for what talks over a network, on loopback.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ballast/client.h"
#include "ballast/face/test_parts.h"
#include "ballast/server.h"

namespace ballast::face {
namespace {

using testing::HasSubstr;
using Vector = std::vector<float>;

template <typename T>
void expect_error(const Result<T>& result, const std::string& part) {
  ASSERT_FALSE(result.has_value()) << "an error about: " << part;
  EXPECT_THAT(result.error().message, HasSubstr(part));
}

Training training() { return {.start = {0, 0}, .rule = "mean"}; }

std::filesystem::path new_folder() {
  std::string folder = testing::TempDir() + "ballast_face_XXXXXX";
  EXPECT_NE(::mkdtemp(folder.data()), nullptr);
  return std::filesystem::path(folder) / "state";
}

Client client_of(const Server& server) {
  return Client::make({.server = "127.0.0.1:" + std::to_string(server.port()),
                       .name = "ann",
                       .dim = 2,
                       .patience = std::chrono::seconds(60)})
      .value();
}

TEST(NetworkMisuse, OfAServerIsAnError) {
  expect_error(Server::start(training(), {.names = {}}), "names");
  expect_error(Server::start(training(), {.names = {"No Name"}}), "No Name");
  expect_error(Server::start(training(), {.names = {"ann", "ann"}}), "ann");
  expect_error(Server::start(training(), {.listen = "nowhere", .names = {"ann"}}), "nowhere");
  expect_error(Server::start(training(), {.run = "", .names = {"ann"}}), "run");
  expect_error(Server::start(training(), {.names = {"ann"}, .checkpoint_every = 0}), "every 0");
  expect_error(Server::start(training(), {.names = {"ann"}, .is_resume = true}), "folder");
  expect_error(Server::start(training(), {.names = {"ann"}, .http = "nonsense"}), "");
  expect_error(Server::start(training(), {.names = {"ann"}, .tls = TlsFiles{"a", "b", "c"}}), "");
  expect_error(Server::start(training(), {.names = {"ann"}, .state = "/no/such/folder"}), "");
  expect_error(Server::start({.start = {}}, {.names = {"ann"}}), "empty");

  auto server = Server::start(training(), {.names = {"ann"}}).value();
  expect_error(server.worker(1), "no worker 1");
  EXPECT_FALSE(server.wait(std::chrono::milliseconds(1)).value());
  EXPECT_FALSE(server.wait(std::chrono::milliseconds(-5)).value());
  Server moved = std::move(server);
  expect_error(server.model(), "moved from");   // NOLINT(bugprone-use-after-move)
  expect_error(server.status(), "moved from");  // NOLINT(bugprone-use-after-move)
  expect_error(server.stop(), "moved from");    // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(server.port(), 0);                  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(moved.stop().has_value());
  EXPECT_TRUE(moved.stop().has_value());
  EXPECT_EQ(moved.model()->version, 0u);
  expect_error(moved.worker(0), "stopped");
  EXPECT_TRUE(moved.status().has_value());
}

TEST(NetworkMisuse, OfAClientIsAnError) {
  expect_error(Client::make({.server = "", .name = "ann", .dim = 2}), "");
  expect_error(Client::make({.server = "127.0.0.1:1", .name = "ann"}), "parameter");
  expect_error(Client::make({.server = "127.0.0.1:1", .dim = 2}), "name");
  for (const std::string_view name : {std::string_view("a\0b", 3), std::string_view("a\nb"),
                                      std::string_view("\xff"), std::string_view("Ann")}) {
    expect_error(Client::make({.server = "127.0.0.1:1", .name = std::string(name), .dim = 2}),
                 "is not a name");
  }

  auto server = Server::start(training(), {.names = {"ann"}}).value();
  auto client = client_of(server);
  expect_error(client.push(Vector{1, 2}), "join");
  ASSERT_TRUE(client.join().has_value());
  expect_error(client.push(Vector{1}), "1 values");
  expect_error(client.push({static_cast<const float*>(nullptr), 2}), "values");
  expect_error(client.push(Vector{1, std::nanf("")}), "NaN");
  expect_error(client.push(Vector{1, 2}, Vector{1}), "1 statistics");
  EXPECT_TRUE(client.push(Vector{1, 2})->is_accepted);
  Client moved = std::move(client);
  expect_error(client.join(), "moved from");              // NOLINT(bugprone-use-after-move)
  expect_error(client.push(Vector{1, 2}), "moved from");  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(moved.leave().has_value());
  EXPECT_TRUE(moved.leave().has_value());
  expect_error(moved.push(Vector{1, 2}), "join");
}

// A method with a bug stops the training and not the process, and the status page says why.
TEST(NetworkMisuse, ByAMethodIsShownOnTheStatusPage) {
  Training broken = training();
  broken.method = std::make_unique<ToldMethod>(
      [](const AcceptedUpdate&) -> Answer { throw std::runtime_error("my bug"); });
  auto server = Server::start(std::move(broken), {.names = {"ann"}}).value();
  auto client = client_of(server);
  ASSERT_TRUE(client.join().has_value());
  EXPECT_EQ(client.push(Vector{1, 2})->verdict, "filtered");
  EXPECT_THAT(server.status().value(), HasSubstr("my bug"));
}

TEST(NetworkServer, EndsAfterItsUpdatesAndGoesOnFromItsFolder) {
  const std::filesystem::path folder = new_folder();
  ServerOptions options{.names = {"ann", "bob"}, .updates = 3, .state = folder};
  Vector first;
  {
    auto server = Server::start(training(), options).value();
    expect_error(Server::start(training(), options), "");  // the folder is in use
    auto client = client_of(server);
    ASSERT_TRUE(client.join().has_value());
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(client.push(Vector{1, 2}).has_value());
    EXPECT_TRUE(server.wait(std::chrono::seconds(60)).value());
    EXPECT_EQ(server.accepted_count().value(), 3u);
    EXPECT_TRUE(server.stop().has_value());
    first = *server.model()->values;
  }
  options.updates = 5;
  expect_error(Server::start(training(), options), "");  // without is_resume it must be new
  options.is_resume = true;
  Training another = training();
  another.optimizer.eta = 0.5;
  expect_error(Server::start(std::move(another), options), "");
  auto server = Server::start(training(), options).value();
  EXPECT_EQ(server.resumed_count(), 3u);
  EXPECT_EQ(*server.model()->values, first);
  auto client = client_of(server);
  ASSERT_TRUE(client.join().has_value());
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(client.push(Vector{1, 2}).has_value());
  EXPECT_TRUE(server.wait(std::chrono::seconds(60)).value());
  EXPECT_EQ(server.accepted_count().value(), 5u);
  ASSERT_TRUE(server.stop().has_value());
  std::filesystem::remove_all(folder.parent_path());
}

}  // namespace
}  // namespace ballast::face
