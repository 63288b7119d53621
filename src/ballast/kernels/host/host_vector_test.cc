// A combination that is owed is told by nothing from one that was made at once, whatever happens to
// its rows before somebody looks.

#include "ballast/kernels/host/host_vector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "ballast/base/row_buffer.h"
#include "ballast/kernels/backend.h"
#include "ballast/kernels/backends_for_test.h"

namespace ballast::kernels::host {
namespace {

constexpr std::size_t kDim = (std::size_t{1} << 20) + 37;  // long enough to be owed
constexpr std::size_t kRows = 3;
const std::vector<double> kCoefficients = {0.25, 0.0, 0.75};

TestTable test_rows() { return make_table(Filling::kNormal, kRows, kDim, 11); }

bool owes(const Vector& vector) { return dynamic_cast<const HostVector&>(vector).owes(); }

// What the plain twin makes of the rows, which borrowed ones do at once.
std::vector<float> made_at_once(const Backend& backend, TestTable rows) {
  const auto table = backend.make_table(kDim);
  table->borrow(rows.view());
  const auto vector = backend.make_vector(kDim);
  backend.combine(*table, kCoefficients, *vector);
  EXPECT_FALSE(owes(*vector));
  return values_of(*vector);
}

class HostVectorTest : public testing::TestWithParam<std::size_t> {
 protected:
  const std::unique_ptr<Backend> backend_ =
      GetParam() == 0 ? make_reference_backend() : make_cpu_backend(GetParam());
  const TestTable rows_ = test_rows();
};

TEST_P(HostVectorTest, IsNotMadeForAStepAndStepsToTheSameBits) {
  const auto table = own_rows(*backend_, rows_);
  const auto w = own_vector(*backend_, rows_[1]);
  const std::vector<float> expected = made_at_once(*backend_, rows_);
  const auto plain = own_vector(*backend_, expected);
  const auto owed = backend_->make_vector(kDim), next = backend_->make_vector(kDim),
             wanted = backend_->make_vector(kDim);
  backend_->combine(*table, kCoefficients, *owed);
  ASSERT_TRUE(backend_->descend(*w, *owed, 0.3, *next));
  EXPECT_TRUE(owes(*owed));
  ASSERT_TRUE(backend_->descend(*w, *plain, 0.3, *wanted));
  EXPECT_EQ(values_of(*next), values_of(*wanted));
  EXPECT_EQ(values_of(*owed), expected);
  EXPECT_FALSE(owes(*owed));
}

TEST_P(HostVectorTest, TellsAStepThatLeavesTheFiniteNumbersWhereverItDoes) {
  constexpr float kHuge = std::numeric_limits<float>::max();
  const auto next = backend_->make_vector(kDim), direction = backend_->make_vector(kDim);
  for (const std::size_t place : {std::size_t{0}, std::size_t{5000}, kDim - 1}) {
    TestTable rows = rows_;
    rows[0][place] = rows[2][place] = kHuge;
    const auto table = own_rows(*backend_, rows);
    const auto w = own_vector(*backend_, rows_[1]);
    backend_->combine(*table, kCoefficients, *direction);
    ASSERT_TRUE(owes(*direction));
    EXPECT_FALSE(backend_->descend(*w, *direction, 3.0, *next)) << "place " << place;
    EXPECT_TRUE(backend_->descend(*w, *direction, 0.5, *next)) << "place " << place;
  }
}

struct Change {
  std::string name;
  std::function<void(const Backend&, std::unique_ptr<Table>&)> make;
};

void put_copied(Table& table, std::size_t index) {
  const std::vector<float> values(kDim, 9.0f);
  ASSERT_TRUE(table.put(index, {.values = values}));
}

// As a server does: the buffer that comes back is written to at once.
void put_exchanged(Table& table, std::size_t index) {
  RowBuffer buffer(kDim, 7);
  std::ranges::fill(buffer.values(), 9.0f);
  ASSERT_TRUE(table.put(index, {.values = buffer.values(), .memory = &buffer, .is_checked = true}));
  if (!buffer.is_empty()) std::ranges::fill(buffer.values(), -9.0f);
}

std::vector<Change> changes() {
  return {
      {"nothing", [](const Backend&, auto&) {}},
      {"a row copied over", [](const Backend&, auto& table) { put_copied(*table, 0); }},
      {"a row exchanged", [](const Backend&, auto& table) { put_exchanged(*table, 0); }},
      {"a row exchanged often",
       [](const Backend&, auto& table) {
         for (const std::size_t index : {0u, 0u, 2u, 2u, 0u}) put_exchanged(*table, index);
       }},
      {"two rows copied over",
       [](const Backend&, auto& table) {
         put_copied(*table, 0);
         put_copied(*table, 2);
       }},
      {"a row that is refused",
       [](const Backend&, auto& table) {
         put_exchanged(*table, 2);
         const std::vector<float> values(kDim, std::numeric_limits<float>::infinity());
         ASSERT_FALSE(table->put(0, {.values = values}));
       }},
      {"a row inserted",
       [](const Backend&, auto& table) {
         put_exchanged(*table, 0);
         const std::vector<float> values(kDim, 9.0f);
         ASSERT_TRUE(table->insert(0, {.values = values}));
       }},
      {"a row removed", [](const Backend&, auto& table) { table->remove(2); }},
      {"other rows borrowed", [](const Backend&, auto& table) { table->borrow({}); }},
      {"rows overwritten",
       [](const Backend& backend, auto& table) {
         const auto others = own_rows(backend, test_rows());
         backend.mix(*others, MatrixView(kCoefficients, kRows), *table);
       }},
      {"another combination",
       [](const Backend& backend, auto& table) {
         const auto other = backend.make_vector(kDim);
         backend.combine(*table, kCoefficients, *other);
       }},
      {"the end of the table", [](const Backend&, auto& table) { table.reset(); }},
  };
}

TEST_P(HostVectorTest, IsTheCombinationOfTheRowsThatWere) {
  const std::vector<float> expected = made_at_once(*backend_, rows_);
  for (const Change& change : changes()) {
    SCOPED_TRACE(change.name);
    auto table = own_rows(*backend_, rows_);
    put_exchanged(*table, 1);  // whose coefficient is 0; now there is a spare buffer
    const auto vector = backend_->make_vector(kDim);
    backend_->combine(*table, kCoefficients, *vector);
    ASSERT_TRUE(owes(*vector));
    change.make(*backend_, table);
    EXPECT_EQ(values_of(*vector), expected);
  }
}

TEST_P(HostVectorTest, OwesNothingOnceItHasOtherValues) {
  const auto table = own_rows(*backend_, rows_);
  auto vector = backend_->make_vector(kDim);
  backend_->combine(*table, kCoefficients, *vector);
  vector->write(rows_[0]);
  EXPECT_EQ(values_of(*vector), rows_[0]);
  backend_->combine(*table, kCoefficients, *vector);
  backend_->copy_row(*table, 1, *vector);
  EXPECT_EQ(values_of(*vector), rows_[1]);
  backend_->combine(*table, kCoefficients, *vector);
  std::vector<float> elsewhere(kDim, 2.0f);
  ASSERT_TRUE(vector->borrow(elsewhere));
  EXPECT_EQ(values_of(*vector), elsewhere);
  // Whoever lends memory looks there without asking.
  backend_->combine(*table, kCoefficients, *vector);
  EXPECT_EQ(elsewhere, made_at_once(*backend_, rows_));
  auto debtor = backend_->make_vector(kDim);
  backend_->combine(*table, kCoefficients, *debtor);
  debtor.reset();
  table->remove(0);  // asks nobody who is gone
}

INSTANTIATE_TEST_SUITE_P(Threads, HostVectorTest, testing::Values(0, 1, 3));

}  // namespace
}  // namespace ballast::kernels::host
