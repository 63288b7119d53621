// ballast._core: the rules, tables and trainings. What talks to a network is ballast._net, so that
// gRPC is loaded only where it is used.

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "ballast/assembly/catalogues.h"
#include "ballast/base/parallel.h"
#include "ballast/expression/render.h"
#include "python/src/calls.h"
#include "python/src/errors.h"
#include "python/src/gil.h"
#include "python/src/modules.h"

namespace ballast::python {
namespace {

namespace nb = nanobind;

std::string catalogue(const std::string& kind) {
  return expression::to_json_lines(*value_or_raise(assembly::find_catalogue(kind)));
}

std::string canonical(const std::string& kind, const std::string& text) {
  const auto* found = value_or_raise(assembly::find_catalogue(kind));
  return value_or_raise(expression::canonical_text(*found, text));
}

}  // namespace

NB_MODULE(_core, module) {
  // A daemon thread that outlives the program keeps what it uses; it is no leak to warn of.
  nb::set_leak_warnings(false);
  register_errors();
  watch_for_forks();
  end_callbacks_at_exit(module);
  module.attr("version") = BALLAST_VERSION;
  module.def("hardware_threads", &hardware_threads);
  module.def("catalogue", &catalogue, nb::arg("kind"));
  module.def("canonical", &canonical, nb::arg("kind"), nb::arg("text"));
  add_rules(module);
  add_training(module);
  add_cluster(module);
}

}  // namespace ballast::python
