#include "tests/network/malformed_attacker.h"

#include <zlib.h>

#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "ballast/base/check.h"
#include "ballast/transport/grpc/messages.h"
#include "ballast/wire/crc32c.h"
#include "ballast/wire/limits.h"
#include "ballast/wire/ticket.h"

namespace ballast::transport {

using server::Verdict;

namespace {

// 64 MiB of zeros, packed as the encoding `deflate` wants it.
std::string make_bomb() {
  const std::string zeros(std::size_t{64} << 20, '\0');
  uLongf size = compressBound(zeros.size());
  std::string bomb(size, '\0');
  const int code = compress(reinterpret_cast<Bytef*>(bomb.data()), &size,
                            reinterpret_cast<const Bytef*>(zeros.data()), zeros.size());
  BALLAST_CHECK(code == Z_OK, "zeros can be packed");
  bomb.resize(size);
  return bomb;
}

}  // namespace

void AttackCounts::add(const AttackCounts& other) {
  sent += other.sent;
  for (std::size_t i = 0; i < verdicts.size(); ++i) verdicts[i] += other.verdicts[i];
  joins_refused += other.joins_refused;
  streams_refused += other.streams_refused;
  dropped += other.dropped;
  unpunished += other.unpunished;
  connections += other.connections;
}

Attacker::Attacker(const AttackerOptions& options) : options_(options), rng_(options.seed) {}

void Attacker::attack() {
  // The two that cost megabytes are rare.
  static constexpr std::array<std::pair<Kind, unsigned>, 16> kKinds = {
      {{&Attacker::send_random_bytes, 8},
       {&Attacker::send_random_bytes_after_joining, 8},
       {&Attacker::send_half_a_message, 8},
       {&Attacker::send_less_than_announced, 8},
       {&Attacker::send_too_much, 1},
       {&Attacker::send_a_bomb, 2},
       {&Attacker::send_a_wrong_join, 8},
       {&Attacker::send_a_forged_ticket, 8},
       {&Attacker::send_an_old_ticket, 8},
       {&Attacker::send_a_wrong_shape, 8},
       {&Attacker::send_a_wrong_checksum, 8},
       {&Attacker::send_what_is_not_finite, 8},
       {&Attacker::speak_out_of_turn, 8},
       {&Attacker::speak_out_of_turn_after_joining, 8},
       {&Attacker::send_bad_metadata, 8},
       {&Attacker::send_bad_http2, 4}}};
  unsigned total = 0;
  for (const auto& [kind, weight] : kKinds) total += weight;
  std::uint64_t place = rng_.below(total);
  for (const auto& [kind, weight] : kKinds) {
    if (place < weight) {
      ++counts_.sent;
      return (this->*kind)();
    }
    place -= weight;
  }
}

void Attacker::open(const Http2Connection::Fields& fields) {
  if (connection_ && connection_->is_alive() && connection_->open(fields)) return;
  connection_ = std::make_unique<Http2Connection>(options_.port);
  ++counts_.connections;
  connection_->open(fields);
}

v1::WorkerMessage Attacker::join_message() const {
  v1::WorkerMessage message;
  v1::Join& join = *message.mutable_join();
  join.set_protocol(wire::kProtocolVersion);
  join.set_schema_hash(options_.schema_hash);
  join.set_dim(options_.dim);
  return message;
}

std::string Attacker::join() {
  open_as_worker();
  send(join_message());
  if (!read_model()) ++counts_.unpunished;
  return ticket_;
}

// What has been answered on this connection came after the server's limits.
void Attacker::acknowledge() {
  join();
  connection_->reset();
}

bool Attacker::read_model() {
  const auto text = connection_->read_message();
  v1::ServerMessage message;
  if (!text || !message.ParseFromString(*text) || !message.has_model()) return false;
  ticket_ = message.model().ticket();
  return connection_->read_message().has_value();  // small enough for one chunk
}

bool Attacker::send(const v1::WorkerMessage& message) {
  return connection_->send_message(message.SerializeAsString());
}

void Attacker::send_header(const std::string& ticket) {
  v1::WorkerMessage message;
  message.mutable_update()->set_ticket(ticket);
  send(message);
}

v1::WorkerMessage Attacker::chunk_message(std::uint64_t offset, std::string bytes) const {
  v1::WorkerMessage message;
  v1::Chunk& chunk = *message.mutable_chunk();
  chunk.set_offset(offset);
  chunk.set_checksum(wire::crc32c(bytes_of(bytes)));
  chunk.set_values(std::move(bytes));
  return message;
}

std::string Attacker::random_bytes(std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng_.next_u32());
  return bytes;
}

void Attacker::expect_end(std::uint64_t& count) {
  ++(connection_->wait_for_end() ? count : counts_.unpunished);
}

void Attacker::expect_verdict(Verdict verdict) {
  const auto text = connection_->read_message();
  v1::ServerMessage message;
  const bool is_right = text && message.ParseFromString(*text) && message.has_verdict() &&
                        message.verdict().verdict() == static_cast<std::uint32_t>(verdict);
  ++(is_right && read_model() ? tally(verdict) : counts_.unpunished);
  connection_->reset();
}

void Attacker::send_random_bytes() {
  open_as_worker();
  connection_->send_message(random_bytes(rng_.below(300)));
  expect_end(counts_.dropped);
}

void Attacker::send_random_bytes_after_joining() {
  join();
  v1::WorkerMessage message;
  std::string bytes;
  do {  // until it is not by chance a message in turn
    bytes = random_bytes(rng_.below(100));
  } while (message.ParseFromString(bytes) && (message.has_leave() || message.has_update()));
  connection_->send_message(bytes);
  expect_end(tally(Verdict::kMalformed));
}

void Attacker::send_half_a_message() {
  open_as_worker();
  const std::string whole = join_message().SerializeAsString();
  connection_->send_message(whole.substr(0, rng_.below(whole.size())));
  expect_end(counts_.dropped);
}

void Attacker::send_less_than_announced() {
  open_as_worker();
  const std::string bytes = join_message().SerializeAsString();
  const std::uint64_t more = 1 + rng_.below(rng_.below(2) == 0 ? 100 : 0xFFFF'0000);
  connection_->send_data(
      Http2Connection::prefix(static_cast<std::uint32_t>(bytes.size() + more)) + bytes, true);
  expect_end(counts_.dropped);
}

void Attacker::send_too_much() {
  join();
  const std::size_t size = wire::kMessageBytesMax + 1 + rng_.below(100'000);
  connection_->send_message(std::string(size, 'x'));
  expect_end(counts_.dropped);
}

void Attacker::send_a_bomb() {
  static const std::string bomb = make_bomb();
  auto fields = Http2Connection::call_fields(options_.worker);
  if (rng_.below(4) > 0) fields.emplace_back("grpc-encoding", "deflate");
  open(fields);
  connection_->send_data(Http2Connection::prefix(static_cast<std::uint32_t>(bomb.size()), true) +
                         bomb);
  expect_end(counts_.dropped);
}

void Attacker::send_a_wrong_join() {
  v1::WorkerMessage message = join_message();
  v1::Join& join = *message.mutable_join();
  switch (rng_.below(5)) {
    case 0:
      join.set_protocol(static_cast<std::uint32_t>(2 + rng_.below(1000)));
      break;
    case 1:
      join.set_schema_hash(options_.schema_hash + 1 + rng_.below(1000));
      break;
    case 2:
      join.set_dim(options_.dim + 1 + rng_.below(~std::uint64_t{0} / 2));
      break;
    case 3:
      join.set_statistic_count(1 + rng_.below(~std::uint64_t{0} / 2));
      break;
    default:
      join.set_model_encoding(static_cast<v1::Encoding>(2 + rng_.below(1000)));
  }
  open_as_worker();
  send(message);
  expect_end(counts_.joins_refused);
}

void Attacker::send_a_forged_ticket() {
  std::string ticket = join();
  switch (rng_.below(3)) {
    case 0:
      ticket[rng_.below(ticket.size())] ^= static_cast<char>(1 << rng_.below(8));
      break;
    case 1:
      ticket = random_bytes(ticket.size());
      break;
    default:
      ticket = random_bytes(rng_.below(ticket.size()));
  }
  send_header(ticket);
  expect_end(tally(Verdict::kForged));
}

void Attacker::send_an_old_ticket() {
  const std::string old_ticket = join();
  connection_->reset();
  join();
  send_header(old_ticket);
  send(chunk_message(0, zeros(options_.dim)));
  expect_verdict(Verdict::kUnasked);
}

void Attacker::send_a_wrong_shape() {
  send_header(join());
  const std::uint64_t dim = options_.dim;
  switch (rng_.below(6)) {
    case 0:  // does not begin at the beginning
      send(chunk_message(1 + rng_.below(dim), zeros(1)));
      break;
    case 1:  // would end past the last number there is
      send(chunk_message(~std::uint64_t{0} - rng_.below(10), zeros(20)));
      break;
    case 2:  // goes past the end
      send(chunk_message(0, zeros(dim + 1 + rng_.below(1000))));
      break;
    case 3:  // not a whole number of values
      send(chunk_message(0, std::string(4 * dim - 1 - rng_.below(3), '\0')));
      break;
    case 4:  // nothing
      send(chunk_message(0, ""));
      break;
    default:  // overlaps
      send(chunk_message(0, zeros(dim / 2)));
      send(chunk_message(rng_.below(dim / 2), zeros(dim / 2)));
  }
  expect_end(tally(Verdict::kMalformed));
}

void Attacker::send_a_wrong_checksum() {
  send_header(join());
  v1::WorkerMessage message = chunk_message(0, zeros(options_.dim));
  message.mutable_chunk()->set_checksum(message.chunk().checksum() ^ (1u << rng_.below(32)));
  send(message);
  expect_end(tally(Verdict::kMalformed));
}

void Attacker::send_what_is_not_finite() {
  send_header(join());
  std::string bytes = zeros(options_.dim);
  using Limits = std::numeric_limits<float>;
  const std::array<float, 3> poisons = {Limits::quiet_NaN(), Limits::infinity(),
                                        -Limits::infinity()};
  const float poison = poisons[rng_.below(3)];
  std::memcpy(bytes.data() + 4 * rng_.below(options_.dim), &poison, sizeof(poison));
  send(chunk_message(0, bytes));
  expect_verdict(Verdict::kNotFinite);
}

void Attacker::speak_out_of_turn() {
  open_as_worker();
  v1::WorkerMessage message;
  const std::uint64_t kind = rng_.below(4);  // the last: nothing at all
  if (kind == 0) message = chunk_message(0, zeros(options_.dim));
  if (kind == 1) message.mutable_update()->set_ticket(random_bytes(wire::kTicketBytes));
  if (kind == 2) message.mutable_leave();
  send(message);
  expect_end(counts_.dropped);
}

void Attacker::speak_out_of_turn_after_joining() {
  const std::string ticket = join();
  v1::WorkerMessage message;
  const std::uint64_t kind = rng_.below(5);
  if (kind == 0) message = join_message();
  if (kind == 1) message = chunk_message(0, zeros(options_.dim));
  if (kind >= 3) send_header(ticket);
  if (kind == 3) message.mutable_update()->set_ticket(ticket);
  if (kind == 4) message.mutable_leave();
  send(message);
  expect_end(tally(Verdict::kMalformed));
}

void Attacker::send_bad_metadata() {
  auto fields = Http2Connection::call_fields("nobody" + std::to_string(rng_.below(1000)));
  const std::uint64_t kind = rng_.below(6);
  if (kind == 3) acknowledge();
  if (kind == 1) fields.back().second = std::string(rng_.below(4'000), 'w');
  if (kind == 2) fields.pop_back();
  if (kind == 3) fields.emplace_back("junk", std::string(9'000 + rng_.below(30'000), 'x'));
  if (kind == 4) fields[2].second = "/ballast.v1.ParameterServer/Nonsense";
  if (kind == 5) fields[0].second = "GET";
  open(fields);
  connection_->send_message(random_bytes(20));
  expect_end(kind < 3 ? counts_.streams_refused : counts_.dropped);
  if (kind >= 3) connection_.reset();  // the server may be about to close it
}

void Attacker::send_bad_http2() {
  Http2Connection bad(options_.port);
  ++counts_.connections;
  bad.put(random_bytes(1 + rng_.below(200)));
  ++(bad.wait_for_close() ? counts_.dropped : counts_.unpunished);
}

}  // namespace ballast::transport
