// What a worker can do wrong, by accident or on purpose. Whatever it is, the model does not move
// and an honest worker is served afterwards.

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "ballast/wire/crc32c.h"
#include "tests/network/test_network.h"

namespace ballast::transport {
namespace {

using grpc::StatusCode;
using server::Verdict;
using std::chrono::milliseconds;

class Hostile : public testing::Test {
 protected:
  // Every attack below comes from w0; w1 is honest.
  void expect_all_is_well() {
    EXPECT_EQ(look(server).accepted_count, 0u);
    EXPECT_EQ(look(server).version, 0u);
    Client honest = Client::make(client_options(server, setting, "w1")).value();
    ASSERT_TRUE(honest.join());
    const auto pushed = honest.push(Values(setting.dim, 1.0f));
    ASSERT_TRUE(pushed) << pushed.error().message;
    EXPECT_EQ(pushed->verdict, Verdict::kAccepted);
    EXPECT_EQ(look(server).version, 1u);
  }

  std::uint64_t tally(Verdict verdict) { return look(server).verdicts(0, verdict); }

  // Sends chunks after a good header and returns how the server ended the stream.
  grpc::Status send_chunks(const std::vector<wire::Chunk>& chunks) {
    RawWorker worker(server, "w0");
    const auto header = worker.join(setting);
    EXPECT_TRUE(header);
    worker.send_header(header->ticket());
    for (const wire::Chunk& chunk : chunks) worker.send_chunk(chunk);
    return worker.finish();
  }

  void expect_malformed(const std::vector<wire::Chunk>& chunks, const std::string& what) {
    const grpc::Status status = send_chunks(chunks);
    EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_NE(status.error_message().find(what), std::string::npos) << status.error_message();
    EXPECT_EQ(tally(Verdict::kMalformed), 1u);
    expect_all_is_well();
  }

  static wire::Chunk chunk(std::uint64_t offset, std::span<const float> values) {
    const auto bytes = std::as_bytes(values);
    return {.offset = offset, .checksum = wire::crc32c(bytes), .bytes = bytes};
  }

  static NetworkLimits hasty_limits() {
    NetworkLimits limits;
    limits.handshake_max = kSlowness * milliseconds(500);
    limits.stall_grace = kSlowness * milliseconds(500);
    limits.bytes_per_second_min = std::uint64_t{1} << 30;
    return limits;
  }

  TestSetting setting{.dim = 600'000, .network = {.limits = hasty_limits()}};
  NetworkServer server = start_server(setting);
  const Values ones = Values(setting.dim, 1.0f);
  const std::size_t full_chunk = wire::kChunkBytesMax / sizeof(float);
};

TEST_F(Hostile, AnotherNetworkOrProtocolIsRefused) {
  for (int kind = 0; kind < 5; ++kind) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    v1::WorkerMessage message = RawWorker::join_message(setting);
    v1::Join& join = *message.mutable_join();
    if (kind == 0) join.set_schema_hash(kTestSchema + 1);
    if (kind == 1) join.set_dim(setting.dim + 1);
    if (kind == 2) join.set_statistic_count(1);
    if (kind == 3) join.set_protocol(2);
    if (kind == 4) join.set_model_encoding(static_cast<v1::Encoding>(77));
    RawWorker worker(server, "w0");
    worker.send(message);
    EXPECT_EQ(worker.finish().error_code(), StatusCode::FAILED_PRECONDITION);
  }
  EXPECT_EQ(server.counts().joins_refused, 5u);
  expect_all_is_well();
}

TEST_F(Hostile, UnknownAndNamelessWorkersAreRefused) {
  for (const std::string name : {"w9", "", "w0 "}) {
    RawWorker worker(server, name);
    EXPECT_EQ(worker.finish().error_code(), StatusCode::PERMISSION_DENIED);
  }
  EXPECT_EQ(server.counts().streams_refused, 3u);
  expect_all_is_well();
}

TEST_F(Hostile, AForgedTicketEndsTheStream) {
  RawWorker worker(server, "w0");
  std::string ticket = worker.join(setting)->ticket();
  ticket[20] = static_cast<char>(ticket[20] ^ 1);
  worker.send_header(ticket);
  EXPECT_EQ(worker.finish().error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(tally(Verdict::kForged), 1u);
  RawWorker shorter(server, "w0");
  shorter.join(setting);
  shorter.send_header("");
  EXPECT_EQ(shorter.finish().error_code(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(tally(Verdict::kForged), 2u);
  expect_all_is_well();
}

TEST_F(Hostile, TicketsOfOthersAreRefused) {
  RawWorker worker(server, "w0"), other(server, "w2");
  ASSERT_TRUE(worker.join(setting));
  const std::string ticket = other.join(setting)->ticket();
  ASSERT_TRUE(worker.send_update(ticket, ones));
  EXPECT_EQ(worker.read_verdict(), Verdict::kUnasked);
  ASSERT_TRUE(worker.read_model(setting));
  expect_all_is_well();
}

TEST_F(Hostile, AReplayedUpdateCountsOnce) {
  RawWorker worker(server, "w0");
  const std::string ticket = worker.join(setting)->ticket();
  ASSERT_TRUE(worker.send_update(ticket, ones));
  EXPECT_EQ(worker.read_verdict(), Verdict::kAccepted);
  ASSERT_TRUE(worker.read_model(setting));
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(worker.send_update(ticket, ones));
    EXPECT_EQ(worker.read_verdict(), Verdict::kReplayed);
    ASSERT_TRUE(worker.read_model(setting));
  }
  EXPECT_EQ(look(server).accepted_count, 1u);
  EXPECT_EQ(look(server).version, 1u);
}

TEST_F(Hostile, WhatIsNotFiniteIsRefusedAndTheWorkerMayTryAgain) {
  RawWorker worker(server, "w0");
  auto header = worker.join(setting);
  for (const float poison : {std::nanf(""), HUGE_VALF, -HUGE_VALF}) {
    Values values = ones;
    values[setting.dim - 1] = poison;
    ASSERT_TRUE(worker.send_update(header->ticket(), values));
    EXPECT_EQ(worker.read_verdict(), Verdict::kNotFinite);
    header = worker.read_model(setting);
    ASSERT_TRUE(header);
  }
  expect_all_is_well();
}

TEST_F(Hostile, ABadChecksumIsRefused) {
  wire::Chunk bad = chunk(0, std::span(ones).first(100));
  bad.checksum ^= 1u;
  expect_malformed({bad}, "checksum");
}

TEST_F(Hostile, AChunkThatIsTooLargeIsRefused) {
  expect_malformed({chunk(0, std::span(ones).first(full_chunk + 1))}, "bytes; it must be");
}

TEST_F(Hostile, AMessageThatIsTooLargeIsRefused) {
  const grpc::Status status = send_chunks({chunk(0, std::span(ones).first(full_chunk + 2000))});
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  expect_all_is_well();
}

TEST_F(Hostile, AChunkPastTheEndIsRefused) {
  const auto part = std::span(ones).first(full_chunk);
  expect_malformed({chunk(0, part), chunk(full_chunk, part), chunk(2 * full_chunk, part)},
                   "the payload at 600000");
}

TEST_F(Hostile, OverlappingChunksAreRefused) {
  const auto part = std::span(ones).first(1000);
  expect_malformed({chunk(0, part), chunk(500, part)}, "begins at value 500 instead of 1000");
}

TEST_F(Hostile, AChunkWhoseEndOverflowsIsRefused) {
  expect_malformed({chunk(~std::uint64_t{0} - 9, std::span(ones).first(10))}, "begins at value");
}

TEST_F(Hostile, MessagesOutOfTurnEndTheStream) {
  for (int kind = 0; kind < 4; ++kind) {
    SCOPED_TRACE("kind " + std::to_string(kind));
    RawWorker worker(server, "w0");
    if (kind > 0) worker.join(setting);
    v1::WorkerMessage message;
    if (kind == 0) message.mutable_leave();
    if (kind == 1) message = RawWorker::join_message(setting);
    if (kind == 2) to_message(chunk(0, std::span(ones).first(1)), *message.mutable_chunk());
    worker.send(message);  // kind 3: nothing at all
    EXPECT_EQ(worker.finish().error_code(), StatusCode::INVALID_ARGUMENT);
  }
  expect_all_is_well();
}

TEST_F(Hostile, AStalledSenderIsDropped) {
  RawWorker silent(server, "w2");  // never joins
  RawWorker worker(server, "w0");
  const auto header = worker.join(setting);
  worker.send_header(header->ticket());
  worker.send_chunk(chunk(0, std::span(ones).first(10)));
  EXPECT_EQ(worker.finish().error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(silent.finish().error_code(), StatusCode::DEADLINE_EXCEEDED);
  EXPECT_EQ(server.counts().streams_stalled, 2u);
  expect_all_is_well();
}

// The model is larger than what gRPC takes in without anybody reading.
TEST_F(Hostile, AWorkerThatDoesNotReadIsDropped) {
  setting.dim = 20'000'000;
  server = start_server(setting);
  RawWorker worker(server, "w0");
  worker.send(RawWorker::join_message(setting));
  for (int i = 0; i < 300 * kSlowness && server.counts().streams_stalled == 0; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(server.counts().streams_stalled, 1u);
  EXPECT_FALSE(worker.finish().ok());
}

TEST_F(Hostile, AWorkerThatVanishesInTheMiddleComesBack) {
  for (int i = 0; i < 3; ++i) {
    RawWorker worker(server, "w0");
    const auto header = worker.join(setting);
    ASSERT_TRUE(header);
    worker.send_header(header->ticket());
    worker.send_chunk(chunk(0, std::span(ones).first(1000)));
    worker.vanish();
  }
  Client client = Client::make(client_options(server, setting, "w0")).value();
  ASSERT_TRUE(client.join());
  EXPECT_EQ(client.push(ones).value().verdict, Verdict::kAccepted);
}

TEST_F(Hostile, ANewerStreamReplacesTheOlderOne) {
  RawWorker older(server, "w0");
  const auto old_header = older.join(setting);
  RawWorker newer(server, "w0");
  const auto header = newer.join(setting);
  ASSERT_TRUE(old_header && header);
  EXPECT_EQ(older.finish().error_code(), StatusCode::ABORTED);
  ASSERT_TRUE(newer.send_update(header->ticket(), ones));
  EXPECT_EQ(newer.read_verdict(), Verdict::kAccepted);
}

TEST_F(Hostile, FiftyStreamsOfOneNameAreOneWorker) {
  std::vector<std::unique_ptr<RawWorker>> workers;
  for (int i = 0; i < 50; ++i) {
    workers.push_back(std::make_unique<RawWorker>(server, "w0"));
    workers.back()->send(RawWorker::join_message(setting));
  }
  // Joins of different connections may overtake each other, so any one of them may be the last. The
  // server ends all others: replaced, cut off in the middle of a model, or turned away where too
  // many wait for their end at the same time.
  std::map<StatusCode, int> endings;
  for (int i = 0; i < 49; ++i) ++endings[workers[std::size_t(i)]->finish().error_code()];
  EXPECT_GT(endings[StatusCode::ABORTED] + endings[StatusCode::CANCELLED], 0);
  EXPECT_GE(endings[StatusCode::ABORTED] + endings[StatusCode::CANCELLED] +
                endings[StatusCode::RESOURCE_EXHAUSTED],
            48)
      << testing::PrintToString(endings);
  workers.clear();
  expect_all_is_well();
}

TEST_F(Hostile, CompressedMessagesAreRefusedUnread) {
  RawWorker worker(server, "w0", true);
  v1::WorkerMessage message;
  message.mutable_chunk()->set_values(std::string(500'000, '\0'));
  worker.send(message);
  EXPECT_EQ(worker.finish().error_code(), StatusCode::UNIMPLEMENTED);
  expect_all_is_well();
}

TEST_F(Hostile, SilentWorkersAreEvictedAndMayJoinAgain) {
  setting.silence_max = kSlowness * milliseconds(500);
  server = start_server(setting);
  RawWorker worker(server, "w0");
  ASSERT_TRUE(worker.join(setting));
  const grpc::Status status = worker.finish();
  EXPECT_NE(status.error_message().find("silent"), std::string::npos);
  RawWorker again(server, "w0");
  EXPECT_TRUE(again.join(setting));
}

}  // namespace
}  // namespace ballast::transport
