#pragma once
// Private to verify/: servers, schedules and attacks with a planted bug.

#include <functional>

#include "ballast/verify/components.h"

namespace ballast::verify {

// What the server's optimizer does wrong; the defaults are Algorithm 2.
struct OptimizerSlip {
  std::function<double(double t)> alpha = [](double t) { return t; };
  std::function<double(double t)> share = [](double t) { return 2.0 / (t + 2.0); };  // of w in x
  double eta_factor = 1.0;
  bool is_projected = true;
  bool forgets_centre = false;  // projects onto the ball around the origin
};

Components with_optimizer(const OptimizerSlip& slip);
Components with_weights(const server::WeightPolicy& policy);
Components with_reply(server::Reply reply);

// Each Byzantine update comes one arrival earlier than it may.
Components with_early_liars();

// empire sends +epsilon times the mean.
Components with_empire_of_the_wrong_sign();

// little adds the deviations that it should subtract.
Components with_little_of_the_wrong_sign();

}  // namespace ballast::verify
