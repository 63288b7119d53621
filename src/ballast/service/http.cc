#include "ballast/service/http.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "ballast/transport/endpoint.h"

namespace ballast::service {
namespace {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using net::ip::tcp;

constexpr std::chrono::seconds kTimeMax{2};  // of a connection
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::uint32_t kRequestBytesMax = 8192;
constexpr std::uint64_t kAnswerBytesMax = std::uint64_t{16} << 20;

using Request = http::request<http::empty_body>;
using Response = http::response<http::string_body>;

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

tl::unexpected<Error> failed(std::string_view endpoint, std::string_view what,
                             const beast::error_code& why) {
  return io_error(fmt::format("{}: {}: {}", endpoint, what, why.message()));
}

Result<tcp::endpoint> resolve(std::string_view text) {
  BALLAST_TRY(const transport::Endpoint parsed, transport::parse_endpoint(text));
  BALLAST_TRY(const transport::SocketAddress address, transport::resolve(parsed));
  tcp::endpoint endpoint;
  endpoint.resize(address.size);
  std::copy_n(reinterpret_cast<const std::byte*>(&address.storage), address.size,
              reinterpret_cast<std::byte*>(endpoint.data()));
  return endpoint;
}

// Without the port and the brackets of an IPv6 address.
std::string_view host_of(std::string_view authority) {
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    return end == std::string_view::npos ? authority : authority.substr(1, end - 1);
  }
  return authority.substr(0, authority.rfind(':'));
}

bool is_address(std::string_view host) {
  beast::error_code error;
  net::ip::make_address(std::string(host), error);
  return !error;
}

// What all connections of a server share; touched by its one thread alone.
struct Shared {
  HttpHandler handler;
  std::vector<std::string> hosts;
  std::size_t connections = 0;
  std::size_t connections_max = 0;

  bool knows(std::string_view authority) const {
    const std::string_view host = host_of(authority);
    return host == "localhost" || is_address(host) || std::ranges::find(hosts, host) != hosts.end();
  }

  HttpAnswer answer(const Request& request) const {
    if (request.method() != http::verb::get && request.method() != http::verb::head) {
      return {.code = 405, .body = "GET or HEAD\n"};
    }
    // HTTP/1.0 has no Host, and no browser speaks it.
    const auto host = request.find(http::field::host);
    if (host == request.end() ? request.version() >= 11 : !knows(view(host->value()))) {
      return {.code = 421, .body = "ask by address, or name the host with --http-host\n"};
    }
    const std::string_view target = view(request.target());
    if (!target.starts_with('/')) return {.code = 400, .body = "a path begins with /\n"};
    return handler(target.substr(0, target.find('?')));
  }
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(tcp::socket socket, Shared& shared) : stream_(std::move(socket)), shared_(shared) {
    ++shared_.connections;
  }
  ~Connection() { --shared_.connections; }

  void start() {
    parser_.header_limit(kRequestBytesMax);
    parser_.body_limit(0);
    stream_.expires_after(kTimeMax);
    http::async_read(stream_, buffer_, parser_,
                     [self = shared_from_this()](const beast::error_code& error, std::size_t) {
                       self->on_read(error);
                     });
  }

 private:
  void on_read(const beast::error_code& error) {
    const bool is_silent = error == beast::error::timeout || error == http::error::end_of_stream ||
                           error == net::error::operation_aborted ||
                           error == net::error::connection_reset;
    if (is_silent) return;
    const HttpAnswer answer = error ? HttpAnswer{.code = 400, .body = "this is no request\n"}
                                    : shared_.answer(parser_.get());
    const bool is_head = !error && parser_.get().method() == http::verb::head;
    response_.result(static_cast<unsigned>(answer.code));
    response_.set(http::field::content_type, answer.type);
    response_.set(http::field::cache_control, "no-store");
    response_.keep_alive(false);
    response_.content_length(answer.body.size());
    if (!is_head) response_.body() = answer.body;
    http::async_write(stream_, response_,
                      [self = shared_from_this()](const beast::error_code&, std::size_t) {
                        beast::error_code ignored;
                        self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
                      });
  }

  beast::tcp_stream stream_;
  Shared& shared_;
  beast::flat_buffer buffer_{kRequestBytesMax};
  http::request_parser<http::empty_body> parser_;
  Response response_;
};

class BeastServer final : public HttpServer {
 public:
  BeastServer(const HttpOptions& options, HttpHandler handler)
      : shared_{.handler = std::move(handler),
                .hosts = options.hosts,
                .connections_max = options.connections_max} {}
  ~BeastServer() override {
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }

  Status listen(const HttpOptions& options) {
    BALLAST_TRY(const tcp::endpoint endpoint, resolve(options.listen));
    shared_.hosts.emplace_back(host_of(options.listen));
    beast::error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(net::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(net::socket_base::max_listen_connections, error);
    if (error) return failed(options.listen, "cannot listen there", error);
    port_ = acceptor_.local_endpoint(error).port();
    accept();
    thread_ = std::thread([this] { context_.run(); });
    return {};
  }

  std::uint16_t port() const noexcept override { return port_; }

 private:
  void accept() {
    acceptor_.async_accept([this](const beast::error_code& error, tcp::socket socket) {
      if (error == net::error::operation_aborted) return;
      if (error) {
        // Out of descriptors, most likely: they come back when somebody else lets go.
        std::this_thread::sleep_for(kAcceptPause);
      } else if (shared_.connections < shared_.connections_max) {
        std::make_shared<Connection>(std::move(socket), shared_)->start();
      }
      accept();
    });
  }

  Shared shared_;  // outlives the connections, which the context owns
  net::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// One request; its steps follow each other on the caller's thread, under one deadline.
class Fetch {
 public:
  Fetch(std::string_view endpoint, std::string_view path) {
    request_.method(http::verb::get);
    request_.target({path.data(), path.size()});
    request_.version(11);
    request_.set(http::field::host, beast::string_view(endpoint.data(), endpoint.size()));
    request_.keep_alive(false);
    parser_.body_limit(kAnswerBytesMax);
  }

  beast::error_code run(const tcp::endpoint& endpoint) {
    stream_.expires_after(kTimeMax);
    stream_.async_connect(endpoint, [this](const beast::error_code& error) {
      if (error) return end(error);
      http::async_write(stream_, request_,
                        [this](const beast::error_code& why, std::size_t) { on_sent(why); });
    });
    context_.run();
    return error_;
  }

  const Response& response() const { return parser_.get(); }

 private:
  void on_sent(const beast::error_code& error) {
    if (error) return end(error);
    http::async_read(stream_, buffer_, parser_,
                     [this](const beast::error_code& why, std::size_t) { end(why); });
  }
  void end(const beast::error_code& error) { error_ = error; }

  net::io_context context_{1};
  beast::tcp_stream stream_{context_};
  beast::flat_buffer buffer_;
  Request request_;
  http::response_parser<http::string_body> parser_;
  beast::error_code error_;
};

Result<std::string> fetch(std::string_view endpoint, std::string_view path) {
  BALLAST_TRY(const tcp::endpoint address, resolve(endpoint));
  Fetch fetch(endpoint, path);
  if (const beast::error_code error = fetch.run(address)) {
    return io_error(fmt::format("{} does not answer ({}); is the server running with --http?",
                                endpoint, error.message()));
  }
  const Response& response = fetch.response();
  if (response.result() == http::status::ok) return response.body();
  return io_error(fmt::format("{}{} answers {}: {}", endpoint, path, response.result_int(),
                              response.body().substr(0, 200)));
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options,
                                                      HttpHandler handler) {
  try {
    auto server = std::make_unique<BeastServer>(options, std::move(handler));
    BALLAST_TRY_STATUS(server->listen(options));
    return server;
  } catch (const std::exception& error) {
    return io_error(fmt::format("{}: cannot listen there: {}", options.listen, error.what()));
  }
}

Result<std::string> http_get(std::string_view endpoint, std::string_view path) {
  try {
    return fetch(endpoint, path);
  } catch (const std::exception& error) {
    return io_error(fmt::format("{}: {}", endpoint, error.what()));
  }
}

}  // namespace ballast::service
