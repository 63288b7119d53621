#pragma once
// Just enough HTTP/1.1 to be looked at: GET with short answers, one request per connection.
//
// The library behind prometheus-cpp has a whole web server in it, which would be one more door to
// defend; this one reads at most a few kilobytes, ignores all headers and closes. It has no
// encryption: bind it to loopback, or to a network that only operators reach.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "ballast/base/error.h"

namespace ballast::service {

struct HttpAnswer {
  int code = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

// Answers the path of a GET. Called by one thread, one call at a time.
using HttpHandler = std::function<HttpAnswer(std::string_view path)>;

class HttpServer {
 public:
  // Listens on HOST:PORT; port 0 takes a free one. Serves one connection at a time, each for two
  // seconds at most, so that whoever dawdles keeps out others only for so long.
  static Result<std::unique_ptr<HttpServer>> start(std::string_view listen, HttpHandler handler);

  virtual ~HttpServer() = default;
  virtual std::uint16_t port() const noexcept = 0;
};

// The body that http://HOST:PORT/path answers with; an error for any code but 200, and after two
// seconds. Answers above 16 MiB are refused.
Result<std::string> http_get(std::string_view endpoint, std::string_view path);

}  // namespace ballast::service
