#include "ballast/wire/ticket.h"

#include <fmt/core.h>

#include <algorithm>
#include <concepts>
#include <vector>

namespace ballast::wire {
namespace {

constexpr std::size_t kFieldBytes = kTicketBytes - kMacBytes;

// Little-endian on every machine.
template <std::unsigned_integral Number>
void put(std::span<std::byte>& out, Number number) {
  for (std::size_t i = 0; i < sizeof(Number); ++i) out[i] = std::byte(number >> (8 * i) & 0xFFu);
  out = out.subspan(sizeof(Number));
}

template <std::unsigned_integral Number>
Number take(std::span<const std::byte>& in) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof(Number); ++i) {
    number |= static_cast<Number>(std::to_integer<Number>(in[i]) << (8 * i));
  }
  in = in.subspan(sizeof(Number));
  return number;
}

// The fields have a fixed size, so that the run, which has none, cannot be mistaken for them.
MacBytes code_of(std::span<const std::byte> fields, std::string_view run, const Mac& mac) {
  std::vector<std::byte> text(fields.begin(), fields.end());
  std::ranges::copy(std::as_bytes(std::span(run)), std::back_inserter(text));
  return mac(text);
}

bool is_same(std::span<const std::byte> left, std::span<const std::byte> right) {
  auto difference = std::byte{0};
  for (std::size_t i = 0; i < left.size(); ++i) difference |= left[i] ^ right[i];
  return difference == std::byte{0};
}

}  // namespace

TicketBytes seal_ticket(const Ticket& ticket, std::string_view run, const Mac& mac) {
  TicketBytes bytes{};
  std::span<std::byte> rest = bytes;
  put(rest, ticket.incarnation);
  put(rest, ticket.worker);
  put(rest, ticket.version);
  put(rest, ticket.sequence);
  std::ranges::copy(code_of(std::span(bytes).first(kFieldBytes), run, mac), rest.begin());
  return bytes;
}

Result<Ticket> open_ticket(std::span<const std::byte> bytes, std::string_view run, const Mac& mac) {
  if (bytes.size() != kTicketBytes) {
    return invalid_argument(
        fmt::format("a ticket has {} bytes, this one {}", kTicketBytes, bytes.size()));
  }
  std::span<const std::byte> fields = bytes.first(kFieldBytes);
  if (!is_same(code_of(fields, run, mac), bytes.subspan(kFieldBytes))) {
    return invalid_argument("the ticket was not issued by this server in this run");
  }
  Ticket ticket;
  ticket.incarnation = take<std::uint64_t>(fields);
  ticket.worker = take<std::uint32_t>(fields);
  ticket.version = take<std::uint64_t>(fields);
  ticket.sequence = take<std::uint64_t>(fields);
  return ticket;
}

}  // namespace ballast::wire
