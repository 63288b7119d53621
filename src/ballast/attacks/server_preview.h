#pragma once
// What the server would do, for attacks that know its method, rule and weights. Whoever runs an
// attack works it out on a copy of the method that is the adversary's own and has seen the same
// updates; the server's memory is never touched.

#include <span>

namespace ballast::attacks {

class ServerPreview {
 public:
  virtual ~ServerPreview() = default;

  // The direction along which the server would step, with the method's scale, if the sender sent
  // this update now. Empty: it would refuse the update, or take it in without a step. Valid until
  // the next call.
  //
  // Requires: finite values, as many as the model has.
  // Cost: a copy of the method's state, and what an update costs it.
  virtual std::span<const float> direction_after(std::span<const float> update) = 0;
};

}  // namespace ballast::attacks
