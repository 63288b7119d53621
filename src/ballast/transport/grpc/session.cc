#include "ballast/transport/grpc/session.h"

#include <fmt/core.h>

#include <utility>

#include "ballast/transport/grpc/flow.h"
#include "ballast/wire/limits.h"

namespace ballast::transport {
namespace {

using grpc::StatusCode;

// How long a held worker stays away before it asks again.
constexpr std::uint32_t kComeBackMs = 1000;

tl::unexpected<grpc::Status> refusal(StatusCode code, std::string message) {
  return tl::unexpected(grpc::Status(code, std::move(message)));
}

grpc::Status status_of(Close why) {
  switch (why) {
    case Close::kReplaced:
      return {StatusCode::ABORTED, "a newer stream of this worker took over"};
    case Close::kEvicted:
      return {StatusCode::DEADLINE_EXCEEDED, "silent for too long; join again"};
    case Close::kRevoked:
      return status_of(Denied{.why = Denial::kRevoked, .detail = {}});
    case Close::kComeBack:
      return grpc::Status::OK;
    case Close::kFinished:
      return {StatusCode::OUT_OF_RANGE, "the training is over"};
    case Close::kStopping:
      break;
  }
  return {StatusCode::UNAVAILABLE, "the server stops"};
}

}  // namespace

Session::Session(SessionEnvironment& shared, grpc::CallbackServerContext& context,
                 std::shared_ptr<ConnectionGuard::Connection> connection, StreamIdentity identity)
    : shared_(shared),
      context_(context),
      identity_(std::move(identity)),
      connection_(std::move(connection)),
      phase_since_(SteadyClock::now()) {}

void Session::start() {
  begun_.give();
  read_next();
}

void Session::read_next() {
  read_.give();
  StartRead(&incoming_);
}

void Session::OnReadDone(bool ok) {
  const Reaction reaction(begun_, over_);
  read_.take();
  Handled handled =
      ok ? handle() : Handled(refusal(StatusCode::CANCELLED, "the worker ended the stream"));
  const std::lock_guard lock(mutex_);
  if (!handled) {
    finish(std::move(handled).error());
  } else if (!end_) {
    read_next();
  }
}

Session::Handled Session::handle() {
  const Status opened = received_.open(incoming_);
  if (!opened) {
    if (has_joined_) shared_.exchange->refuse(identity_.worker, server::Verdict::kMalformed);
    return refusal(StatusCode::INVALID_ARGUMENT, opened.error().message);
  }
  const v1::WorkerMessage& message = received_.message();
  const Phase now = turn();
  if (now == Phase::kJoining && message.has_join()) return on_join(message.join());
  if (now == Phase::kComputing && message.has_update()) return on_update_header(message.update());
  if (now == Phase::kReceiving && received_.chunk() != nullptr) return on_chunk(*received_.chunk());
  if (has_joined_ && now != Phase::kReceiving && message.has_leave()) {
    has_left_ = true;
    return tl::unexpected(grpc::Status::OK);
  }
  if (has_joined_) shared_.exchange->refuse(identity_.worker, server::Verdict::kMalformed);
  return refusal(StatusCode::INVALID_ARGUMENT, "a message out of turn");
}

grpc::Status Session::check(const v1::Join& join) const {
  const auto wrong = [](std::string message) {
    return grpc::Status(StatusCode::FAILED_PRECONDITION, std::move(message));
  };
  if (join.protocol() != wire::kProtocolVersion) {
    return wrong(fmt::format("the worker speaks protocol {}, the server {}; update the older one",
                             join.protocol(), wire::kProtocolVersion));
  }
  const Exchange& exchange = *shared_.exchange;
  if (join.dim() != exchange.dim() || join.statistic_count() != exchange.statistic_count()) {
    return wrong(fmt::format(
        "the worker's network has {} parameters and {} statistics, the "
        "server's {} and {}; train the same network",
        join.dim(), join.statistic_count(), exchange.dim(), exchange.statistic_count()));
  }
  if (join.schema_hash() != shared_.options.schema_hash) {
    return wrong("the worker's network has other tensors than the server's; train the same one");
  }
  return grpc::Status::OK;
}

Session::Handled Session::on_join(const v1::Join& join) {
  const auto encoding = from_message(join.model_encoding());
  grpc::Status status =
      encoding ? check(join)
               : grpc::Status(StatusCode::FAILED_PRECONDITION, encoding.error().message);
  if (!status.ok()) {
    ++shared_.joins_refused;
    shared_.notices->add(Notice::Kind::kJoinRefused, identity_.name, status.error_message());
    return tl::unexpected(std::move(status));
  }
  {
    const std::lock_guard lock(mutex_);
    model_encoding_ = *encoding;
    enter_locked(Phase::kWaiting);
  }
  has_joined_ = true;
  shared_.guard->join(*connection_);
  shared_.on_join(shared_from_this(),
                  join.is_fresh() ? server::Memory::kFresh : server::Memory::kKept);
  return {};
}

Session::Handled Session::on_update_header(const v1::UpdateHeader& header) {
  if (!identity_.certificate.empty()) {
    if (const auto name = shared_.certificates->check(identity_.certificate); !name) {
      end_denied(name.error());
      return tl::unexpected(status_of(name.error()));
    }
  }
  auto ticket = wire::open_ticket(bytes_of(header.ticket()), shared_.options.run, shared_.mac);
  if (!ticket) {
    shared_.exchange->refuse(identity_.worker, server::Verdict::kForged);
    return refusal(StatusCode::UNAUTHENTICATED, std::move(ticket).error().message);
  }
  ticket_ = *ticket;
  const auto encoding = from_message(header.encoding());
  if (!encoding) {
    shared_.exchange->refuse(identity_.worker, server::Verdict::kMalformed);
    return refusal(StatusCode::INVALID_ARGUMENT, encoding.error().message);
  }
  encoding_ = *encoding;
  enter(Phase::kReceiving);
  if (Status begun = shared_.exchange->begin_update(identity_.worker, *this, encoding_); !begun) {
    return refusal(StatusCode::ABORTED, std::move(begun).error().message);
  }
  return {};
}

Session::Handled Session::on_chunk(const wire::Chunk& chunk) {
  {
    // With the last chunk the turn is the exchange's, which may deliver before take_chunk()
    // returns.
    const std::lock_guard lock(mutex_);
    phase_bytes_ += chunk.size();
    const std::uint64_t total = shared_.exchange->dim() + shared_.exchange->statistic_count();
    const bool is_last = chunk.offset + chunk.size() / value_bytes(encoding_) == total;
    if (is_last) enter_locked(Phase::kWaiting);
  }
  auto complete =
      shared_.exchange->take_chunk(identity_.worker, shared_from_this(), ticket_, chunk);
  if (complete) return {};
  if (complete.error().code == ErrorCode::kNotFound) {
    return refusal(StatusCode::ABORTED, std::move(complete).error().message);
  }
  shared_.exchange->refuse(identity_.worker, server::Verdict::kMalformed);
  return refusal(StatusCode::INVALID_ARGUMENT, std::move(complete).error().message);
}

void Session::deliver(Delivery delivery) {
  const std::lock_guard lock(mutex_);
  if (end_) return;
  enter_locked(Phase::kSending);
  outbox_.model.reset();
  outbox_.has_model = false;
  if (delivery.verdict) {
    outbox_.verdict.emplace();
    outbox_.verdict->set_verdict(static_cast<std::uint32_t>(*delivery.verdict));
    outbox_.verdict->set_staleness(delivery.staleness);
  }
  if (delivery.next) {
    outbox_.model = shared_.loans->lend(identity_.worker, delivery.next->model, connection_);
    outbox_.lent = outbox_.model;
    delivery.next->model.values.reset();
  }
  outbox_.assignment = std::move(delivery.next);
  if (!is_writing_) write_next();
}

void Session::close(Close why) {
  const std::lock_guard lock(mutex_);
  if (end_) return;
  if (why != Close::kComeBack) return finish(status_of(why));
  outbox_.has_come_back = true;
  ending_since_ = SteadyClock::now();
  if (!is_writing_) write_next();
}

void Session::write_next() {
  if (fill_outgoing()) {
    is_writing_ = true;
    const bool has_followers = outbox_.assignment || !outbox_.chunks.is_done();
    StartWrite(&outgoing_, write_options(has_followers && has_written_));
  } else if (outbox_.has_come_back) {
    finish(grpc::Status::OK);
  } else if (phase_ == Phase::kSending) {
    outbox_.model.reset();
    enter_locked(outbox_.has_model ? Phase::kComputing : Phase::kWaiting);
  }
}

// Puts the next message together; false if there is none.
bool Session::fill_outgoing() {
  outgoing_chunk_bytes_ = 0;
  v1::ServerMessage message;
  if (outbox_.verdict) {
    *message.mutable_verdict() = *std::exchange(outbox_.verdict, std::nullopt);
  } else if (outbox_.assignment) {
    const server::Assignment assignment = *std::exchange(outbox_.assignment, std::nullopt);
    outbox_.has_model = true;
    outbox_.chunks = wire::PayloadWriter(outbox_.model->values(), {}, model_encoding_);
    *message.mutable_model() = header_of(assignment);
  } else if (!outbox_.chunks.is_done()) {
    fill_chunk();
    return true;
  } else if (outbox_.has_come_back && !outbox_.is_come_back_sent) {
    outbox_.is_come_back_sent = true;
    message.mutable_come_back()->set_wait_ms(kComeBackMs);
  } else {
    return false;
  }
  outgoing_ = frame_of(message);
  return true;
}

// Floats go out from where the model lies; other encodings from memory of the message.
void Session::fill_chunk() {
  outgoing_chunk_bytes_ = outbox_.chunks.next_size();
  outgoing_ = model_encoding_ == wire::Encoding::kFloat32
                  ? frame_of(outbox_.chunks.next(), outbox_.model)
                  : frame_of_next(outbox_.chunks);
}

v1::ModelHeader Session::header_of(const server::Assignment& assignment) const {
  const wire::TicketBytes ticket =
      wire::seal_ticket(assignment.ticket, shared_.options.run, shared_.mac);
  v1::ModelHeader header;
  header.set_run(shared_.options.run);
  header.set_incarnation(assignment.ticket.incarnation);
  header.set_version(assignment.model.version);
  header.set_sequence(assignment.ticket.sequence);
  header.set_ticket(ticket.data(), ticket.size());
  header.set_count(assignment.count);
  header.set_accepted_sequence(assignment.accepted_sequence);
  header.set_encoding(to_message(model_encoding_));
  return header;
}

void Session::OnWriteDone(bool ok) {
  const Reaction reaction(begun_, over_);
  const std::lock_guard lock(mutex_);
  is_writing_ = false;
  has_written_ = true;
  outgoing_.Clear();
  phase_bytes_ += outgoing_chunk_bytes_;
  if (end_) {
    Finish(*end_);
  } else if (!ok) {
    finish({StatusCode::CANCELLED, "the worker is gone"});
  } else {
    write_next();
  }
}

// A status cannot overtake a message that is being written, so it waits for OnWriteDone().
void Session::finish(grpc::Status status) {
  if (end_) return;
  end_ = std::move(status);
  if (!ending_since_) ending_since_ = SteadyClock::now();
  outbox_.assignment.reset();
  outbox_.chunks = {};
  outbox_.model.reset();
  if (const auto lent = outbox_.lent.lock()) shared_.loans->set_over(*lent, *ending_since_);
  if (!is_writing_) Finish(*end_);
}

// Does not wait for a peer that does not read.
void Session::finish_now(grpc::Status status) {
  finish(std::move(status));
  if (is_writing_ && !is_over_) context_.TryCancel();
}

void Session::OnCancel() {
  const Reaction reaction(begun_, over_);
  const std::lock_guard lock(mutex_);
  finish({StatusCode::CANCELLED, "the worker is gone"});
}

void Session::OnDone() {
  over_.take();
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  const std::shared_ptr<Session> self = shared_from_this();
  if (has_joined_) {
    shared_.guard->leave(*connection_, SteadyClock::now());
    shared_.exchange->end(identity_.worker, self, has_left_);
  }
  shared_.on_done(this);
}

void Session::end_if_stalled(SteadyClock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (is_over_ || !is_stalled(now)) return;
  if (!end_) ++shared_.streams_stalled;
  finish({StatusCode::DEADLINE_EXCEEDED, "too slow; the stream was dropped"});
  context_.TryCancel();
}

void Session::forgive(SteadyClock::duration time) {
  const std::lock_guard lock(mutex_);
  phase_since_ += time;
  if (ending_since_) *ending_since_ += time;
}

void Session::end_as_surplus() {
  ++shared_.streams_surplus;
  const std::lock_guard lock(mutex_);
  finish_now({StatusCode::RESOURCE_EXHAUSTED, "this worker has opened too many streams"});
}

void Session::end_denied(const Denied& denied) {
  {
    const std::lock_guard lock(mutex_);
    if (end_) return;
    finish_now(status_of(denied));
  }
  ++shared_.streams_denied;
  if (denied.why != Denial::kUnsure) {
    shared_.notices->add(Notice::Kind::kWorkerDenied, identity_.name, told(denied));
  }
  if (denied.why == Denial::kRevoked) shared_.on_revoked(*this);
}

bool Session::is_stalled(SteadyClock::time_point now) const {
  const NetworkLimits& limits = shared_.options.limits;
  if (ending_since_ && now - *ending_since_ > limits.farewell_max) return true;
  const auto elapsed = now - phase_since_;
  switch (phase_) {
    case Phase::kJoining:
      return elapsed > limits.handshake_max;
    case Phase::kSending:
    case Phase::kReceiving:
      return elapsed > limits.stall_grace + std::chrono::milliseconds(1000 * phase_bytes_ /
                                                                      limits.bytes_per_second_min);
    case Phase::kWaiting:
    case Phase::kComputing:
      return false;
  }
  return false;
}

// Whose turn it is as the worker sees it: it may answer a model before gRPC has told us that the
// last of it is gone.
Session::Phase Session::turn() {
  const std::lock_guard lock(mutex_);
  const bool is_drained = outbox_.has_model && !outbox_.assignment && outbox_.chunks.is_done();
  return phase_ == Phase::kSending && is_drained ? Phase::kComputing : phase_;
}

void Session::enter(Phase phase) {
  const std::lock_guard lock(mutex_);
  enter_locked(phase);
}

void Session::enter_locked(Phase phase) {
  phase_ = phase;
  phase_since_ = SteadyClock::now();
  phase_bytes_ = 0;
}

}  // namespace ballast::transport
