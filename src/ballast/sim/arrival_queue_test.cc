#include "ballast/sim/arrival_queue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace ballast::sim {
namespace {

constexpr Population kWorkers = {.honest = 2, .byzantine = 2};

std::vector<Arrival> list_of(const std::vector<std::uint32_t>& workers) {
  std::vector<Arrival> arrivals;
  for (const std::uint32_t worker : workers) {
    arrivals.push_back(
        {.worker = worker, .at = std::chrono::seconds(static_cast<int>(arrivals.size()) + 1)});
  }
  return arrivals;
}

template <typename Holds>
std::vector<std::size_t> take_all(ArrivalQueue& queue, const Holds& holds) {
  std::vector<std::size_t> places;
  while (!queue.is_over()) places.push_back(queue.take(holds));
  return places;
}

using Places = std::vector<std::size_t>;

TEST(ArrivalQueue, IsTheListWhereNobodyHolds) {
  const auto arrivals = list_of({0, 2, 3, 1, 2});
  ArrivalQueue queue(arrivals, kWorkers);
  EXPECT_EQ(take_all(queue, [](std::uint32_t) { return false; }), (Places{0, 1, 2, 3, 4}));
}

TEST(ArrivalQueue, WhatIsHeldForEverComesAtLast) {
  const auto arrivals = list_of({2, 0, 3, 1, 2, 0});
  ArrivalQueue queue(arrivals, kWorkers);
  EXPECT_EQ(take_all(queue, [](std::uint32_t) { return true; }), (Places{1, 3, 5, 0, 2, 4}));
}

// Held until three wait, which is so when worker 2 comes the second time; then all are let go.
TEST(ArrivalQueue, AQueueIsLetGoInItsOrder) {
  const auto arrivals = list_of({2, 0, 3, 1, 2, 0, 3});
  ArrivalQueue queue(arrivals, kWorkers);
  bool is_open = false;
  const auto holds = [&](std::uint32_t) {
    if (queue.held_count() >= 3) is_open = true;
    return !is_open;
  };
  EXPECT_EQ(take_all(queue, holds), (Places{1, 3, 0, 2, 4, 5, 6}));
}

TEST(ArrivalQueue, TimeIsThatOfTheList) {
  const auto arrivals = list_of({2, 0, 1});
  ArrivalQueue queue(arrivals, kWorkers);
  const auto holds = [](std::uint32_t) { return true; };
  EXPECT_EQ(queue.now(), Instant::zero());
  EXPECT_EQ(queue.take(holds), 1u);
  EXPECT_EQ(queue.now(), std::chrono::seconds(2));
  EXPECT_EQ(queue.who_comes_again(), (std::vector<bool>{false, true, true, false}));
  EXPECT_EQ(queue.take(holds), 2u);
  EXPECT_EQ(queue.take(holds), 0u);
  EXPECT_EQ(queue.now(), std::chrono::seconds(3)) << "it comes late";
  EXPECT_EQ(queue.who_comes_again(), std::vector<bool>(4));
}

TEST(ArrivalQueue, GoesOnWhereverItWasCut) {
  const auto arrivals = list_of({2, 0, 3, 1, 2, 0, 3, 3, 0, 1});
  // By the number of held ones alone, so that a restored queue decides alike.
  for (std::size_t cut = 0; cut <= arrivals.size(); ++cut) {
    ArrivalQueue whole(arrivals, kWorkers);
    const auto by = [](const ArrivalQueue& queue) {
      return [&queue](std::uint32_t) { return queue.held_count() < 2; };
    };
    for (std::size_t i = 0; i < cut; ++i) (void)whole.take(by(whole));
    ArrivalQueue second(arrivals, kWorkers);
    ASSERT_TRUE(second.restore(cut, whole.held_count())) << cut;
    EXPECT_EQ(take_all(second, by(second)), take_all(whole, by(whole))) << cut;
  }
}

TEST(ArrivalQueue, RefusesNumbersThatCannotBe) {
  const auto arrivals = list_of({2, 0, 1});
  ArrivalQueue queue(arrivals, kWorkers);
  EXPECT_FALSE(queue.restore(4, 0));
  EXPECT_FALSE(queue.restore(1, 3));
  EXPECT_FALSE(queue.restore(1, 2));
  EXPECT_TRUE(queue.restore(1, 1));
}

}  // namespace
}  // namespace ballast::sim
