// A parameter server inside a program of one's own, for workers like examples/client. Prints where
// it listens, and at the end what it has found.
//
//   example_server
//   example_client 127.0.0.1:PORT ann     for each of its workers

#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "ballast/server.h"

namespace {

const std::vector<float> kTruth = {2.0f, -1.0f, 0.5f, 3.0f};  // what its workers' data say
constexpr std::uint64_t kSchema = 1;  // server and workers must mean the same numbers

ballast::Status run() {
  // Whatever one of the five workers does, it never holds more than 0.3 of the weight.
  BALLAST_TRY(auto server, ballast::Server::start({.start = std::vector<float>(kTruth.size()),
                                                   .optimizer = {.eta = 0.05},
                                                   .rule = "ctma(gm, 0.3)",
                                                   .weights = "f-cap(1, 0.3)"},
                                                  {.names = {"ann", "bob", "cleo", "dan", "liar"},
                                                   .schema = kSchema,
                                                   .updates = 500,
                                                   .lead_f = 1}));
  std::printf("listening on 127.0.0.1:%u\n", unsigned{server.port()});
  std::fflush(stdout);

  BALLAST_TRY(const bool is_over, server.wait(std::chrono::minutes(5)));
  BALLAST_TRY_STATUS(server.stop());
  BALLAST_TRY(const auto model, server.model());
  double distance = 0.0;
  for (std::size_t j = 0; j < kTruth.size(); ++j) {
    distance = std::max(distance, std::abs(double{(*model.values)[j]} - kTruth[j]));
  }
  std::printf("%s, the model is %s the truth\n", is_over ? "complete" : "out of time",
              distance < 0.3 ? "close to" : "far from");
  return {};
}

}  // namespace

int main() {
  const ballast::Status status = run();
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
