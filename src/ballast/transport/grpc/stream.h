#pragma once
// One stream to the server, on the worker: messages one at a time, each with a deadline.
//
// gRPC's asynchronous calls are used, driven by the calling thread, because only they can be given
// up after a time.
//
// Thread-safety: none; one thread at a time.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "ballast/base/error.h"
#include "ballast/transport/client.h"
#include "ballast/transport/grpc/frame.h"
#include "ballast/transport/grpc/messages.h"

namespace ballast::transport {

// Why a stream is of no use any more.
struct StreamFailure {
  bool may_retry = true;  // false: the server refuses this worker, or there is another of its name
  bool is_over = false;   // the training ended
  std::string message;
  std::chrono::milliseconds wait{0};  // how long the server wants to be left alone
};

template <typename T>
using Attempt = tl::expected<T, StreamFailure>;

class Stream {
 public:
  // Connects. The certificates are read anew each time, so that new ones need no restart.
  static Attempt<std::unique_ptr<Stream>> open(const ClientOptions& options);

  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // With followers, what is written may wait for them.
  Attempt<void> write(const v1::WorkerMessage& message, bool has_followers,
                      std::chrono::milliseconds wait_max);
  Attempt<void> write_next(wire::PayloadWriter& chunks, std::chrono::milliseconds wait_max);
  Attempt<void> read(ReceivedMessage<v1::ServerMessage>& message,
                     std::chrono::milliseconds wait_max);

  // From now on ClientOptions::stop is not looked at: there is a good-bye to say.
  void forget_stop() noexcept { stop_ = nullptr; }

  // Says that nothing more comes and waits until the server has heard it.
  void end(std::chrono::milliseconds wait_max);

 private:
  Stream() = default;
  Attempt<void> write(const grpc::ByteBuffer& frame, bool has_followers,
                      std::chrono::milliseconds wait_max);
  bool wait(std::chrono::milliseconds wait_max, bool is_reading = false);
  void say_good_bye();
  bool is_connected(std::chrono::milliseconds wait_max);
  bool is_stopped() const { return stop_ != nullptr && stop_->load(); }
  StreamFailure failure();

  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  const std::atomic<bool>* stop_ = nullptr;
  bool is_timed_out_ = false;
  bool is_finished_ = false;
};

}  // namespace ballast::transport
