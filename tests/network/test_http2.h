#pragma once
// HTTP/2 by hand, just enough to send gRPC messages that no gRPC client would, from a process that
// does not hold what it claims to send.

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/check.h"
#include "ballast/transport/endpoint.h"

namespace ballast::transport {

class Http2Stream {
 public:
  // Connects and opens one stream for the worker's training call.
  Http2Stream(std::uint16_t port, const std::string& worker) {
    const auto address = resolve({.host = "127.0.0.1", .port = std::to_string(port)}).value();
    socket_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    BALLAST_CHECK(
        connect(socket_, reinterpret_cast<const sockaddr*>(&address.storage), address.size) == 0,
        "the server listens");
    const timeval second{.tv_sec = 1, .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
    put("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    put(frame(kSettings, 0, 0, ""));
    put(frame(kHeaders, kEndHeaders, 1,
              field(":method", "POST") + field(":scheme", "http") +
                  field(":path", "/ballast.v1.ParameterServer/Train") +
                  field(":authority", "localhost") + field("content-type", "application/grpc") +
                  field("te", "trailers") + field("ballast-worker", worker)));
  }
  ~Http2Stream() { close(socket_); }
  Http2Stream(const Http2Stream&) = delete;
  Http2Stream& operator=(const Http2Stream&) = delete;

  // Announces a message of so many bytes without sending it.
  void announce(std::uint32_t bytes) {
    std::string prefix(5, '\0');
    for (int i = 0; i < 4; ++i) prefix[std::size_t(1 + i)] = char(bytes >> (8 * (3 - i)) & 0xFF);
    put(frame(kData, 0, 1, prefix));
    spend(prefix.size());
  }

  // Sends as much of the message as the server lets through; false once it has ended the stream or
  // has let nothing through for a second.
  bool send_some() {
    while (!is_ended_ && (stream_window_ <= 0 || connection_window_ <= 0)) {
      if (!read_frame()) return false;
    }
    if (is_ended_) return false;
    const auto size = static_cast<std::size_t>(
        std::min<std::int64_t>({stream_window_, connection_window_, 16'384}));
    spend(size);
    return put(frame(kData, 0, 1, std::string(size, 'x')));
  }

  std::uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  static constexpr int kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kGoAway = 7,
                       kWindowUpdate = 8;
  static constexpr int kEndHeaders = 4, kAck = 1;

  static std::string frame(int type, int flags, std::uint32_t stream, const std::string& body) {
    std::string head;
    for (int shift = 16; shift >= 0; shift -= 8) head += char(body.size() >> shift & 0xFF);
    head += char(type);
    head += char(flags);
    for (int shift = 24; shift >= 0; shift -= 8) head += char(stream >> shift & 0xFF);
    return head + body;
  }

  // HPACK: a literal that nobody remembers.
  static std::string field(std::string_view name, std::string_view value) {
    std::string text(1, '\0');
    for (const std::string_view part : {name, value}) {
      text += char(part.size());
      text += part;
    }
    return text;
  }

  static std::uint32_t number(std::string_view bytes) {
    std::uint32_t result = 0;
    for (const char byte : bytes) result = result << 8 | static_cast<unsigned char>(byte);
    return result;
  }

  bool put(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  bool get(std::string& bytes) {
    for (std::size_t got = 0; got < bytes.size();) {
      const ssize_t more = recv(socket_, bytes.data() + got, bytes.size() - got, 0);
      if (more <= 0) return false;
      got += static_cast<std::size_t>(more);
    }
    return true;
  }

  void spend(std::size_t bytes) {
    stream_window_ -= static_cast<std::int64_t>(bytes);
    connection_window_ -= static_cast<std::int64_t>(bytes);
    sent_bytes_ += bytes;
  }

  bool read_frame() {
    std::string head(9, '\0');
    if (!get(head)) return false;
    const std::string_view view = head;
    std::string body(number(view.substr(0, 3)), '\0');
    if (!get(body)) return false;
    const int type = head[3], flags = head[4];
    const std::uint32_t stream = number(view.substr(5));
    if (type == kSettings && (flags & kAck) == 0) {
      take_settings(body);
      put(frame(kSettings, kAck, 0, ""));
    } else if (type == kPing && (flags & kAck) == 0) {
      put(frame(kPing, kAck, 0, body));
    } else if (type == kWindowUpdate) {
      (stream == 0 ? connection_window_ : stream_window_) += number(body);
    } else if (type == kReset || type == kGoAway || (type == kHeaders && (flags & 1) != 0)) {
      is_ended_ = true;
    }
    return true;
  }

  void take_settings(std::string_view body) {
    constexpr std::uint32_t kInitialWindow = 4;
    for (; body.size() >= 6; body.remove_prefix(6)) {
      if (number(body.substr(0, 2)) != kInitialWindow) continue;
      const std::int64_t initial = number(body.substr(2, 4));
      stream_window_ += initial - initial_window_;
      initial_window_ = initial;
    }
  }

  int socket_ = -1;
  std::int64_t initial_window_ = 65'535;
  std::int64_t stream_window_ = 65'535;
  std::int64_t connection_window_ = 65'535;
  std::uint64_t sent_bytes_ = 0;
  bool is_ended_ = false;
};

}  // namespace ballast::transport
