#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/ballast/bench_certificates.h"
#include "apps/ballast/bench_measurement.h"
#include "apps/ballast/bench_serve.h"
#include "ballast/service/plan.h"
#include "ballast/transport/grpc/credentials.h"
#include "ballast/transport/grpc/flow.h"
#include "ballast/transport/grpc/silence.h"
#include "ballast/wire/limits.h"

namespace ballast::apps {
namespace {

using Files = std::optional<transport::TlsFiles>;

// The next message of `values` from `sent` on, which it moves. Its bytes stay where they are.
grpc::ByteBuffer next_message(const std::vector<float>& values, std::size_t& sent) {
  const auto bytes = std::as_bytes(std::span(values)).subspan(sent);
  const std::size_t size = std::min(bytes.size(), wire::kChunkBytes);
  sent += size;
  const grpc::Slice slice(
      const_cast<std::byte*>(bytes.data()), size, [](void*) {}, nullptr);
  return {&slice, 1};
}

// Answers as many bytes as the model has with the model.
class Echo final : public grpc::ServerGenericBidiReactor {
 public:
  explicit Echo(const std::vector<float>& model) : model_(model) { StartRead(&incoming_); }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    received_ += incoming_.Length();
    if (received_ < byte_count()) return StartRead(&incoming_);
    received_ = sent_ = 0;
    write_next();
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    if (sent_ < byte_count()) return write_next();
    StartRead(&incoming_);
  }
  void OnDone() override { delete this; }

 private:
  std::size_t byte_count() const { return model_.size() * sizeof(float); }
  void write_next() {
    outgoing_ = next_message(model_, sent_);
    StartWrite(&outgoing_, transport::write_options(sent_ < byte_count()));
  }

  const std::vector<float>& model_;
  grpc::ByteBuffer incoming_, outgoing_;
  std::size_t received_ = 0, sent_ = 0;
};

class EchoService final : public grpc::CallbackGenericService {
 public:
  explicit EchoService(std::size_t dim) : model_(dim, 1e-3f) {}
  grpc::ServerGenericBidiReactor* CreateReactor(grpc::GenericCallbackServerContext*) override {
    return new Echo(model_);
  }

 private:
  std::vector<float> model_;
};

Status keep_echoing(std::size_t dim, const Files& files, Floor& floor) {
  transport::silence_grpc();
  EchoService service(dim);
  std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
  if (files) {
    BALLAST_TRY(credentials, transport::make_server_credentials(*files));
  }
  grpc::ServerBuilder builder;
  for (const auto& [name, value] : transport::flow_arguments()) {
    builder.AddChannelArgument(name, value);
  }
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", credentials, &port);
  builder.RegisterCallbackGenericService(&service);
  const auto server = builder.BuildAndStart();
  if (!server) return io_error("cannot listen on loopback");
  floor.port = static_cast<std::uint16_t>(port);
  wait_for_stop(floor);
  server->Shutdown(std::chrono::system_clock::now());
  return {};
}

// One call of the echo, each step of which waits for the one before.
class Caller {
 public:
  explicit Caller(const std::shared_ptr<grpc::Channel>& channel) : stub_(channel) {
    call_ = stub_.PrepareCall(&context_, "/ballast.bench/Echo", &queue_);
    call_->StartCall(nullptr);
    is_open_ = wait();
  }

  bool turn(const std::vector<float>& update) {
    const std::size_t size = update.size() * sizeof(float);
    for (std::size_t sent = 0; is_open_ && sent < size;) {
      const grpc::ByteBuffer message = next_message(update, sent);
      call_->Write(message, transport::write_options(sent < size), nullptr);
      is_open_ = wait();
    }
    for (std::size_t received = 0; is_open_ && received < size;) {
      grpc::ByteBuffer message;
      call_->Read(&message, nullptr);
      is_open_ = wait();
      received += message.Length();
    }
    return is_open_;
  }

 private:
  bool wait() {
    void* tag = nullptr;
    bool is_ok = false;
    return queue_.Next(&tag, &is_ok) && is_ok;
  }

  grpc::GenericStub stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool is_open_ = false;
};

Status keep_calling(std::size_t dim, const Files& files, Floor& floor) {
  transport::silence_grpc();
  std::shared_ptr<grpc::ChannelCredentials> credentials = grpc::InsecureChannelCredentials();
  if (files) {
    BALLAST_TRY(credentials, transport::make_client_credentials(*files));
  }
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  for (const auto& [name, value] : transport::flow_arguments()) arguments.SetInt(name, value);
  Caller caller(
      grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(floor.port), credentials, arguments));
  const std::vector<float> update(dim, 1e-3f);
  for (bool is_first = true; !floor.stop; is_first = false) {
    if (!caller.turn(update)) return io_error("a call broke");
    floor.note_update(is_first);
  }
  return {};
}

}  // namespace

Result<ServeBenchResult> bench_grpc_copy(const ServeBenchOptions& options) {
  BALLAST_TRY(const auto certificates, make_certificates(options));
  const std::vector<std::string> names = service::default_names(options.workers);
  const auto serve = [&](Floor& floor) {
    return keep_echoing(options.dim, files_of(certificates, BenchCertificates::kServer), floor);
  };
  const auto work = [&](std::size_t worker, Floor& floor) {
    return keep_calling(options.dim, files_of(certificates, names[worker]), floor);
  };
  return Measurement(options, serve, work).run();
}

}  // namespace ballast::apps
