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

std::unique_ptr<HttpServer> echo_server(HttpOptions options = {}) {
  options.listen = "127.0.0.1:0";
  return HttpServer::start(options,
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

std::string get(const HttpServer& server, const std::string& host) {
  return answer_to(server, "GET /status HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
}

TEST(Http, WhatIsNoGetIsRefusedAndTheNextOneServed) {
  const auto server = echo_server();
  EXPECT_THAT(answer_to(*server, "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
              StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(answer_to(*server, std::string(3, '\0')), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(*server, "GET /" + std::string(9000, 'x')), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(answer_to(*server,
                        "GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n"
                        "hello"),
              StartsWith("HTTP/1.1 400 "));
  EXPECT_EQ(http_get(address_of(*server), "/after").value(), "/after");
}

TEST(Http, AHeadHasTheLengthAndNoBody) {
  const auto server = echo_server();
  const std::string answer = answer_to(*server, "HEAD /status HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 7\r\n"));
  EXPECT_TRUE(answer.ends_with("\r\n\r\n")) << answer;
}

// A page whose name was pointed at our address would else read the status with its own script.
TEST(Http, AForeignHostIsRefused) {
  const auto server = echo_server({.hosts = {"train.example.org"}});
  for (const auto* host :
       {"localhost", "127.0.0.1:80", "[::1]:80", "10.1.2.3", "train.example.org:7001"}) {
    EXPECT_THAT(get(*server, host), StartsWith("HTTP/1.1 200 ")) << host;
  }
  for (const auto* host : {"evil.example.com", "evil.example.com:80", "", "[", "localhost.evil"}) {
    EXPECT_THAT(get(*server, host), StartsWith("HTTP/1.1 421 ")) << host;
  }
  EXPECT_THAT(answer_to(*server, "GET / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 421 "));
}

TEST(Http, WhoSaysNothingKeepsNobodyOut) {
  const auto server = echo_server();
  const int silent = send_bytes(*server, "GET /sl");
  EXPECT_EQ(http_get(address_of(*server), "/after").value(), "/after");
  ::close(silent);
}

TEST(Http, ManyWhoSayNothingKeepOthersOutForTwoSecondsAtMost) {
  const auto server = echo_server({.connections_max = 2});
  const int first = send_bytes(*server, "GET");
  const int second = send_bytes(*server, "GET");
  const auto start = std::chrono::steady_clock::now();
  while (!http_get(address_of(*server), "/after")) {
    ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(6));
  }
  ::close(first);
  ::close(second);
}

}  // namespace
}  // namespace ballast::service
