#include "tests/network/test_http2.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "ballast/transport/endpoint.h"

namespace ballast::transport {
namespace {

constexpr int kData = 0, kHeaders = 1, kReset = 3, kSettings = 4, kPing = 6, kGoAway = 7,
              kWindowUpdate = 8, kContinuation = 9;
constexpr int kAck = 1, kEndStream = 1, kEndHeaders = 4;
constexpr std::int64_t kFrameBytesMax = 16'384;
constexpr std::size_t kPrefixBytes = 5;
constexpr std::uint32_t kCancel = 8;

std::string big_endian(std::uint64_t number, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text += char(number >> shift & 0xFF);
  return text;
}

std::uint32_t number(std::string_view bytes) {
  std::uint32_t result = 0;
  for (const char byte : bytes) result = result << 8 | static_cast<unsigned char>(byte);
  return result;
}

// HPACK: a length of seven bits, and more bytes if they do not hold it.
std::string length(std::size_t size) {
  if (size < 127) return std::string(1, char(size));
  std::string text(1, char(127));
  for (size -= 127; size >= 128; size /= 128) text += char(size % 128 + 128);
  return text + char(size);
}

// HPACK: a literal that nobody remembers, or that the server shall.
std::string field(std::string_view name, std::string_view value, bool is_remembered = false) {
  std::string text(1, is_remembered ? '\x40' : '\0');
  for (const std::string_view part : {name, value}) {
    text += length(part.size());
    text += part;
  }
  return text;
}

std::string frame(int type, int flags, std::uint32_t stream, std::string_view body) {
  std::string text = big_endian(body.size(), 3);
  text += char(type);
  text += char(flags);
  text += big_endian(stream, 4);
  text += body;
  return text;
}

}  // namespace

int connect_to(std::uint16_t port) {
  const auto address = resolve({.host = "127.0.0.1", .port = std::to_string(port)}).value();
  const int connected = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  connect(connected, reinterpret_cast<const sockaddr*>(&address.storage), address.size);
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  setsockopt(connected, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  const int yes = 1;
  setsockopt(connected, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
  return connected;
}

bool put_bytes(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

Http2Connection::Http2Connection(std::uint16_t port, bool acknowledges)
    : socket_(connect_to(port)), acknowledges_(acknowledges) {
  put(kHttp2Preface);
  put_frame(kSettings, 0, 0, "");
}

Http2Connection::~Http2Connection() { close(socket_); }

Http2Connection::Fields Http2Connection::call_fields(const std::string& worker) {
  return {{":method", "POST"},
          {":scheme", "http"},
          {":path", "/ballast.v1.ParameterServer/Train"},
          {":authority", "localhost"},
          {"content-type", "application/grpc"},
          {"te", "trailers"},
          {"ballast-worker", worker}};
}

bool Http2Connection::open(const Fields& fields) {
  std::string block;
  for (const auto& [name, value] : fields) block += field(name, value);
  stream_ = next_stream();
  stream_window_ = initial_window_;
  is_ended_ = false;
  received_.clear();
  // A block may be longer than a frame.
  std::string_view rest = block;
  for (int type = kHeaders; is_alive_; type = kContinuation) {
    const std::string_view part = rest.substr(0, kFrameBytesMax);
    rest.remove_prefix(part.size());
    if (!put_frame(type, rest.empty() ? kEndHeaders : 0, stream_, part)) return false;
    if (rest.empty()) return true;
  }
  return false;
}

bool Http2Connection::open_remembered(const Fields& fields) {
  constexpr std::size_t kNewestEntry = 62;  // of what was remembered; older ones count up
  std::string block;
  remembered_.clear();
  for (const auto& [name, value] : fields) {
    block += field(name, value, true);
    remembered_ += char(0x80 | (kNewestEntry + fields.size() - 1 - remembered_.size()));
  }
  stream_ = next_stream();
  return put_frame(kHeaders, kEndHeaders, stream_, block);
}

bool Http2Connection::open_again(int count, std::string_view data) {
  std::string frames;
  for (int i = 0; i < count; ++i) {
    stream_ = next_stream();
    frames += frame(kHeaders, kEndHeaders, stream_, remembered_);
    if (!data.empty()) frames += frame(kData, kEndStream, stream_, data);
  }
  return put(frames);
}

bool Http2Connection::send_data(std::string_view bytes, bool is_last) {
  while (!bytes.empty()) {
    while (!is_ended_ && (stream_window_ <= 0 || connection_window_ <= 0)) {
      if (!read_frame()) return false;
    }
    if (is_ended_) return false;
    const auto size = static_cast<std::size_t>(std::min<std::int64_t>(
        {stream_window_, connection_window_, kFrameBytesMax, std::int64_t(bytes.size())}));
    stream_window_ -= static_cast<std::int64_t>(size);
    connection_window_ -= static_cast<std::int64_t>(size);
    sent_bytes_ += size;
    if (!put_frame(kData, 0, stream_, bytes.substr(0, size))) return false;
    bytes.remove_prefix(size);
  }
  return !is_last || put_frame(kData, kEndStream, stream_, "");
}

bool Http2Connection::send_message(std::string_view message) {
  return send_data(prefix(static_cast<std::uint32_t>(message.size())).append(message));
}

std::string Http2Connection::prefix(std::uint32_t bytes, bool is_compressed) {
  return std::string(1, is_compressed ? '\1' : '\0') + big_endian(bytes, 4);
}

std::optional<std::string> Http2Connection::read_message() {
  while (true) {
    if (received_.size() >= kPrefixBytes) {
      const std::size_t end =
          kPrefixBytes + number(std::string_view(received_).substr(1, kPrefixBytes - 1));
      if (received_.size() >= end) {
        std::string message = received_.substr(kPrefixBytes, end - kPrefixBytes);
        received_.erase(0, end);
        return message;
      }
    }
    if (is_ended_ || !read_frame()) return std::nullopt;
  }
}

bool Http2Connection::wait_for_end() {
  while (!is_ended_ && read_frame()) continue;
  return is_ended_ || is_closed_;
}

void Http2Connection::set_window(std::uint32_t bytes) {
  put_frame(kSettings, 0, 0, big_endian(4, 2) + big_endian(bytes, 4));
  if (bytes > 0) put_frame(kWindowUpdate, 0, 0, big_endian(1u << 30, 4));
}

void Http2Connection::reset() { put_frame(kReset, 0, stream_, big_endian(kCancel, 4)); }

bool Http2Connection::wait_for_close() {
  shutdown(socket_, SHUT_WR);
  while (read_frame()) continue;
  return is_closed_;
}

bool Http2Connection::get(std::string& bytes) {
  for (std::size_t got = 0; got < bytes.size();) {
    const ssize_t more = recv(socket_, bytes.data() + got, bytes.size() - got, 0);
    if (more <= 0) {
      is_closed_ = more == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
      is_alive_ = false;
      return false;
    }
    got += static_cast<std::size_t>(more);
  }
  return true;
}

bool Http2Connection::put_frame(int type, int flags, std::uint32_t stream, std::string_view body) {
  return put(frame(type, flags, stream, body));
}

bool Http2Connection::read_frame() {
  std::string head(9, '\0');
  if (!get(head)) return false;
  const std::string_view view = head;
  std::string body(number(view.substr(0, 3)), '\0');
  if (!get(body)) return false;
  take_frame(head[3], head[4], number(view.substr(5)), body);
  return true;
}

void Http2Connection::take_frame(int type, int flags, std::uint32_t stream,
                                 const std::string& body) {
  if (type == kSettings && (flags & kAck) == 0) {
    take_settings(body);
    if (acknowledges_) put_frame(kSettings, kAck, 0, "");
  } else if (type == kPing && (flags & kAck) == 0) {
    put_frame(kPing, kAck, 0, body);
  } else if (type == kGoAway) {
    is_alive_ = false;
    is_ended_ = true;
  } else if (type == kWindowUpdate && stream == 0) {
    connection_window_ += number(body);
  } else if (type == kData && !body.empty()) {
    put_frame(kWindowUpdate, 0, 0, big_endian(body.size(), 4));
  }
  if (stream != stream_ || stream == 0) return;
  if (type == kWindowUpdate) stream_window_ += number(body);
  if (type == kData) received_ += body;
  if (type == kReset || ((type == kHeaders || type == kData) && (flags & kEndStream) != 0)) {
    is_ended_ = true;
  }
}

void Http2Connection::take_settings(std::string_view body) {
  constexpr std::uint32_t kInitialWindow = 4;
  for (; body.size() >= 6; body.remove_prefix(6)) {
    if (number(body.substr(0, 2)) != kInitialWindow) continue;
    const std::int64_t initial = number(body.substr(2, 4));
    stream_window_ += initial - initial_window_;
    initial_window_ = initial;
  }
}

}  // namespace ballast::transport
