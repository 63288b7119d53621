// A state whose numbers, names and vectors are anything is either refused, and then the server is
// as it was, or taken, and then it is the server's state and training goes on.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "ballast/base/check.h"
#include "ballast/robust/registry.h"
#include "ballast/server/state.h"
#include "ballast/server/table_method.h"

namespace {

namespace server = ballast::server;
using server::ServerState;

// What is left of the input, and zeros after its end.
class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  bool is_empty() const { return size_ == 0; }
  std::size_t below(std::size_t end) { return number<std::uint8_t>() % end; }
  template <typename Number>
  Number number() {
    Number value{};
    const std::size_t count = std::min(sizeof(value), size_);
    std::memcpy(&value, data_, count);
    data_ += count;
    size_ -= count;
    return value;
  }
  std::string word() {
    std::string text(below(8), ' ');
    for (char& letter : text) letter = number<char>();
    return text;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

constexpr std::size_t kWorkers = 3;
constexpr std::size_t kDim = 4;
constexpr std::size_t kStatistics = 2;

server::ParameterServer make(std::uint64_t past) {
  auto optimizer = ballast::optim::make_mu2_server<float>(
      {.eta = 0.1}, ballast::optim::ConstantAverage{0.1}, std::vector<float>(kDim));
  auto method = server::make_table_method({.worker_count = kWorkers,
                                           .dim = kDim,
                                           .weights = server::CappedWeights{1, 0.4},
                                           .past = past},
                                          ballast::robust::parse_rule("ctma(gm, 0.4)").value(),
                                          ballast::kernels::make_reference_backend());
  return server::ParameterServer::make(
             {.worker_count = kWorkers, .statistic_count = kStatistics},
             {.method = std::move(method).value(), .optimizer = std::move(optimizer).value()})
      .value();
}

void send(server::ParameterServer& server, std::uint32_t worker, float value) {
  const auto assignment = server.on_join(worker, server::Memory::kKept);
  if (!assignment) return;
  const std::vector<float> values(kDim, value);
  const std::vector<float> statistics(kStatistics, value);
  (void)server.on_update(
      {.worker = worker, .ticket = assignment->ticket, .values = values, .statistics = statistics});
}

// Numbers that are near the right ones, far away or none at all.
double number(Bytes& bytes, double right) {
  switch (bytes.below(6)) {
    case 0:
      return right;
    case 1:
      return right + 1.0;
    case 2:
      return -1.0;
    case 3:
      return std::numeric_limits<double>::quiet_NaN();
    case 4:
      return bytes.number<double>();
    default:
      return bytes.number<std::uint8_t>();
  }
}

void change_vector(Bytes& bytes, std::vector<float>& values) {
  if ((bytes.below(2) == 1)) values.resize(bytes.below(kDim + 1 + 1));
  if (!values.empty() && (bytes.below(2) == 1)) {
    values[bytes.below(values.size())] = static_cast<float>(number(bytes, 1.0));
  }
}

void change(Bytes& bytes, ServerState& state) {
  switch (bytes.below(10)) {
    case 0:
      state.accepted_count = bytes.number<std::uint64_t>();
      break;
    case 1:
      state.optimizer.steps = bytes.number<std::uint64_t>();
      break;
    case 2:
      change_vector(bytes, (bytes.below(2) == 1) ? state.optimizer.w : state.optimizer.x);
      break;
    case 3:
      state.senders.resize(bytes.below(kWorkers + 1 + 1));
      break;
    case 4:
      for (server::SenderRecord& sender : state.senders) {
        sender.sequence = bytes.below(10);
        sender.verdicts[0] = bytes.below(10);
        sender.staleness = bytes.below(10);
      }
      break;
    case 5:
      state.statistics.resize(bytes.below(kWorkers + 1 + 1));
      for (auto& values : state.statistics) change_vector(bytes, values);
      break;
    case 6:
      for (server::NamedNumbers& numbers : state.method_state.numbers) {
        if ((bytes.below(2) == 1)) {
          numbers.values.resize(bytes.below(kWorkers + 2 + 1));
        }
        for (double& value : numbers.values) value = number(bytes, value);
      }
      break;
    case 7:
      for (server::NamedVector& vector : state.method_state.vectors) {
        change_vector(bytes, vector.values);
        vector.revision = bytes.number<std::uint8_t>();
      }
      break;
    case 8:
      state.method_state.vectors.push_back({bytes.word(), 1, std::vector<float>(kDim)});
      break;
    default:
      state.method_state.numbers.push_back({bytes.word(), {1.0}});
  }
}

bool are_equal(const server::ServerStateView& a, const server::ServerStateView& b) {
  const auto same = [](auto left, auto right) { return std::ranges::equal(left, right); };
  if (a.accepted_count != b.accepted_count || a.steps != b.steps || !same(a.w, b.w) ||
      !same(a.x, b.x) || a.method_state.numbers != b.method_state.numbers ||
      a.method_state.vectors.size() != b.method_state.vectors.size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.method_state.vectors.size(); ++i) {
    if (!same(a.method_state.vectors[i].values, b.method_state.vectors[i].values)) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const std::uint64_t past = 2 * bytes.below(2);
  auto source = make(past);
  for (std::size_t left = bytes.below(9); left > 0; --left) {
    send(source, static_cast<std::uint32_t>(bytes.below(kWorkers)),
         static_cast<float>(bytes.below(19)) - 9.0f);
  }
  ServerState state = server::copy(source.state());
  while (!bytes.is_empty()) change(bytes, state);

  auto target = make(past);
  send(target, 0, 1.0f);
  const ServerState before = server::copy(target.state());
  if (!target.restore(std::move(state))) {
    BALLAST_CHECK(are_equal(target.state(), before.view()), "what is refused changes nothing");
    return 0;
  }
  const ServerState taken = server::copy(target.state());
  auto again = make(past);
  BALLAST_CHECK(again.restore(server::copy(taken.view())).has_value(), "a state is one");
  BALLAST_CHECK(are_equal(again.state(), taken.view()), "and reads back");
  for (std::uint32_t worker = 0; worker < kWorkers; ++worker) send(target, worker, 2.0f);
  return 0;
}
