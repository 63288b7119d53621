#pragma once
// Just enough HTTP/1.1 to be looked at: GET and HEAD with short answers, one request per
// connection. Boost.Beast reads and writes the messages; the file http.cc alone includes it.
//
// It has no encryption and no passwords: bind it to loopback, or to a network that only operators
// reach. A page in somebody's browser cannot ask it under a name of its own: the Host header must
// be an address, "localhost", the host of `listen` or one of `hosts`.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"

namespace ballast::service {

struct HttpAnswer {
  int code = 200;
  std::string type = "text/plain; charset=utf-8";
  std::string body;
};

struct HttpOptions {
  std::string listen = {};              // HOST:PORT; port 0 takes a free one
  std::vector<std::string> hosts = {};  // further names under which it may be asked
  std::size_t connections_max = 64;     // more are closed as they come
};

// Answers the path of a GET, without its query. Called by one thread, one call at a time.
using HttpHandler = std::function<HttpAnswer(std::string_view path)>;

class HttpServer {
 public:
  // A connection lasts two seconds at most and sends at most 8 KiB, so that whoever dawdles keeps
  // nobody out.
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options, HttpHandler handler);

  virtual ~HttpServer() = default;
  virtual std::uint16_t port() const noexcept = 0;
};

// The body that http://HOST:PORT/path answers with; an error for any code but 200, and after two
// seconds. Answers above 16 MiB are refused.
Result<std::string> http_get(std::string_view endpoint, std::string_view path);

}  // namespace ballast::service
