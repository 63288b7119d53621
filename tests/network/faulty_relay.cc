#include "tests/network/faulty_relay.h"

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "ballast/base/check.h"
#include "ballast/base/rng.h"
#include "ballast/transport/grpc/credentials.h"
#include "ballast/transport/grpc/deadline.h"
#include "ballast/transport/grpc/handoff.h"
#include "ballast/wire/limits.h"
#include "proto/ballast/v1/parameter_server.grpc.pb.h"

namespace ballast::transport {
namespace {

using std::chrono::milliseconds;

struct Tally {
  std::atomic<std::uint64_t> streams = 0, messages = 0, dropped = 0, delayed = 0, duplicated = 0;
};

struct Fate {
  int copies = 1;
  milliseconds delay{0};
};

class Dice {
 public:
  Dice(const Faults& faults, RngKey key, Tally& tally)
      : faults_(faults), rng_(key), tally_(tally) {}

  Fate draw() {
    ++tally_.messages;
    const double place = rng_.uniform();
    const double length = rng_.uniform();
    if (place < faults_.drop) {
      ++tally_.dropped;
      return {.copies = 0};
    }
    if (place < faults_.drop + faults_.delay) {
      ++tally_.delayed;
      const auto delay = length * faults_.delay_max;
      return {.delay = std::chrono::duration_cast<milliseconds>(delay) + milliseconds(1)};
    }
    if (place < faults_.drop + faults_.delay + faults_.duplicate) {
      ++tally_.duplicated;
      return {.copies = 2};
    }
    return {};
  }

 private:
  Faults faults_;
  Rng rng_;
  Tally& tally_;
};

grpc::ChannelArguments channel_arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(wire::kMessageBytesMax);
  return arguments;
}

using FrontReactor = grpc::ServerBidiReactor<v1::WorkerMessage, v1::ServerMessage>;
using BackReactor = grpc::ClientBidiReactor<v1::WorkerMessage, v1::ServerMessage>;

// One stream: the front looks like the server to a client, the back like a client to the server.
// Each direction takes one message, passes it on as often as its fate says, and takes the next.
//
// The way down, from server to client, always ends with a read that fails at the back, whatever
// breaks; after that nothing is started any more but the front's Finish().
//
// Thread-safety: every reaction works behind mutex_.
class RelayedStream final : public std::enable_shared_from_this<RelayedStream> {
 public:
  // `over` is given when nothing of the stream is left to do.
  RelayedStream(const RelayOptions& options, Tally& tally, std::uint64_t number, Handoff& over)
      : options_(options),
        over_(over),
        up_dice_(options.to_server, {.seed = options.seed, .owner = 0, .step = number}, tally),
        down_dice_(options.to_worker, {.seed = options.seed, .owner = 1, .step = number}, tally) {}

  // Requires: a shared_ptr owns this.
  FrontReactor* start(const grpc::CallbackServerContext& context) {
    const std::lock_guard lock(mutex_);
    self_ = shared_from_this();
    const auto name = context.client_metadata().find(kNameHeader);
    if (name != context.client_metadata().end()) {
      back_context_.AddMetadata(kNameHeader, {name->second.data(), name->second.size()});
    }
    stub_ = v1::ParameterServer::NewStub(grpc::CreateCustomChannel(
        options_.server, grpc::InsecureChannelCredentials(), channel_arguments()));
    stub_->async()->Train(&back_context_, &back_);
    back_.AddHold();  // the way up starts writes from the front's reactions
    back_.begun.give();
    front_.begun.give();
    back_.StartRead(&down_);
    back_.StartCall();
    front_.StartRead(&up_);
    return &front_;
  }

 private:
  struct Front final : FrontReactor {
    explicit Front(RelayedStream& owner) : stream(owner) {}
    void OnReadDone(bool ok) override { self().on_up_read(ok); }
    void OnWriteDone(bool ok) override { self().on_down_written(ok); }
    void OnCancel() override { self().on_cancel(); }
    void OnDone() override { self().on_done(); }
    RelayedStream& self() {
      begun.take();
      return stream;
    }
    RelayedStream& stream;
    Handoff begun;
  };
  struct Back final : BackReactor {
    explicit Back(RelayedStream& owner) : stream(owner) {}
    void OnReadDone(bool ok) override { self().on_down_read(ok); }
    void OnWriteDone(bool ok) override { self().on_up_written(ok); }
    void OnDone(const grpc::Status& status) override { self().on_server_done(status); }
    RelayedStream& self() {
      begun.take();
      return stream;
    }
    RelayedStream& stream;
    Handoff begun;
  };

  void on_cancel() {
    const std::lock_guard lock(mutex_);
    back_context_.TryCancel();
  }

  void on_server_done(const grpc::Status& status) {
    const std::lock_guard lock(mutex_);
    front_.Finish(status);
  }

  void on_done() {
    std::shared_ptr<RelayedStream> self;
    {
      const std::lock_guard lock(mutex_);
      self.swap(self_);
    }
    over_.give();
  }

  void on_up_read(bool ok) {
    const std::lock_guard lock(mutex_);
    if (!ok) {
      if (!is_over_) back_.StartWritesDone();
      return;
    }
    const Fate fate = up_dice_.draw();
    up_copies_ = fate.copies;
    if (options_.edit) options_.edit(up_);
    after(fate.delay, up_delay_, &RelayedStream::pass_up);
  }

  // A write that failed is the server's end of the stream, which the way down hears of.
  void on_up_written(bool ok) {
    const std::lock_guard lock(mutex_);
    if (ok) pass_up();
  }

  // Requires: mutex_ is held, as for what follows.
  void pass_up() {
    if (is_over_) return;
    if (up_copies_-- > 0) {
      back_.StartWrite(&up_);
    } else {
      front_.StartRead(&up_);
    }
  }

  void on_down_read(bool ok) {
    const std::lock_guard lock(mutex_);
    if (!ok) {
      is_over_ = true;
      return back_.RemoveHold();
    }
    const Fate fate = down_dice_.draw();
    down_copies_ = fate.copies;
    after(fate.delay, down_delay_, &RelayedStream::pass_down);
  }

  void on_down_written(bool ok) {
    const std::lock_guard lock(mutex_);
    if (!ok) {
      back_context_.TryCancel();
      down_copies_ = 0;
    }
    pass_down();
  }

  void pass_down() {
    if (down_copies_-- > 0) {
      front_.StartWrite(&down_);
    } else {
      back_.StartRead(&down_);
    }
  }

  // An alarm keeps what it calls until it is set again, so the call itself must not own us.
  struct Delay {
    grpc::Alarm alarm;
    Handoff set;
    std::shared_ptr<RelayedStream> stream;  // while it runs
    void (RelayedStream::*then)() = nullptr;
  };

  void after(milliseconds time, Delay& delay, void (RelayedStream::*then)()) {
    if (time == milliseconds(0)) return (this->*then)();
    delay.stream = shared_from_this();
    delay.then = then;
    delay.set.give();
    delay.alarm.Set(deadline_after(time), [&delay](bool) {
      delay.set.take();
      const std::shared_ptr<RelayedStream> stream = std::move(delay.stream);
      const std::lock_guard lock(stream->mutex_);
      ((*stream).*delay.then)();
    });
  }

  const RelayOptions& options_;
  Handoff& over_;
  std::shared_ptr<RelayedStream> self_;  // until the front is done
  std::mutex mutex_;
  std::unique_ptr<v1::ParameterServer::Stub> stub_;
  grpc::ClientContext back_context_;
  Front front_{*this};
  Back back_{*this};

  Dice up_dice_;
  v1::WorkerMessage up_;
  int up_copies_ = 0;
  Delay up_delay_;

  Dice down_dice_;
  v1::ServerMessage down_;
  int down_copies_ = 0;
  Delay down_delay_;

  bool is_over_ = false;  // the server has ended the stream, and the way up starts nothing more
};

}  // namespace

class FaultyRelay::Body final : public v1::ParameterServer::CallbackService {
 public:
  explicit Body(RelayOptions options) : options_(std::move(options)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.SetMaxReceiveMessageSize(wire::kMessageBytesMax);
    builder.RegisterService(this);
    begun_.give();
    server_ = builder.BuildAndStart();
    BALLAST_CHECK(server_ != nullptr, "a relay can listen on loopback");
  }
  ~Body() override {
    server_->Shutdown(deadline_after(milliseconds(0)));
    over_.take();
  }

  FrontReactor* Train(grpc::CallbackServerContext* context) override {
    const Reaction reaction(begun_, over_);
    return std::make_shared<RelayedStream>(options_, tally_, tally_.streams++, over_)
        ->start(*context);
  }

  int port() const { return port_; }
  const Tally& tally() const { return tally_; }

 private:
  Handoff begun_;  // from the start to each stream
  Handoff over_;   // from each stream to the end
  RelayOptions options_;
  Tally tally_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

FaultyRelay::FaultyRelay(RelayOptions options)
    : body_(std::make_unique<Body>(std::move(options))) {}
FaultyRelay::~FaultyRelay() = default;

std::string FaultyRelay::address() const { return "127.0.0.1:" + std::to_string(body_->port()); }

RelayCounts FaultyRelay::counts() const {
  const Tally& tally = body_->tally();
  return {.streams = tally.streams,
          .messages = tally.messages,
          .dropped = tally.dropped,
          .delayed = tally.delayed,
          .duplicated = tally.duplicated};
}

}  // namespace ballast::transport
