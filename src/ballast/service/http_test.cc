#include "ballast/service/http.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>

namespace ballast::service {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::unique_ptr<HttpServer> echo_server() {
  return HttpServer::start("127.0.0.1:0",
                           [](std::string_view path) -> HttpAnswer {
                             if (path == "/missing") return {.code = 404, .body = "no"};
                             return {.body = std::string(path)};
                           })
      .value();
}

std::string address_of(const HttpServer& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

// A connection on which the bytes were sent.
int send_bytes(const HttpServer& server, const std::string& bytes) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(server.port());
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  return socket;
}

std::string answer_to(const HttpServer& server, const std::string& bytes) {
  const int socket = send_bytes(server, bytes);
  ::shutdown(socket, SHUT_WR);
  std::string answer;
  char buffer[1024];
  for (ssize_t count; (count = ::recv(socket, buffer, sizeof(buffer), 0)) > 0;) {
    answer.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(socket);
  return answer;
}

TEST(Http, AnswersAGetWithItsPathAndForgetsTheQuery) {
  const auto server = echo_server();
  EXPECT_EQ(http_get(address_of(*server), "/status?x=1").value(), "/status");
}

TEST(Http, AnotherCodeThanOkIsAnErrorThatQuotesIt) {
  const auto server = echo_server();
  EXPECT_THAT(http_get(address_of(*server), "/missing").error().message, HasSubstr("404"));
}

TEST(Http, NobodyThereIsAnError) {
  EXPECT_THAT(http_get("127.0.0.1:1", "/status").error().message, HasSubstr("127.0.0.1:1"));
}

TEST(Http, WhatIsNoGetIsRefusedAndTheNextOneServed) {
  const auto server = echo_server();
  EXPECT_THAT(answer_to(*server, "POST / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(*server, std::string(3, '\0')), StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(answer_to(*server, "GET /" + std::string(4091, 'x')), "");
  EXPECT_EQ(http_get(address_of(*server), "/after").value(), "/after");
}

TEST(Http, WhoSaysNothingKeepsOthersOutForTwoSecondsAtMost) {
  const auto server = echo_server();
  const int silent = send_bytes(*server, "GET /sl");
  const auto start = std::chrono::steady_clock::now();
  while (!http_get(address_of(*server), "/after")) {
    ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(6));
  }
  ::close(silent);
}

}  // namespace
}  // namespace ballast::service
