#pragma once
// Private to simulate/: methods with a planted defect, for mutants.h.

#include "ballast/server/method.h"
#include "ballast/simulate/scenario.h"

namespace ballast::simulate {

server::MethodPointer refuse_rows_after_removal(server::MethodPointer, const Scenario&);
server::MethodPointer lead_by_row_count(server::MethodPointer, const Scenario&);
server::MethodPointer never_want_last(server::MethodPointer, const Scenario&);
server::MethodPointer freeze_revisions(server::MethodPointer, const Scenario&);
server::MethodPointer restore_counts_as_one(server::MethodPointer, const Scenario&);
server::MethodPointer restore_without_past(server::MethodPointer, const Scenario&);
server::MethodPointer restore_without_collected(server::MethodPointer, const Scenario&);
server::MethodPointer refuse_by_forgotten_number(server::MethodPointer, const Scenario&);
server::MethodPointer take_updates_for_fresh(server::MethodPointer, const Scenario&);

void loosen_caps(Scenario& scenario);

}  // namespace ballast::simulate
