#include "ballast/transport/client.h"

#include <fmt/core.h>

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "ballast/base/check.h"
#include "ballast/base/rng.h"
#include "ballast/transport/endpoint.h"
#include "ballast/transport/grpc/stream.h"
#include "ballast/wire/limits.h"

namespace ballast::transport {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLeaveWait{5'000};
constexpr milliseconds kStopWait{50};  // until a wish to stop is noticed

tl::unexpected<StreamFailure> failure(std::string message) {
  return tl::unexpected(StreamFailure{.message = std::move(message)});
}

// What is known of an update that was sent, or begun to be.
struct Sent {
  std::uint64_t sequence = 0;
  std::optional<server::Verdict> verdict;
  std::uint64_t staleness = 0;
};

// The pauses since the last update of which the fate is known.
struct Lost {
  milliseconds pause{0};   // the last one
  milliseconds waited{0};  // all of them
};

}  // namespace

class Client::Body {
 public:
  explicit Body(const ClientOptions& options)
      : options_(options), rng_(options.seed), model_(options.dim) {}

  Result<ClientModel> join() {
    stream_.reset();
    lost_ = {};
    BALLAST_TRY_STATUS(connect_until_given(true));
    return model();
  }

  Result<ClientModel> rejoin() {
    stream_.reset();
    lost_ = {};
    ++reconnect_count_;
    BALLAST_TRY_STATUS(connect_until_given(false));
    return model();
  }

  Result<PushResult> push(std::span<const float> values, std::span<const float> statistics) {
    Sent sent{.sequence = header_.sequence(), .verdict = {}, .staleness = 0};
    if (!stream_) return invalid_argument("join before the first push, and after a failure");
    Attempt<void> done = send(values, statistics);
    if (done) done = read_verdict(sent);
    if (done) done = read_model();
    if (!done) {
      stream_.reset();
      is_over_ = done.error().is_over;
      if (is_over_) return PushResult{sent.verdict, sent.staleness, model()};
      BALLAST_TRY_STATUS(come_back(done.error(), sent.verdict.has_value()));
      // The verdict was lost on the way, but the server remembers which ticket it took.
      if (!sent.verdict && header_.accepted_sequence() == sent.sequence) {
        sent.verdict = server::Verdict::kAccepted;
      }
    }
    if (sent.verdict) lost_ = {};
    return PushResult{.verdict = sent.verdict, .staleness = sent.staleness, .next = model()};
  }

  void leave() {
    if (!stream_) return;
    stream_->forget_stop();
    v1::WorkerMessage message;
    message.mutable_leave();
    if (stream_->write(message, false, kLeaveWait)) stream_->end(kLeaveWait);
    stream_.reset();
  }

  std::uint64_t reconnect_count() const { return reconnect_count_; }

 private:
  ClientModel model() const {
    return {.run = header_.run(),
            .incarnation = header_.incarnation(),
            .version = header_.version(),
            .count = header_.count(),
            .values = model_,
            .is_over = is_over_};
  }

  bool is_stopped() const { return options_.stop != nullptr && options_.stop->load(); }

  tl::unexpected<Error> failed(const StreamFailure& why) const {
    if (is_stopped()) return interrupted("stopped while waiting for the server");
    std::string message = fmt::format("{}: {}", options_.server, why.message);
    // A certificate that has expired cannot even reach the server that said so.
    if (!told_.empty() && told_ != why.message) message += "; before that: " + told_;
    return io_error(std::move(message));
  }

  // Makes the connection anew. Updates may be lost one after the other while joining works, because
  // something on the way garbles them; so the pauses grow from one to the next, and end.
  Status come_back(const StreamFailure& why, bool has_verdict) {
    if (!why.may_retry || is_stopped() || lost_.waited >= options_.patience) return failed(why);
    ++reconnect_count_;
    told_ = why.message;
    milliseconds wait = why.wait;
    if (!has_verdict) {
      lost_.pause =
          std::min(std::max(2 * lost_.pause, options_.back_off_min), options_.back_off_max);
      lost_.waited += lost_.pause;
      wait = std::max(wait, lost_.pause);
    }
    pause(wait);
    return connect_until_given(false);
  }

  // Tries until there is a model, with pauses that grow and are drawn at random, so that workers
  // which lost the server together do not come back together.
  Status connect_until_given(bool is_fresh) {
    const auto give_up = Clock::now() + options_.patience;
    for (milliseconds wait = options_.back_off_min;; wait = 2 * wait) {
      const Attempt<void> done = connect(is_fresh);
      if (done) {
        told_.clear();
        return {};
      }
      stream_.reset();
      is_over_ = done.error().is_over;
      if (is_over_) return {};
      if (!done.error().may_retry || is_stopped() || Clock::now() >= give_up) {
        return failed(done.error());
      }
      wait = std::min(wait, options_.back_off_max);
      pause(std::max(wait, done.error().wait));
    }
  }

  void pause(milliseconds wait) {
    const double factor = 0.5 + rng_.uniform();
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(factor * wait);
    while (!is_stopped() && Clock::now() < end) {
      std::this_thread::sleep_for(std::min<Clock::duration>(kStopWait, end - Clock::now()));
    }
  }

  Attempt<void> connect(bool is_fresh) {
    BALLAST_TRY(stream_, Stream::open(options_));
    v1::WorkerMessage message;
    v1::Join& join = *message.mutable_join();
    join.set_protocol(wire::kProtocolVersion);
    join.set_schema_hash(options_.schema_hash);
    join.set_dim(options_.dim);
    join.set_statistic_count(options_.statistic_count);
    join.set_is_fresh(is_fresh);
    join.set_model_encoding(to_message(options_.model_encoding));
    BALLAST_TRY_STATUS(stream_->write(message, false, options_.transfer_max));
    return read_model();
  }

  Attempt<void> send(std::span<const float> values, std::span<const float> statistics) {
    v1::WorkerMessage message;
    message.mutable_update()->set_ticket(header_.ticket());
    message.mutable_update()->set_encoding(to_message(options_.update_encoding));
    BALLAST_TRY_STATUS(stream_->write(message, true, options_.transfer_max));
    wire::PayloadWriter chunks(values, statistics, options_.update_encoding);
    while (!chunks.is_done()) {
      BALLAST_TRY_STATUS(stream_->write_next(chunks, options_.transfer_max));
    }
    return {};
  }

  Attempt<void> read_verdict(Sent& sent) {
    BALLAST_TRY_STATUS(stream_->read(incoming_, options_.answer_max));
    const v1::ServerMessage& message = incoming_.message();
    if (!message.has_verdict() || message.verdict().verdict() >= server::kVerdictCount) {
      return failure("the server answers out of turn");
    }
    sent.verdict = static_cast<server::Verdict>(message.verdict().verdict());
    sent.staleness = message.verdict().staleness();
    return {};
  }

  Attempt<void> read_model() {
    BALLAST_TRY_STATUS(stream_->read(incoming_, options_.answer_max));
    const v1::ServerMessage& message = incoming_.message();
    if (message.has_come_back()) {
      return tl::unexpected(StreamFailure{.message = "the server has no model for this worker now",
                                          .wait = milliseconds(message.come_back().wait_ms())});
    }
    if (!message.has_model()) return failure("the server answers out of turn");
    header_ = message.model();
    const auto encoding = from_message(header_.encoding());
    if (!encoding) return failure(encoding.error().message);
    wire::PayloadReader reader(model_, {}, *encoding);
    while (!reader.is_complete()) {
      BALLAST_TRY_STATUS(stream_->read(incoming_, options_.transfer_max));
      if (incoming_.chunk() == nullptr) return failure("the server answers out of turn");
      const Status taken = reader.take(*incoming_.chunk());
      if (!taken) return failure(taken.error().message);
    }
    return {};
  }

  ClientOptions options_;
  Rng rng_;
  std::unique_ptr<Stream> stream_;
  ReceivedMessage<v1::ServerMessage> incoming_;
  v1::ModelHeader header_;
  bool is_over_ = false;
  std::vector<float> model_;
  Lost lost_;
  std::string told_;  // why the last connection ended
  std::uint64_t reconnect_count_ = 0;
};

Result<Client> Client::make(const ClientOptions& options) {
  BALLAST_TRY_STATUS(parse_endpoint(options.server));
  if (options.dim == 0) return invalid_argument("a network has at least one parameter");
  if (options.dim + options.statistic_count > wire::kValueCountMax) {
    return invalid_argument(fmt::format("the network has {} values; {} can be sent at most",
                                        options.dim + options.statistic_count,
                                        wire::kValueCountMax));
  }
  if (!options.tls && options.name.empty()) {
    return invalid_argument("without a certificate a worker needs a name");
  }
  return Client(std::make_unique<Body>(options));
}

Client::Client(std::unique_ptr<Body> body) : body_(std::move(body)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

Result<ClientModel> Client::join() { return body_->join(); }
Result<ClientModel> Client::rejoin() { return body_->rejoin(); }

Result<PushResult> Client::push(std::span<const float> values, std::span<const float> statistics) {
  return body_->push(values, statistics);
}

void Client::leave() { body_->leave(); }
std::uint64_t Client::reconnect_count() const { return body_->reconnect_count(); }

}  // namespace ballast::transport
