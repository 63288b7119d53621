#pragma once
// One training run as a plain value: every choice but the seed. keys.h has the table that says how
// each member is written in a specification and what it means; validate.h says which values fit
// together. The defaults are the paper's MNIST setting with nine workers.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/learn/registry.h"
#include "ballast/server/parameter_server.h"

namespace ballast::assembly {

// A specification names these by words of its own, but they are the same choices.
using Engine = learn::Engine;
using Reply = server::Reply;

enum class PartitionKind { kShared, kEven, kDirichlet, kShards };
enum class Clock { kDraw, kVirtual };
enum class Optimizer { kMu2, kMomentum, kSgd };
enum class Alpha { kConstant, kLinear };
enum class ProjectionKind { kNone, kBox, kBall };

// The value of `data` for a user's own arrays.
inline constexpr std::string_view kDataFromFiles = "files";

struct RunSpec {
  std::string data = "mnist";
  std::filesystem::path data_dir;  // empty: data::default_data_folder()
  std::filesystem::path train_images;
  std::filesystem::path train_labels;
  std::filesystem::path test_images;
  std::filesystem::path test_labels;
  std::uint64_t validation_samples = 0;  // of the training set, tested on; 0: the test set is
  bool augment = true;
  PartitionKind partition = PartitionKind::kShared;
  double dirichlet_alpha = 1.0;
  std::uint64_t shards_per_worker = 2;

  std::string model;  // empty: what resolve() takes for the data
  std::uint64_t hidden = 100;
  Engine engine = Engine::kNative;
  std::uint64_t batch = 16;

  std::uint64_t workers = 9;
  std::uint64_t byzantine = 1;
  double share = 0.4;
  std::string attack = "sign-flip";  // of attacks::attack_registry()

  std::string arrivals = "id";  // of sim::arrival_registry()
  std::filesystem::path trace;
  Clock clock = Clock::kDraw;
  std::string compute_time = "constant";  // of sim::compute_time_registry()
  Reply reply = Reply::kPaper;
  std::uint64_t staleness_max = 0;  // 0: no limit

  std::string method = "table";      // of methods::method_registry()
  std::uint64_t server_samples = 0;  // held out for gradients of the server's own; 0: none
  std::uint64_t server_batch = 100;  // samples per such gradient
  std::string rule = "gm";           // of robust::rule_registry()
  std::string weights = "count";     // of server::weight_registry()

  Optimizer optimizer = Optimizer::kMu2;
  double eta = 0.01;
  std::vector<std::uint64_t> eta_decay_after;  // empty: eta stays as it is
  double eta_decay_factor = 0.1;
  std::optional<double> beta = 0.25;  // nothing: 1/k
  Alpha alpha = Alpha::kConstant;
  double gamma = 0.1;
  double momentum = 0.9;
  ProjectionKind projection = ProjectionKind::kNone;
  double box_low = -1.0;
  double box_high = 1.0;
  double ball_radius = 1.0;

  std::string device = "cpu";  // one of kernels::kDevices

  std::uint64_t updates = 3750;
  std::uint64_t evaluate_every = 150;

  bool operator==(const RunSpec&) const = default;
};

// Whether the model is a user's own TorchScript file.
bool is_model_file(std::string_view model);

// What the text of a rule or method may hold in place of a number of its run: "ctma(gm, {share})".
// The second is the share that the widest cap of `weights` allows, the third the number of
// Byzantine workers, the last the fewest workers among which these are a minority.
inline constexpr std::string_view kSharePlaceholder = "{share}";
inline constexpr std::string_view kCapSharePlaceholder = "{cap_share}";
inline constexpr std::string_view kByzantinePlaceholder = "{f}";
inline constexpr std::string_view kMinorityPlaceholder = "{2f+1}";

// Fills in what follows from other keys: the data set's own model where none is named, LibTorch for
// a model from a file, and the numbers that placeholders in rule and method stand for. Attack,
// arrivals, compute time, method and weights become canonical, so that runs that are the same are
// equal. Other text in braces and expressions that are wrong stay, and validate() refuses them.
RunSpec resolve(RunSpec run);

}  // namespace ballast::assembly
