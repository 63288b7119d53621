#pragma once
// Private to the tests of transport/: a connection over loopback, both ends of it.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>

#include "ballast/base/check.h"

namespace ballast::transport {

class SocketPair {
 public:
  // All of 127.0.0.0/8 is this machine, so the peer may have any address of it.
  explicit SocketPair(const char* from = "127.0.0.1") {
    const int listening = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const raw = reinterpret_cast<sockaddr*>(&address);
    BALLAST_CHECK(bind(listening, raw, size) == 0 && listen(listening, 1) == 0, "can listen");
    getsockname(listening, raw, &size);
    peer_ = socket(AF_INET, SOCK_STREAM, 0);
    const int little = 1 << 14;
    setsockopt(peer_, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
    sockaddr_in source{};
    source.sin_family = AF_INET;
    inet_pton(AF_INET, from, &source.sin_addr);
    BALLAST_CHECK(bind(peer_, reinterpret_cast<sockaddr*>(&source), sizeof(source)) == 0, "bound");
    BALLAST_CHECK(connect(peer_, raw, size) == 0, "can connect");
    ours_ = accept4(listening, raw, &size, SOCK_NONBLOCK);
    port_ = ntohs(address.sin_port);
    close(listening);
  }
  ~SocketPair() {
    close(peer_);
    close(ours_);
  }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;

  int ours() const { return ours_; }
  std::uint16_t port() const { return port_; }  // of the peer

  // The peer sends, and we take it.
  void receive(std::size_t bytes) {
    std::string text(bytes, 'x');
    BALLAST_CHECK(send(peer_, text.data(), bytes, 0) == ssize_t(bytes), "can send");
    BALLAST_CHECK(recv(ours_, text.data(), bytes, MSG_WAITALL) > 0, "can receive");
  }
  // We send until nothing moves any more.
  void fill() {
    const std::string text(1 << 16, 'x');
    for (bool has_moved = true; has_moved; usleep(60'000)) {
      has_moved = false;
      while (send(ours_, text.data(), text.size(), MSG_NOSIGNAL) > 0) has_moved = true;
    }
  }
  // The peer takes some of it.
  void read_some() {
    std::string text(1 << 20, '\0');
    for (int i = 0; i < 8; ++i) recv(peer_, text.data(), text.size(), MSG_DONTWAIT);
    usleep(20'000);  // for the acknowledgement
  }
  bool is_ended() {
    char byte = 0;
    return recv(ours_, &byte, 1, MSG_DONTWAIT | MSG_PEEK) <= 0 && errno != EAGAIN;
  }

 private:
  int peer_ = -1;
  int ours_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace ballast::transport
