#pragma once
// What a text such as "basgd(10, cwtm(0.2))" means: how a server method is made, and what it needs
// from the specification around it. registry.h turns texts into plans.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "ballast/base/error.h"
#include "ballast/kernels/backend.h"
#include "ballast/robust/rule.h"
#include "ballast/server/method.h"
#include "ballast/server/server_gradient.h"
#include "ballast/server/weight_policy.h"

namespace ballast::methods {

// The run that a method is made for.
struct MethodSetting {
  std::size_t worker_count = 1;  // places for workers, in number
  std::size_t free_places = 0;   // of these, the last ones that nobody has yet
  std::size_t dim = 1;
  double eta = 0.01;  // the optimizer's step size, where a method weighs gains against it
  std::uint64_t seed = 0;
  std::shared_ptr<const kernels::Backend> backend;
  // For methods that judge updates by a gradient of the server's own, else null.
  std::shared_ptr<server::ServerGradient> server_gradient = nullptr;
  // For `table`, which takes its rule from a key of its own.
  std::string rule = "gm";
  server::WeightPolicy weights = server::CountWeights{};
  std::size_t rows_min = 1;
  // As in a specification; make_method() sets it.
  std::string description = {};
};

struct MethodPlan {
  bool uses_rule = false;              // the keys `rule` and `weights`
  bool needs_server_gradient = false;  // data of the server's own
  bool needs_momentum = false;         // workers that send an average of their gradients
  // Refuses numbers of workers that the arguments do not fit; null: any.
  std::function<Status(std::size_t worker_count)> check = nullptr;
  // Refuses rules that the method cannot use; null: any. Only where it uses the key `rule`.
  std::function<Status(const robust::Rule&)> check_rule = nullptr;
  // Requires: check() holds, and what the plan needs is there.
  std::function<Result<server::MethodPointer>(const MethodSetting&)> make;
};

}  // namespace ballast::methods
