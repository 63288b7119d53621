#include "ballast/client.h"

#include <fmt/core.h>

#include <utility>

#include "ballast/face/guard.h"
#include "ballast/identity/name.h"
#include "ballast/kernels/finite.h"
#include "ballast/transport/client.h"

namespace ballast {
namespace {

ReceivedModel public_model(const transport::ClientModel& model) {
  return {.version = model.version,
          .count = model.count,
          .incarnation = model.incarnation,
          .values = model.values,
          .is_over = model.is_over};
}

Status check_values(std::span<const float> values, std::size_t size, const char* what) {
  if (values.size() != size || face::is_null(values)) {
    return invalid_argument(fmt::format("{} {}; the options say {}", values.size(), what, size));
  }
  if (kernels::all_finite(values)) return {};
  return not_finite(fmt::format("among the {} is a NaN or an infinity", what));
}

transport::ClientOptions room_options(const ClientOptions& options) {
  transport::ClientOptions own{.server = options.server,
                               .name = options.name,
                               .server_name = options.server_name,
                               .schema_hash = options.schema,
                               .dim = options.dim,
                               .statistic_count = options.statistic_count,
                               .patience = options.patience,
                               .stop = options.stop};
  if (options.tls) {
    own.tls = {.authority = options.tls->authority,
               .certificate = options.tls->certificate,
               .key = options.tls->key};
  }
  return own;
}

}  // namespace

class Client::Body {
 public:
  Body(transport::Client client, const ClientOptions& options)
      : client_(std::move(client)), dim_(options.dim), statistic_count_(options.statistic_count) {}

  Result<ReceivedModel> join() {
    BALLAST_TRY(const auto model, client_.join());
    return public_model(model);
  }

  Result<PushOutcome> push(std::span<const float> values, std::span<const float> statistics) {
    BALLAST_TRY_STATUS(check_values(values, dim_, "values"));
    BALLAST_TRY_STATUS(check_values(statistics, statistic_count_, "statistics"));
    BALLAST_TRY(const auto result, client_.push(values, statistics));
    return PushOutcome{
        .is_accepted = result.verdict == server::Verdict::kAccepted,
        .verdict = result.verdict ? std::string(server::name(*result.verdict)) : "lost",
        .staleness = result.staleness,
        .next = public_model(result.next)};
  }

  void leave() { client_.leave(); }

 private:
  transport::Client client_;
  std::size_t dim_;
  std::size_t statistic_count_;
};

Result<Client> Client::make(const ClientOptions& options) {
  return face::guarded("the client", [&]() -> Result<Client> {
    // gRPC ends the process for headers that hold other characters.
    if (!options.tls) BALLAST_TRY_STATUS(identity::check_name(options.name));
    BALLAST_TRY(auto client, transport::Client::make(room_options(options)));
    return Client(std::make_unique<Body>(std::move(client), options));
  });
}

Client::Client(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<ReceivedModel> Client::join() {
  if (body_ == nullptr) return face::moved_from("Client");
  return face::guarded("join", [&] { return body_->join(); });
}

Result<PushOutcome> Client::push(std::span<const float> values, std::span<const float> statistics) {
  if (body_ == nullptr) return face::moved_from("Client");
  return face::guarded("push", [&] { return body_->push(values, statistics); });
}

Status Client::leave() {
  if (body_ == nullptr) return face::moved_from("Client");
  return face::guarded("leave", [&]() -> Status {
    body_->leave();
    return {};
  });
}

}  // namespace ballast
