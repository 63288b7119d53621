#include "ballast/transport/server.h"

#include <fmt/core.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/transport/connection_guard.h"
#include "ballast/transport/grpc/call_watch.h"
#include "ballast/transport/grpc/credentials.h"
#include "ballast/transport/grpc/deadline.h"
#include "ballast/transport/grpc/flow.h"
#include "ballast/transport/grpc/hmac.h"
#include "ballast/transport/grpc/service.h"
#include "ballast/transport/grpc/silence.h"
#include "ballast/transport/memory_budget.h"
#include "ballast/wire/limits.h"

namespace ballast::transport {
namespace {

constexpr std::chrono::milliseconds kSweepEvery{250};
constexpr std::chrono::milliseconds kLookEvery{10};
constexpr int kFirstReadBytes = 8 * 1024;

// A call is over for the peer, which may begin the next one, before it is for us.
constexpr int kCallsPerStream = 4;
constexpr int kSweepsPerIdentification = 4;
constexpr std::size_t kReservedPart = 4;  // every fourth connection is not for strangers
constexpr std::chrono::milliseconds kStopGrace{500};

constexpr const char* kServiceName = "ballast.v1.ParameterServer";
constexpr const char* kTrainingName = "ballast.v1.Training";

GuardLimits guard_limits(const NetworkServerOptions& options) {
  const std::size_t connections_max = lowered_to_descriptors(options.limits.connections_max);
  return {.connections_max = connections_max,
          .strangers_max = connections_max - connections_max / kReservedPart,
          .strangers_per_address_max = options.limits.strangers_per_address_max,
          .idle_max = options.limits.connection_idle_max,
          .calls_max = kCallsPerStream * options.limits.streams_per_connection_max,
          .strange_bytes_max = options.limits.strange_bytes_max,
          .memory_bytes_max = options.memory_budget};
}

int milliseconds(std::chrono::milliseconds duration) { return static_cast<int>(duration.count()); }

// Everything a peer could make gRPC spend: memory, time, streams, metadata.
void apply(const NetworkLimits& limits, grpc::ServerBuilder& builder) {
  grpc::ResourceQuota quota("ballast");
  quota.Resize(limits.memory_bytes_max);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(wire::kMessageBytesMax);
  // Messages that come compressed are refused unread: what they unpack to has no bound.
  builder.AddChannelArgument(GRPC_COMPRESSION_CHANNEL_ENABLED_ALGORITHMS_BITSET, 1);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, limits.streams_per_connection_max);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, limits.metadata_bytes_max);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                             milliseconds(limits.handshake_max));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS,
                             milliseconds(limits.connection_idle_max));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 2);
  // All that was read is parsed before anybody can step in, so the first reads are small. gRPC
  // reads more at a time as more comes.
  builder.AddChannelArgument(GRPC_ARG_TCP_READ_CHUNK_SIZE, kFirstReadBytes);
  for (const auto& [name, value] : flow_arguments()) builder.AddChannelArgument(name, value);
}

}  // namespace

class NetworkServer::Body {
 public:
  Body(const NetworkServerOptions& options, wire::Mac mac, server::ParameterServer server,
       ExchangeOptions exchange_options)
      : guard_(guard_limits(options)),
        worker_count_(server.worker_count()),
        loans_(worker_count_, options.limits.models_per_worker_max, guard_),
        exchange_(std::move(server), std::move(exchange_options)),
        service_(shared_, worker_count_, options.certificates),
        certificates_(options.tls ? options.identify : Identify(), notices_) {
    shared_.options = options;
    shared_.mac = std::move(mac);
    shared_.exchange = &exchange_;
    shared_.guard = &guard_;
    shared_.loans = &loans_;
    shared_.certificates = &certificates_;
    shared_.notices = &notices_;
  }
  ~Body() { stop(Close::kStopping); }

  Status start(std::unique_ptr<Listener> listener,
               std::shared_ptr<grpc::ServerCredentials> credentials) {
    silence_grpc();
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    apply(shared_.options.limits, builder);
    builder.RegisterService(&service_);
    builder.RegisterCallbackGenericService(&unknown_methods_);
    builder.experimental().SetInterceptorCreators(watched_calls());
    acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        std::move(credentials));
    server_ = builder.BuildAndStart();
    if (!server_) return io_error("gRPC refuses to start a server");
    server_->GetHealthCheckService()->SetServingStatus(kServiceName, true);
    listener_ = std::move(listener);
    listener_->start([this](int descriptor) { take(descriptor); });
    sweeper_ = std::thread([this] { sweep(); });
    lookout_ = std::thread([this] { look_out(); });
    return {};
  }

  void stop(Close why) {
    const std::lock_guard stop_lock(stop_mutex_);
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
    }
    wake_.notify_all();
    if (listener_) listener_->stop();
    exchange_.stop(why);
    if (server_) server_->Shutdown(deadline_after(kStopGrace));
    if (sweeper_.joinable()) sweeper_.join();
    if (lookout_.joinable()) lookout_.join();
    server_.reset();
    service_.on_shutdown();
  }

  NetworkCounts counts() {
    return {.connections = listener_->counts(),
            .guard = guard_.counts(),
            .streams_opened = shared_.streams_opened,
            .streams_open = service_.sessions().size(),
            .streams_refused = shared_.streams_refused,
            .calls_refused = shared_.calls_refused,
            .streams_denied = shared_.streams_denied,
            .workers_revoked = shared_.workers_revoked,
            .is_deny_list_unreadable = certificates_.is_unsure(),
            .notices_left_out = notices_.left_out_count(),
            .streams_stalled = shared_.streams_stalled,
            .streams_surplus = shared_.streams_surplus,
            .joins_refused = shared_.joins_refused};
  }

  void set_training_health(bool is_stepping) {
    const std::lock_guard lock(mutex_);
    if (is_stopping_) return;
    server_->GetHealthCheckService()->SetServingStatus(kTrainingName, is_stepping);
  }

  std::uint16_t port() const { return listener_->port(); }
  Exchange& exchange() { return exchange_; }

 private:
  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
  watched_calls() {
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> watches;
    const int metadata_bytes_max = shared_.options.limits.metadata_bytes_max;
    watches.push_back(
        std::make_unique<CallWatch>(shared_, static_cast<std::size_t>(metadata_bytes_max)));
    return watches;
  }

  void take(int descriptor) {
    if (!guard_.watch(descriptor, SteadyClock::now())) {
      close(descriptor);
      return;
    }
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    connection.fd = descriptor;
    service_.on_connection();
    acceptor_->HandleNewConnection(&connection);
  }

  // The lock is for the wait alone: certificates are parsed and files are read here.
  void sweep() {
    std::unique_lock lock(mutex_);
    for (int round = 0; !wake_.wait_for(lock, kSweepEvery, [&] { return is_stopping_; }); ++round) {
      lock.unlock();
      end_what_stalls();
      if (shared_.options.tls && round % kSweepsPerIdentification == 0) end_denied();
      tell_notices();
      lock.lock();
    }
  }

  void end_what_stalls() {
    const auto now = SteadyClock::now();
    const auto missed = now - std::exchange(swept_at_, now) - 2 * kSweepEvery;
    loans_.recall(now - 2 * shared_.options.limits.farewell_max);
    for (const auto& session : service_.sessions()) {
      if (missed > SteadyClock::duration::zero()) session->forgive(missed);
      session->end_if_stalled(now);
    }
  }

  // Each certificate is looked at once, however many streams and connections it has.
  void end_denied() {
    std::unordered_map<std::string, Identified> known;
    const Identify check = [&](std::string_view certificate) {
      const auto [place, is_new] = known.try_emplace(std::string(certificate));
      if (is_new) place->second = certificates_.check(certificate);
      return place->second;
    };
    service_.end_denied(check);
    guard_.end_denied(
        [&](const std::string& certificate) { return check(certificate).has_value(); },
        SteadyClock::now());
  }

  void tell_notices() {
    if (!shared_.options.notice) return;
    while (const auto notice = notices_.next(SteadyClock::now())) shared_.options.notice(*notice);
  }

  void look_out() {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kLookEvery, [&] { return is_stopping_; })) {
      lock.unlock();
      guard_.look(resident_bytes(), SteadyClock::now());
      lock.lock();
    }
  }

  Notices notices_;
  ConnectionGuard guard_;
  const std::size_t worker_count_;
  ModelLoans loans_;
  SessionEnvironment shared_;
  Exchange exchange_;
  Service service_;
  CertificateCheck certificates_;
  grpc::CallbackGenericService unknown_methods_;  // gRPC's own refusal is not shown to the guard
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  std::mutex stop_mutex_;  // held by whoever ends it all; others wait until it has ended
  std::thread sweeper_;
  SteadyClock::time_point swept_at_ = SteadyClock::now();  // the sweeper's own
  std::thread lookout_;
};

Result<NetworkServer> NetworkServer::start(const NetworkServerOptions& options,
                                           server::ParameterServer server,
                                           ExchangeOptions exchange) {
  BALLAST_CHECK(!options.tls || options.identify, "certificates need somebody who reads them");
  const std::uint64_t values = server.dim() + server.options().statistic_count;
  if (values > wire::kValueCountMax) {
    return invalid_argument(fmt::format("the network has {} values; {} can be sent at most", values,
                                        wire::kValueCountMax));
  }
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (options.tls) {
    BALLAST_TRY(credentials, make_server_credentials(*options.tls));
  }
  BALLAST_TRY(auto listener,
              Listener::open({.address = options.listen, .is_loopback_only = !options.tls}));
  BALLAST_TRY(auto mac, make_ticket_mac());
  auto body =
      std::make_unique<Body>(options, std::move(mac), std::move(server), std::move(exchange));
  BALLAST_TRY_STATUS(body->start(std::move(listener), std::move(credentials)));
  return NetworkServer(std::move(body));
}

NetworkServer::NetworkServer(std::unique_ptr<Body> body) : body_(std::move(body)) {}
NetworkServer::NetworkServer(NetworkServer&&) noexcept = default;
NetworkServer& NetworkServer::operator=(NetworkServer&&) noexcept = default;
NetworkServer::~NetworkServer() = default;

std::uint16_t NetworkServer::port() const { return body_->port(); }
Exchange& NetworkServer::exchange() { return body_->exchange(); }
NetworkCounts NetworkServer::counts() const { return body_->counts(); }
void NetworkServer::set_training_health(bool is_stepping) {
  body_->set_training_health(is_stepping);
}
void NetworkServer::stop(Close why) { body_->stop(why); }

}  // namespace ballast::transport
