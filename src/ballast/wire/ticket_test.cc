#include "ballast/wire/ticket.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ballast/wire/test_mac.h"

namespace ballast::wire {
namespace {

constexpr Ticket kTicket{.incarnation = 3, .worker = 17, .version = 1u << 20, .sequence = 0xABCDEF};

TEST(Ticket, ComesBackAsItWasSealed) {
  const TicketBytes bytes = seal_ticket(kTicket, "run-1", toy_mac);
  EXPECT_EQ(open_ticket(bytes, "run-1", toy_mac).value(), kTicket);
}

TEST(Ticket, FieldsAreLittleEndianInOrder) {
  const TicketBytes bytes = seal_ticket(kTicket, "run-1", toy_mac);
  EXPECT_EQ(bytes[0], std::byte{3});
  EXPECT_EQ(bytes[8], std::byte{17});
  EXPECT_EQ(bytes[14], std::byte{0x10});
  EXPECT_EQ(bytes[20], std::byte{0xEF});
}

TEST(Ticket, AnyFlippedBitMakesItWorthless) {
  const TicketBytes bytes = seal_ticket(kTicket, "run-1", toy_mac);
  for (std::size_t bit = 0; bit < 8 * kTicketBytes; ++bit) {
    TicketBytes forged = bytes;
    forged[bit / 8] ^= std::byte(1u << (bit % 8));
    EXPECT_FALSE(open_ticket(forged, "run-1", toy_mac)) << "bit " << bit;
  }
}

TEST(Ticket, AnotherRunDoesNotOpenIt) {
  const TicketBytes bytes = seal_ticket(kTicket, "run-1", toy_mac);
  EXPECT_FALSE(open_ticket(bytes, "run-2", toy_mac));
}

TEST(Ticket, AnotherLengthIsRefused) {
  for (const std::size_t size : {std::size_t{0}, kTicketBytes - 1, kTicketBytes + 1}) {
    const std::vector<std::byte> bytes(size);
    const auto ticket = open_ticket(bytes, "run-1", toy_mac);
    ASSERT_FALSE(ticket);
    EXPECT_NE(ticket.error().message.find(std::to_string(size)), std::string::npos);
  }
}

}  // namespace
}  // namespace ballast::wire
