#pragma once
// What the extension modules are put together from.

#include <nanobind/nanobind.h>

namespace ballast::python {

void add_rules(nanobind::module_& module);     // aggregate, Table
void add_training(nanobind::module_& module);  // train, simulate, Worker
void add_cluster(nanobind::module_& module);   // Cluster

}  // namespace ballast::python
