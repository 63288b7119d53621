#include "ballast/transport/grpc/stream.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "ballast/transport/grpc/credentials.h"
#include "ballast/transport/grpc/deadline.h"
#include "ballast/transport/grpc/flow.h"
#include "ballast/transport/grpc/silence.h"
#include "ballast/wire/limits.h"

namespace ballast::transport {
namespace {

constexpr const char* kTrainMethod = "/ballast.v1.ParameterServer/Train";
constexpr std::chrono::milliseconds kStopSlice{50};  // until a wish to stop is noticed
constexpr std::chrono::milliseconds kGoodByeWait{2'000};
constexpr int kFirstReadBytes = 256 * 1024;  // models are long

grpc::ChannelArguments channel_arguments(const ClientOptions& options) {
  grpc::ChannelArguments arguments;
  if (!options.server_name.empty()) arguments.SetSslTargetNameOverride(options.server_name);
  arguments.SetMaxReceiveMessageSize(wire::kMessageBytesMax);
  arguments.SetCompressionAlgorithm(GRPC_COMPRESS_NONE);
  // Retrying is our own business; gRPC's would keep a copy of what was sent.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  // Several clients of one process are several workers, each with a connection of its own.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  for (const auto& [name, value] : flow_arguments()) arguments.SetInt(name, value);
  arguments.SetInt(GRPC_ARG_TCP_READ_CHUNK_SIZE, kFirstReadBytes);
  return arguments;
}

bool may_retry(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::ABORTED:  // another process has our name
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:  // a forged ticket
    case grpc::StatusCode::UNIMPLEMENTED:
      return false;
    default:
      return true;
  }
}

}  // namespace

// False after the first failure: when to try again is decided by the caller. A server that takes
// the connection and then says nothing must not keep a worker that wants to stop.
bool Stream::is_connected(std::chrono::milliseconds wait_max) {
  const auto give_up = std::chrono::steady_clock::now() + wait_max;
  while (!is_stopped() && std::chrono::steady_clock::now() < give_up) {
    const grpc_connectivity_state state = channel_->GetState(true);
    if (state == GRPC_CHANNEL_READY) return true;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) return false;
    channel_->WaitForStateChange(state, deadline_after(std::min(wait_max, kStopSlice)));
  }
  return false;
}

Attempt<std::unique_ptr<Stream>> Stream::open(const ClientOptions& options) {
  silence_grpc();
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (options.tls) {
    auto made = make_client_credentials(*options.tls);
    if (!made)
      return tl::unexpected(StreamFailure{.may_retry = false, .message = made.error().message});
    credentials = *std::move(made);
  }
  std::unique_ptr<Stream> stream(new Stream);
  stream->stop_ = options.stop;
  stream->channel_ =
      grpc::CreateCustomChannel(options.server, credentials, channel_arguments(options));
  if (!options.tls) stream->context_.AddMetadata(kNameHeader, options.name);
  if (!stream->is_connected(options.connect_max)) {
    return tl::unexpected(StreamFailure{.message = fmt::format("cannot reach {}", options.server)});
  }
  grpc::GenericStub stub(stream->channel_);
  stream->call_ = stub.PrepareCall(&stream->context_, kTrainMethod, &stream->queue_);
  stream->call_->StartCall(stream.get());
  if (!stream->wait(options.connect_max)) return tl::unexpected(stream->failure());
  return stream;
}

Stream::~Stream() {
  if (call_ && !is_finished_) {
    context_.TryCancel();
    grpc::Status status;
    call_->Finish(&status, this);
    wait(std::chrono::seconds(10));
  }
  queue_.Shutdown();
}

// Waits for the one operation under way. After too long everything is cancelled, which ends it.
bool Stream::wait(std::chrono::milliseconds wait_max, bool is_reading) {
  void* tag = nullptr;
  bool is_ok = false;
  const auto give_up = std::chrono::steady_clock::now() + wait_max;
  do {
    const auto slice = stop_ != nullptr ? std::min(wait_max, kStopSlice) : wait_max;
    const auto status = queue_.AsyncNext(&tag, &is_ok, deadline_after(slice));
    if (status == grpc::CompletionQueue::GOT_EVENT) return is_ok;
  } while (!is_stopped() && std::chrono::steady_clock::now() < give_up);
  if (is_reading && is_stopped()) {
    say_good_bye();
    return false;
  }
  is_timed_out_ = true;
  context_.TryCancel();
  queue_.Next(&tag, &is_ok);
  return false;
}

// While a read is under way: a held worker would else have to wait for its turn.
void Stream::say_good_bye() {
  forget_stop();
  v1::WorkerMessage message;
  message.mutable_leave();
  call_->Write(frame_of(message), this);
  void* tag = nullptr;
  bool is_ok = false;
  const gpr_timespec give_up = deadline_after(kGoodByeWait);
  for (int under_way = 2; under_way > 0; --under_way) {  // the read and the write
    if (queue_.AsyncNext(&tag, &is_ok, give_up) == grpc::CompletionQueue::GOT_EVENT) continue;
    context_.TryCancel();
    queue_.Next(&tag, &is_ok);
  }
}

Attempt<void> Stream::write(const v1::WorkerMessage& message, bool has_followers,
                            std::chrono::milliseconds wait_max) {
  return write(frame_of(message), has_followers, wait_max);
}

// Copied, because gRPC may hold on to the bytes for longer than the caller's call lasts.
Attempt<void> Stream::write_next(wire::PayloadWriter& chunks, std::chrono::milliseconds wait_max) {
  const grpc::ByteBuffer frame = frame_of_next(chunks);
  return write(frame, !chunks.is_done(), wait_max);
}

Attempt<void> Stream::write(const grpc::ByteBuffer& frame, bool has_followers,
                            std::chrono::milliseconds wait_max) {
  call_->Write(frame, write_options(has_followers), this);
  if (!wait(wait_max)) return tl::unexpected(failure());
  return {};
}

Attempt<void> Stream::read(ReceivedMessage<v1::ServerMessage>& message,
                           std::chrono::milliseconds wait_max) {
  grpc::ByteBuffer frame;
  call_->Read(&frame, this);
  if (!wait(wait_max, true)) return tl::unexpected(failure());
  if (const Status opened = message.open(frame); !opened) {
    return tl::unexpected(StreamFailure{.message = opened.error().message});
  }
  return {};
}

StreamFailure Stream::failure() {
  grpc::Status status;
  call_->Finish(&status, this);
  wait(std::chrono::seconds(10));
  is_finished_ = true;
  if (is_timed_out_) return {.message = "the server does not answer"};
  return {.may_retry = may_retry(status.error_code()),
          .is_over = status.error_code() == grpc::StatusCode::OUT_OF_RANGE,
          .message = status.error_message()};
}

void Stream::end(std::chrono::milliseconds wait_max) {
  call_->WritesDone(this);
  if (!wait(wait_max)) return;
  grpc::Status status;
  call_->Finish(&status, this);
  wait(wait_max);
  is_finished_ = true;
}

}  // namespace ballast::transport
