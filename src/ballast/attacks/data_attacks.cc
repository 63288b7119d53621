#include "ballast/attacks/data_attacks.h"

#include <cstddef>
#include <numeric>

#include "ballast/attacks/attack_item.h"
#include "ballast/base/check.h"

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

class BackDoor final : public Attack {
 public:
  explicit BackDoor(const worker::Trigger& trigger) : trigger_(trigger) {}

  std::optional<worker::Trigger> trigger() const override { return trigger_; }

 private:
  worker::Trigger trigger_;
};

using expression::Parameter;

constexpr double kPatchMax = 1024, kTargetMax = 65'535;

constexpr Parameter kBackDoorParameters[] = {
    Parameter::whole("target", "the class that the square stands for")
        .up_to(kTargetMax)
        .otherwise(0),
    Parameter::whole("size", "of the square, in pixels").from(1).up_to(kPatchMax).otherwise(3),
    Parameter::number("share", "of each batch that has it").above(0).up_to(1).otherwise(0.5)};

}  // namespace

AttackPointer make_label_flip() { return std::make_unique<LabelFlip>(); }

extern constinit const AttackItem kLabelFlipAttack = {
    {.name = "label-flip", .help = "takes label y for classes - 1 - y"},
    [](const expression::Arguments&) -> Result<AttackPointer> { return make_label_flip(); }};

AttackPointer make_back_door(const worker::Trigger& trigger) {
  BALLAST_CHECK(
      trigger.size >= 1 && trigger.target >= 0 && trigger.share > 0.0 && trigger.share <= 1.0,
      "no such trigger");
  return std::make_unique<BackDoor>(trigger);
}

extern constinit const AttackItem kBackDoorAttack = {
    {.name = "back-door",
     .help = "puts a white square into a corner of its images and gives them the target's label",
     .paper = "Gu et al. 2017",
     .parameters = kBackDoorParameters},
    [](const expression::Arguments& arguments) -> Result<AttackPointer> {
      return make_back_door({.size = arguments.whole("size"),
                             .target = static_cast<int>(arguments.whole("target")),
                             .share = arguments.number("share")});
    }};

}  // namespace ballast::attacks
