#pragma once
// One stream to the server, on the worker: messages one at a time, each with a deadline.
//
// gRPC's asynchronous calls are used, driven by the calling thread, because only they can be given
// up after a time.
//
// Thread-safety: none; one thread at a time.

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "ballast/base/error.h"
#include "ballast/transport/client.h"
#include "ballast/transport/grpc/messages.h"
#include "proto/ballast/v1/parameter_server.grpc.pb.h"

namespace ballast::transport {

// Why a stream is of no use any more.
struct Trouble {
  bool may_retry = true;  // false: the server refuses this worker, or there is another of its name
  std::string message;
  std::chrono::milliseconds wait{0};  // how long the server wants to be left alone
};

template <typename T>
using Attempt = tl::expected<T, Trouble>;

class Stream {
 public:
  // Connects. The certificates are read anew each time, so that new ones need no restart.
  static Attempt<std::unique_ptr<Stream>> open(const ClientOptions& options);

  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // With followers, the message may wait for them.
  Attempt<void> write(const v1::WorkerMessage& message, std::chrono::milliseconds wait_max,
                      bool has_followers = false);
  Attempt<void> read(v1::ServerMessage& message, std::chrono::milliseconds wait_max);

  // From now on ClientOptions::stop is not looked at: there is a good-bye to say.
  void forget_stop() noexcept { stop_ = nullptr; }

  // Says that nothing more comes and waits until the server has heard it.
  void end(std::chrono::milliseconds wait_max);

 private:
  Stream() = default;
  bool wait(std::chrono::milliseconds wait_max);
  bool is_stopped() const { return stop_ != nullptr && stop_->load(); }
  Trouble trouble();

  std::shared_ptr<grpc::Channel> channel_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::ClientAsyncReaderWriter<v1::WorkerMessage, v1::ServerMessage>> call_;
  const std::atomic<bool>* stop_ = nullptr;
  bool is_timed_out_ = false;
  bool is_finished_ = false;
};

}  // namespace ballast::transport
