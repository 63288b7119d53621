// What only a device has: rows in its memory, streams, tables of so many rows that other kernels
// run. The contract that all backends share is backend_test.cc, which this program runs too.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <new>
#include <numeric>
#include <thread>
#include <utility>

#include "ballast/kernels/backends_for_test.h"
#include "ballast/kernels/host/primitives.h"

namespace ballast::kernels {
namespace {

class CudaTest : public testing::Test {
 protected:
  void SetUp() override {
    auto backend = make_cuda_backend();
    if (!backend) GTEST_SKIP() << backend.error().message;
    backend_ = *std::move(backend);
  }
  void TearDown() override {
    for (void* memory : taken_) cudaFree(memory);
  }

  // A copy of the values in memory of the device that is not the backend's, at any alignment.
  std::span<float> on_device(std::span<const float> values, std::size_t offset = 0) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, (values.size() + offset) * sizeof(float)), cudaSuccess);
    taken_.push_back(memory);
    const std::span<float> place(static_cast<float*>(memory) + offset, values.size());
    EXPECT_EQ(cudaMemcpy(place.data(), values.data(), values.size_bytes(), cudaMemcpyDefault),
              cudaSuccess);
    return place;
  }
  static std::vector<float> from_device(std::span<const float> values) {
    std::vector<float> copy(values.size());
    EXPECT_EQ(cudaMemcpy(copy.data(), values.data(), values.size_bytes(), cudaMemcpyDefault),
              cudaSuccess);
    return copy;
  }

  std::unique_ptr<Backend> backend_;
  const std::unique_ptr<host::Primitives> plain_ = host::make_reference_primitives();
  std::vector<void*> taken_;
};

void expect_same_bits(const std::vector<float>& expected, const std::vector<float>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t j = 0; j < expected.size(); ++j) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(expected[j]), std::bit_cast<std::uint32_t>(actual[j]))
        << "coordinate " << j << ": " << expected[j] << " and " << actual[j];
  }
}

TEST_F(CudaTest, TakesRowsFromItsOwnMemory) {
  const TestTable rows = make_table(Filling::kMixed, 3, 5003, 1);
  const auto table = own_rows(*backend_, rows);
  ASSERT_TRUE(table->put(1, {.values = on_device(rows[2])}));
  expect_same_bits(rows[2], values_of(*table, 1));
  std::vector<float> bad = rows[0];
  bad[5002] = INFINITY;
  EXPECT_FALSE(table->put(0, {.values = on_device(bad, 1)}));
  expect_same_bits(rows[0], values_of(*table, 0));
}

TEST_F(CudaTest, BorrowsItsOwnMemoryWithoutACopy) {
  constexpr std::size_t kDim = 1001;
  TestTable rows = make_table(Filling::kNormal, 5, kDim, 2);
  std::vector<const float*> pointers;
  for (std::size_t i = 0; i < 5; ++i) pointers.push_back(on_device(rows[i], i).data());
  const auto table = backend_->make_table(kDim);
  table->borrow({pointers, kDim});
  const std::span<float> out = on_device(rows[0], 3);
  const auto vector = backend_->make_vector(0);
  ASSERT_TRUE(vector->borrow(out));
  backend_->weighted_median(*table, Weights::equal(5), *vector);
  backend_->finish();
  std::vector<float> expected(kDim);
  plain_->weighted_median(rows.view(), Weights::equal(5), expected);
  expect_same_bits(expected, from_device(out));
  EXPECT_FALSE(vector->borrow(expected)) << "host memory";
}

TEST_F(CudaTest, WorksOnTheStreamThatItIsGiven) {
  constexpr std::size_t kDim = 3'000'000;
  const TestTable rows = make_table(Filling::kNormal, 3, 1000, 3);
  std::vector<float> values(kDim);
  for (std::size_t j = 0; j < kDim; ++j) values[j] = rows[j % 3][j % 1000];
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const std::span<float> place = on_device(std::vector<float>(kDim));
  const auto table = own_rows(*backend_, TestTable(1, kDim));
  const auto out = backend_->make_vector(kDim);
  backend_->use_stream(stream);
  // Queued by somebody else on that stream, and not waited for.
  ASSERT_EQ(
      cudaMemcpyAsync(place.data(), values.data(), kDim * sizeof(float), cudaMemcpyDefault, stream),
      cudaSuccess);
  ASSERT_TRUE(table->put(0, {.values = place}));
  backend_->combine(*table, std::vector{2.0}, *out);
  backend_->use_stream(nullptr);
  const std::vector<float> doubled = values_of(*out);
  for (std::size_t j = 0; j < kDim; ++j) ASSERT_EQ(doubled[j], 2.0f * values[j]);
  cudaStreamDestroy(stream);
}

TEST_F(CudaTest, WaitsForAnEventOfTheCaller) {
  constexpr std::size_t kDim = 30'000'000;
  const std::vector<float> values(kDim, 2.0f);
  const std::span<float> there = on_device(values);
  void* pinned = nullptr;
  ASSERT_EQ(cudaHostAlloc(&pinned, kDim * sizeof(float), cudaHostAllocDefault), cudaSuccess);
  auto* const here = static_cast<float*>(pinned);
  here[kDim - 1] = 0.0f;
  cudaStream_t stream = nullptr;
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(cudaMemcpyAsync(here, there.data(), kDim * sizeof(float), cudaMemcpyDefault, stream),
            cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  std::thread([&] { backend_->wait_for(event); }).join();  // one that has used no device before
  EXPECT_EQ(here[kDim - 1], 2.0f);
  backend_->wait_for(nullptr);
  cudaEventDestroy(event);
  cudaStreamDestroy(stream);
  cudaFreeHost(pinned);
}

// What the workers of a simulation do while the server waits for its own queue.
TEST_F(CudaTest, CorrectsOnTheStreamThatIsNamedWhileAnotherIsInUse) {
  constexpr std::size_t kDim = 3'000'000;
  const TestTable rows = make_table(Filling::kNormal, 3, kDim, 4);
  cudaStream_t gradients = nullptr, server = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&gradients, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&server, cudaStreamNonBlocking), cudaSuccess);
  const std::span<float> g = on_device(std::vector<float>(kDim)), before = on_device(rows[1]),
                         reference = on_device(rows[2]), mark = on_device(std::vector{0.5f});
  backend_->use_stream(server);
  // Queued by somebody else, and not waited for.
  ASSERT_EQ(
      cudaMemcpyAsync(g.data(), rows[0].data(), kDim * sizeof(float), cudaMemcpyDefault, gradients),
      cudaSuccess);
  const auto gradient = backend_->view(g), last = backend_->view(before),
             there = backend_->view(reference), flag = backend_->view(mark);
  backend_->correct({*gradient, *last, *there}, 0.9, *gradient, *flag, gradients);
  ASSERT_EQ(cudaStreamSynchronize(gradients), cudaSuccess);
  backend_->use_stream(nullptr);
  const auto plain = make_reference_backend();
  const auto expected = plain->make_vector(kDim), unused = own_vector(*plain, std::vector{0.0f});
  plain->correct(
      {*own_vector(*plain, rows[0]), *own_vector(*plain, rows[1]), *own_vector(*plain, rows[2])},
      0.9, *expected, *unused, nullptr);
  expect_same_bits(values_of(*expected), from_device(g));
  EXPECT_EQ(from_device(mark), std::vector{0.5f});
  cudaStreamDestroy(gradients);
  cudaStreamDestroy(server);
}

TEST_F(CudaTest, FindsMediansOfManyRows) {
  for (const std::size_t count :
       {33u, 47u, 64u, 65u, 128u, 257u, 512u, 513u, 1024u, 1025u, 2048u, 2100u, 4096u, 4100u}) {
    const auto table = backend_->make_table(45);
    const auto out = backend_->make_vector(45);
    for (const Filling filling : kFillings) {
      for (const Weighting weighting :
           {Weighting::kEqual, Weighting::kSmallCounts, Weighting::kFractions}) {
        SCOPED_TRACE(testing::Message() << count << " rows, filling " << static_cast<int>(filling));
        TestTable rows = make_table(filling, count, 45, count);
        const Weights weights = *Weights::make(make_weights(weighting, count, count));
        std::vector<float> expected(45);
        plain_->weighted_median(rows.view(), weights, expected);
        table->borrow(rows.view());
        backend_->weighted_median(*table, weights, *out);
        expect_same_bits(expected, values_of(*out));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(CudaTest, TrimsMeansOfManyRows) {
  for (const std::size_t count : {40u, 64u, 100u, 513u, 1024u, 2100u, 4100u}) {
    TestTable rows = make_table(Filling::kNormal, count, 45, count);
    const Weighting weighting = count % 2 == 0 ? Weighting::kSquares : Weighting::kFractions;
    const Weights weights = *Weights::make(make_weights(weighting, count, count));
    std::vector<float> expected(45);
    plain_->weighted_trimmed_mean(rows.view(), weights, 0.2, expected);
    const auto table = backend_->make_table(45);
    const auto out = backend_->make_vector(45);
    table->borrow(rows.view());
    backend_->weighted_trimmed_mean(*table, weights, 0.2, *out);
    const std::vector<float> actual = values_of(*out);
    for (std::size_t j = 0; j < 45; ++j) ASSERT_NEAR(expected[j], actual[j], 1e-6);
  }
}

// Rows that begin anywhere are read one value at a time, and multiplied to the same bits; so are
// products that are made piece by piece and those made strand by strand.
TEST_F(CudaTest, MultipliesRowsAtAnyAlignment) {
  for (const auto& [count, whole] : {std::pair{9u, 70'001u}, {40u, 90'003u}, {70u, 140'000u}}) {
    const std::size_t dim = whole / kSmallerBy;
    SCOPED_TRACE(testing::Message() << count << " x " << dim);
    TestTable rows = make_table(Filling::kNormal, count, dim, 11);
    const auto table = own_rows(*backend_, rows), borrowed = backend_->make_table(dim);
    std::vector<const float*> pointers;
    for (std::size_t i = 0; i < count; ++i) {
      pointers.push_back(on_device(rows[i], i % 4).data());
    }
    borrowed->borrow({pointers, dim});
    const auto centre = own_vector(*backend_, rows[1]);
    for (const Vector* from :
         {static_cast<const Vector*>(nullptr), static_cast<const Vector*>(centre.get())}) {
      std::vector<double> own(count * count), other(count * count), row(count);
      backend_->inner_products(*table, 0, count, from, own);
      backend_->inner_products(*borrowed, 0, count, from, other);
      EXPECT_EQ(own, other);
      for (const std::size_t i : {std::size_t{0}, std::size_t{count - 1}}) {
        backend_->inner_products(*borrowed, i, i + 1, from, row);
        EXPECT_TRUE(std::equal(row.begin(), row.end(),
                               own.begin() + static_cast<std::ptrdiff_t>(i * count)));
      }
    }
  }
}

// So many rows that the products are made in several rounds, and mixtures not in one launch.
TEST_F(CudaTest, MultipliesAndMixesManyRows) {
  constexpr std::size_t kRows = 700, kDim = 1'100;
  TestTable rows = make_table(Filling::kNormal, kRows, kDim, 4);
  const auto table = own_rows(*backend_, rows);
  std::vector<double> expected(kRows), all(kRows * kRows), row(kRows);
  backend_->inner_products(*table, 0, kRows, nullptr, all);
  for (const std::size_t i : {std::size_t{0}, std::size_t{351}, kRows - 1}) {
    plain_->inner_products(rows.view(), i, i + 1, {}, expected);
    backend_->inner_products(*table, i, i + 1, nullptr, row);
    for (std::size_t j = 0; j < kRows; ++j) {
      ASSERT_NEAR(row[j], expected[j], 1e-10);
      ASSERT_EQ(row[j], all[i * kRows + j]);
      ASSERT_EQ(row[j], all[j * kRows + i]);
    }
  }
  std::vector<double> coefficients(kRows);
  std::iota(coefficients.begin(), coefficients.end(), -3.0);
  const auto out = backend_->make_vector(kDim);
  backend_->combine(*table, coefficients, *out);
  std::vector<float> mixed(kDim);
  float* const to[] = {mixed.data()};
  plain_->mix(rows.view(), MatrixView(coefficients, kRows), MutableRowsView(to, kDim));
  const std::vector<float> actual = values_of(*out);
  for (std::size_t j = 0; j < kDim; ++j) ASSERT_NEAR(mixed[j], actual[j], 1e-2);
}

// One row replaced at a time, as a server does it, with long and short tables. While much changes
// a sort is faster, and for some time nothing is remembered; then little changes.
TEST_F(CudaTest, FollowsMediansOfLongAndOfManyRows) {
  for (const auto& [count, dim] :
       {std::pair{17u, 20011u}, {32u, 5000u}, {50u, 5000u}, {300u, 900u}}) {
    SCOPED_TRACE(testing::Message() << count << " x " << dim);
    TestTable rows = make_table(Filling::kNormal, count, dim, 5);
    const auto table = own_rows(*backend_, rows);
    std::vector<std::uint64_t> counts(count);
    for (std::size_t i = 0; i < count; ++i) counts[i] = 10 * (i + 1) + 1;
    Rng rng(5);
    for (int step = 0; step < 48; ++step) {
      const std::size_t row = rng.below(count);
      const double keep = step < 12 ? 0.75 : 1.0, add = step < 12 ? 0.66 : 0.01;
      for (float& x : rows[row]) x = static_cast<float>(keep * x + add * rng.normal());
      counts[row] += 1;
      ASSERT_TRUE(table->put(row, {.values = rows[row]}));
      Weights weights;
      weights.assign_units(counts);
      std::vector<float> expected(dim);
      plain_->weighted_median(rows.view(), weights, expected);
      expect_same_bits(expected, values_of(backend_->follow_median(*table, weights)));
      if (HasFatalFailure()) return;
    }
  }
}

// Rows of several pieces of the ring, from memory that the device reads itself and from other,
// while it is busy; some are refused for a value in their last piece, and the memory changes at
// once.
TEST_F(CudaTest, TakesRowsFromTheHostWhileItWorks) {
  constexpr std::size_t kRows = 5, kDim = 700'001;
  TestTable rows = make_table(Filling::kNormal, kRows, kDim, 12);
  const auto table = own_rows(*backend_, rows);
  void* memory = nullptr;
  ASSERT_EQ(cudaHostAlloc(&memory, kDim * sizeof(float), cudaHostAllocDefault), cudaSuccess);
  const std::span<float> pinned(static_cast<float*>(memory), kDim);
  std::vector<float> plain(kDim), expected(kDim);
  Rng rng(12);
  for (int step = 0; step < 24; ++step) {
    const std::size_t row = rng.below(kRows);
    const std::span<float> from = step % 2 == 0 ? pinned : std::span(plain);
    for (std::size_t j = 0; j < kDim; j += 7) rows[row][j] = static_cast<float>(rng.normal());
    std::ranges::copy(rows[row], from.begin());
    if (step % 3 == 0) {
      from[kDim - 1] = NAN;
      ASSERT_FALSE(table->put(row, {.values = from}));
      from[kDim - 1] = rows[row][kDim - 1];
    }
    ASSERT_TRUE(table->put(row, {.values = from, .is_checked = step % 4 == 1}));
    std::ranges::fill(from, 9.0f);
    const Vector& median = backend_->follow_median(*table, Weights::equal(kRows));
    if (step % 4 != 3) continue;
    plain_->weighted_median(rows.view(), Weights::equal(kRows), expected);
    expect_same_bits(expected, values_of(median));
    expect_same_bits(rows[row], values_of(*table, row));
    if (HasFatalFailure()) break;
  }
  cudaFreeHost(memory);
}

TEST_F(CudaTest, SaysThatItsMemoryIsAtAnEndAndGoesOn) {
  constexpr std::size_t kTooMuch = std::size_t{1} << 42;
  EXPECT_THROW((void)backend_->make_vector(kTooMuch), std::bad_alloc);
  const TestTable rows = make_table(Filling::kNormal, 3, 100, 8);
  const auto table = own_rows(*backend_, rows);
  const auto out = backend_->make_vector(100);
  backend_->combine(*table, std::vector{0.0, 1.0, 0.0}, *out);
  expect_same_bits(rows[1], values_of(*out));
}

}  // namespace
}  // namespace ballast::kernels
