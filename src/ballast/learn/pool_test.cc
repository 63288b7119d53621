#include "ballast/learn/pool.h"

#include <gtest/gtest.h>

namespace ballast::learn {
namespace {

TEST(Pool, MakesOneThingForEachLoanAtATime) {
  int made = 0;
  Pool<int> pool([&] { return std::make_unique<int>(made++); });

  {
    const auto first = pool.borrow();
    const auto second = pool.borrow();
    EXPECT_NE(&*first, &*second);
  }
  const auto third = pool.borrow();
  const auto fourth = pool.borrow();

  EXPECT_EQ(made, 2);
  EXPECT_NE(&*third, &*fourth);
}

TEST(Pool, LendsWhatCameBackLast) {
  int made = 0;
  Pool<int> pool([&] { return std::make_unique<int>(made++); });
  {
    const auto zero = pool.borrow();
    { const auto one = pool.borrow(); }
  }

  EXPECT_EQ(*pool.borrow(), 0);
}

}  // namespace
}  // namespace ballast::learn
