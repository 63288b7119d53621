#include "ballast/simulate/simulation.h"

#include "ballast/simulate/crew.h"
#include "ballast/simulate/world.h"

namespace ballast::simulate {

SimulationReport simulate(const SimulationOptions& options, const ServerComponents& components) {
  World world(options, components);
  Crew crew(world);
  return world.run(crew);
}

}  // namespace ballast::simulate
