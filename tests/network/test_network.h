#pragma once
// That server on loopback, and a worker without manners.

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ballast/transport/client.h"
#include "ballast/transport/grpc/messages.h"
#include "ballast/transport/server.h"
#include "ballast/wire/limits.h"
#include "proto/ballast/v1/parameter_server.grpc.pb.h"
#include "tests/network/test_setting.h"

namespace ballast::transport {

inline constexpr std::uint64_t kTestSchema = 0x1234'5678'9ABC'DEF0;

inline NetworkServer start_server(const TestSetting& setting) {
  NetworkServerOptions options = setting.network;
  options.run = "test-run";
  options.schema_hash = kTestSchema;
  return NetworkServer::start(options, make_server(setting), setting.exchange).value();
}

inline std::string address_of(const NetworkServer& server) {
  return "127.0.0.1:" + std::to_string(server.port());
}

inline ClientOptions client_options(const NetworkServer& server, const TestSetting& setting,
                                    const std::string& name) {
  return {.server = address_of(server),
          .name = name,
          .schema_hash = kTestSchema,
          .dim = setting.dim,
          .statistic_count = setting.statistic_count,
          .back_off_min = std::chrono::milliseconds(20),
          .back_off_max = std::chrono::milliseconds(200),
          .patience = std::chrono::seconds(5),
          .seed = 1};
}

// What a copy of the server's state says.
struct Seen {
  std::uint64_t version = 0;
  std::uint64_t accepted_count = 0;
  Values model;
  std::vector<server::WorkerRecord> workers;
  double heaviest_share_max = 0.0;

  std::uint64_t verdicts(std::uint32_t worker, server::Verdict verdict) const {
    return workers[worker].verdicts[static_cast<std::size_t>(verdict)];
  }
};

inline Seen look(NetworkServer& server) {
  Seen seen;
  server.exchange().inspect([&](const server::ParameterServer& core) {
    seen = {.version = core.model().version,
            .accepted_count = core.accepted_count(),
            .model = *core.model().values,
            .workers = {}};
    for (std::uint32_t i = 0; i < core.worker_count(); ++i) seen.workers.push_back(core.worker(i));
    for (const server::NamedNumber& figure : core.method().figures()) {
      if (figure.name == "heaviest_share_max") seen.heaviest_share_max = figure.value;
    }
  });
  return seen;
}

// Speaks the protocol message by message, right or wrong.
class RawWorker {
 public:
  RawWorker(const NetworkServer& server, const std::string& name, bool has_gzip = false)
      : stub_(v1::ParameterServer::NewStub(
            grpc::CreateChannel(address_of(server), grpc::InsecureChannelCredentials()))) {
    if (!name.empty()) context_.AddMetadata("ballast-worker", name);
    if (has_gzip) context_.set_compression_algorithm(GRPC_COMPRESS_GZIP);
    // No test shall wait for ever.
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    stream_ = stub_->Train(&context_);
  }

  bool send(const v1::WorkerMessage& message) { return stream_->Write(message); }

  std::optional<v1::ServerMessage> receive() {
    v1::ServerMessage message;
    if (!stream_->Read(&message)) return std::nullopt;
    return message;
  }

  static v1::WorkerMessage join_message(const TestSetting& setting) {
    v1::WorkerMessage message;
    v1::Join& join = *message.mutable_join();
    join.set_protocol(wire::kProtocolVersion);
    join.set_schema_hash(kTestSchema);
    join.set_dim(setting.dim);
    join.set_statistic_count(setting.statistic_count);
    join.set_is_fresh(true);
    return message;
  }

  // Joins and reads the model; its header, or none if the server closed the stream.
  std::optional<v1::ModelHeader> join(const TestSetting& setting) {
    send(join_message(setting));
    return read_model(setting);
  }

  std::optional<v1::ModelHeader> read_model(const TestSetting& setting) {
    const auto first = receive();
    if (!first || !first->has_model()) return std::nullopt;
    for (std::size_t left = setting.dim; left > 0;) {
      const auto chunk = receive();
      if (!chunk || !chunk->has_chunk()) return std::nullopt;
      left -= chunk->chunk().values().size() / sizeof(float);
    }
    return first->model();
  }

  bool send_header(const std::string& ticket) {
    v1::WorkerMessage message;
    message.mutable_update()->set_ticket(ticket);
    return send(message);
  }

  bool send_chunk(const wire::Chunk& chunk) {
    v1::WorkerMessage message;
    to_message(chunk, *message.mutable_chunk());
    return send(message);
  }

  bool send_update(const std::string& ticket, const Values& values) {
    if (!send_header(ticket)) return false;
    wire::PayloadWriter chunks(values, {}, wire::Encoding::kFloat32);
    while (!chunks.is_done()) {
      if (!send_chunk(chunks.next())) return false;
    }
    return true;
  }

  std::optional<server::Verdict> read_verdict() {
    const auto message = receive();
    if (!message || !message->has_verdict()) return std::nullopt;
    return static_cast<server::Verdict>(message->verdict().verdict());
  }

  // Reads what is left and returns how the server ended the stream.
  grpc::Status finish() {
    while (receive()) continue;
    return stream_->Finish();
  }

  void vanish() { context_.TryCancel(); }

 private:
  std::unique_ptr<v1::ParameterServer::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::ServerMessage>> stream_;
};

}  // namespace ballast::transport
