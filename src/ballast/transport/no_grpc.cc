// Where gRPC is missing: the doors of the network are there and say so.

#include "ballast/transport/client.h"
#include "ballast/transport/server.h"

namespace ballast::transport {
namespace {

tl::unexpected<Error> missing() {
  return unsupported("this build has no network: it was made without gRPC");
}

}  // namespace

Result<Identify> make_identify(const std::filesystem::path&, WallClock) { return missing(); }

class NetworkServer::Body {};
class Client::Body {};

Result<NetworkServer> NetworkServer::start(const NetworkServerOptions&, server::ParameterServer,
                                           ExchangeOptions) {
  return missing();
}
NetworkServer::NetworkServer(std::unique_ptr<Body> body) : body_(std::move(body)) {}
NetworkServer::NetworkServer(NetworkServer&&) noexcept = default;
NetworkServer& NetworkServer::operator=(NetworkServer&&) noexcept = default;
NetworkServer::~NetworkServer() = default;
std::uint16_t NetworkServer::port() const { return 0; }
Exchange& NetworkServer::exchange() { std::abort(); }
NetworkCounts NetworkServer::counts() const { return {}; }
void NetworkServer::set_training_health(bool) {}
void NetworkServer::stop(Close) {}

Result<Client> Client::make(const ClientOptions&) { return missing(); }
Client::Client(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;
Result<ClientModel> Client::join() { return missing(); }
Result<ClientModel> Client::rejoin() { return missing(); }
Result<PushResult> Client::push(std::span<const float>, std::span<const float>) {
  return missing();
}
void Client::leave() {}
std::uint64_t Client::reconnect_count() const { return 0; }

}  // namespace ballast::transport
