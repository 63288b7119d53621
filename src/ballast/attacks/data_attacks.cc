#include "ballast/attacks/data_attacks.h"

#include <cstddef>
#include <numeric>

#include "ballast/attacks/attack_item.h"

namespace ballast::attacks {
namespace {

class LabelFlip final : public Attack {
 public:
  Result<std::vector<int>> label_map(int class_count) const override {
    if (class_count < 2) return invalid_argument("label-flip needs data of at least two classes");
    std::vector<int> map(static_cast<std::size_t>(class_count));
    std::iota(map.rbegin(), map.rend(), 0);
    return map;
  }
};

}  // namespace

AttackPointer make_label_flip() { return std::make_unique<LabelFlip>(); }

extern constinit const AttackItem kLabelFlipAttack = {
    {.name = "label-flip", .help = "takes label y for classes - 1 - y"},
    [](const expression::Arguments&) -> Result<AttackPointer> { return make_label_flip(); }};

}  // namespace ballast::attacks
