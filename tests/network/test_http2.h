#pragma once
// HTTP/2 by hand, just enough to send gRPC messages that no gRPC client would, from a process that
// does not hold what it claims to send and does not even use gRPC.
//
// Thread-safety: none; one thread per connection.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ballast::transport {

// A connected socket, or one that takes nothing if nobody listens; reads end after some seconds.
int connect_to(std::uint16_t port);

// False once the other end is gone.
bool put_bytes(int socket, std::string_view bytes);

inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// A connection without encryption, with one stream at a time.
class Http2Connection {
 public:
  using Fields = std::vector<std::pair<std::string, std::string>>;

  // Connects and says hello. gRPC holds a peer to the limits of HTTP/2 (metadata, streams) only
  // once that has acknowledged them.
  explicit Http2Connection(std::uint16_t port, bool acknowledges = true);
  ~Http2Connection();
  Http2Connection(const Http2Connection&) = delete;
  Http2Connection& operator=(const Http2Connection&) = delete;

  // The header fields of a worker's training call.
  static Fields call_fields(const std::string& worker);

  // Begins a new stream and forgets the one before. False if the connection is gone, as below.
  bool open(const Fields& fields);

  // Begins a stream with fields that the server remembers, and so many more with the same fields,
  // sixteen bytes each if there are seven of them.
  bool open_remembered(const Fields& fields);
  bool open_again(int count, std::string_view data = {});

  // Sends bytes of the stream as fast as the server lets them through, then maybe its end.
  bool send_data(std::string_view bytes, bool is_last = false);

  // Sends a gRPC message as it should be.
  bool send_message(std::string_view message);

  // The five bytes before a message.
  static std::string prefix(std::uint32_t bytes, bool is_compressed = false);

  // The server's next message; none once it has ended the stream.
  std::optional<std::string> read_message();

  // Reads on until the server has ended the stream or the connection. False if it does not.
  bool wait_for_end();

  // How many bytes of each stream the server may send unasked; if any, very many of all together.
  void set_window(std::uint32_t bytes);

  // Gives the stream up from this side.
  void reset();

  // Sends anything at all.
  bool put(std::string_view bytes) { return put_bytes(socket_, bytes); }

  // Sends nothing more, and waits until the server has closed. False if it does not.
  bool wait_for_close();

  bool is_alive() const { return is_alive_; }
  int socket() const { return socket_; }
  std::uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  bool get(std::string& bytes);
  bool read_frame();
  void take_frame(int type, int flags, std::uint32_t stream, const std::string& body);
  void take_settings(std::string_view body);
  bool put_frame(int type, int flags, std::uint32_t stream, std::string_view body);
  std::uint32_t next_stream() { return std::exchange(next_stream_, next_stream_ + 2); }

  int socket_ = -1;
  bool acknowledges_ = true;
  bool is_alive_ = true;
  bool is_closed_ = false;  // the server has closed, as opposed to: is silent
  std::uint32_t stream_ = 0;
  std::uint32_t next_stream_ = 1;
  std::string remembered_;  // references to the fields
  bool is_ended_ = false;
  std::string received_;  // of the stream, not yet taken as messages
  std::int64_t initial_window_ = 65'535;
  std::int64_t stream_window_ = 0;
  std::int64_t connection_window_ = 65'535;
  std::uint64_t sent_bytes_ = 0;
};

}  // namespace ballast::transport
