#include "ballast/experiment/run_checkpoint.h"

#include <fmt/core.h>

#include <bit>
#include <cmath>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "ballast/files/text_file.h"
#include "ballast/records/run_file.h"
#include "ballast/store/store.h"

namespace ballast::experiment {
namespace {

namespace fs = std::filesystem;

// In front of the names of everything that is not the method's own.
constexpr std::string_view kRun = "run-";
constexpr std::string_view kRunNumbers = "run-numbers";
constexpr std::string_view kAttackNumbers = "run-attack";
constexpr std::size_t kRecordBytesMax = std::size_t{1} << 30;
constexpr std::string_view kRecordPrefix = "record-";

std::string name_of(std::string_view what, std::size_t worker) {
  return fmt::format("{}{}-{}", kRun, what, worker);
}

// Numbers of a checkpoint are finite and whole ones exact up to 2^53; a loss or a sum may be
// neither, and travels as two halves of its bits.
void put_bits(std::vector<double>& numbers, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  numbers.push_back(static_cast<double>(bits >> 32U));
  numbers.push_back(static_cast<double>(bits & 0xffffffffU));
}

// Takes numbers out again, in their order; one that cannot have been put in spoils the rest.
class NumberReader {
 public:
  explicit NumberReader(const server::NamedNumbers* numbers)
      : numbers_(numbers != nullptr ? std::span<const double>(numbers->values)
                                    : std::span<const double>()) {}

  std::uint64_t whole() {
    if (next_ >= numbers_.size()) return fail();
    const double value = numbers_[next_++];
    const bool is_whole = value >= 0.0 && value <= 0x1p53 && value == std::floor(value);
    return is_whole ? static_cast<std::uint64_t>(value) : fail();
  }
  double bits() {
    const std::uint64_t high = whole();
    const std::uint64_t low = whole();
    if (high > UINT32_MAX || low > UINT32_MAX) (void)fail();
    return std::bit_cast<double>((high << 32U) | (low & UINT32_MAX));
  }

  // Whether none is left.
  bool is_over() const noexcept { return !is_fine_ || next_ == numbers_.size(); }

  // Whether all were read and each could be.
  bool is_done() const noexcept { return is_fine_ && next_ == numbers_.size(); }

 private:
  std::uint64_t fail() {
    is_fine_ = false;
    return 0;
  }

  std::span<const double> numbers_;
  std::size_t next_ = 0;
  bool is_fine_ = true;
};

server::NamedNumbers numbers_of_run(const sim::ClusterStateView& cluster, const Tally& tally) {
  server::NamedNumbers numbers{.name = std::string(kRunNumbers), .values = {}};
  for (const std::uint64_t number :
       {cluster.arrivals, cluster.byzantine_arrivals, tally.byzantine, tally.updates, tally.honest,
        tally.staleness_sum, tally.byzantine_staleness, tally.staleness_max}) {
    numbers.values.push_back(static_cast<double>(number));
  }
  put_bits(numbers.values, tally.loss_sum);
  put_bits(numbers.values, tally.training_seconds);
  put_bits(numbers.values, tally.total_seconds);
  for (const std::uint64_t count : cluster.adversary.counts) {
    numbers.values.push_back(static_cast<double>(count));
  }
  return numbers;
}

// What the adversary remembers beside what it has seen; nothing where nobody colludes.
void put_adversary(server::MethodStateView& state, const sim::ClusterStateView& cluster) {
  const sim::AdversaryStateView& adversary = cluster.adversary;
  for (std::size_t i = 0; i < adversary.updates.size(); ++i) {
    state.vectors.push_back({name_of("seen", i), adversary.counts[i], adversary.updates[i]});
  }
  if (adversary.memory == nullptr) return;
  const auto& memory = *adversary.memory;
  server::NamedNumbers numbers{
      .name = std::string(kAttackNumbers),
      .values = {static_cast<double>(cluster.held),
                 adversary.last_honest ? static_cast<double>(*adversary.last_honest) + 1.0 : 0.0,
                 static_cast<double>(memory.revision), static_cast<double>(memory.vectors.size())}};
  for (std::size_t i = 0; i < memory.vectors.size(); ++i) {
    const auto& kept = memory.vectors[i];
    numbers.values.push_back(static_cast<double>(kept.revision));
    state.vectors.push_back({name_of("attack", i), kept.revision, kept.values});
  }
  for (const double number : memory.numbers) put_bits(numbers.values, number);
  state.numbers.push_back(std::move(numbers));
}

bool read_numbers(const server::MethodState& state, SavedRun& run) {
  NumberReader reader(state.find_numbers(kRunNumbers));
  for (std::uint64_t* number :
       {&run.cluster.arrivals, &run.cluster.byzantine_arrivals, &run.tally.byzantine,
        &run.tally.updates, &run.tally.honest, &run.tally.staleness_sum,
        &run.tally.byzantine_staleness, &run.tally.staleness_max}) {
    *number = reader.whole();
  }
  for (double* number :
       {&run.tally.loss_sum, &run.tally.training_seconds, &run.tally.total_seconds}) {
    *number = reader.bits();
  }
  if (reader.is_done()) return true;  // nobody colludes
  run.cluster.adversary.counts.resize(run.cluster.server.senders.size());
  for (std::uint64_t& count : run.cluster.adversary.counts) count = reader.whole();
  return reader.is_done();
}

std::vector<float> take_vector(server::MethodState& state, const std::string& name) {
  server::NamedVector* const vector = state.find_vector(name);
  return vector != nullptr ? std::move(vector->values) : std::vector<float>();
}

bool read_adversary(server::MethodState& state, sim::ClusterState& cluster) {
  sim::AdversaryState& adversary = cluster.adversary;
  for (std::size_t i = 0; i < adversary.counts.size(); ++i) {
    adversary.updates.push_back(take_vector(state, name_of("seen", i)));
  }
  const server::NamedNumbers* const numbers = state.find_numbers(kAttackNumbers);
  if (numbers == nullptr) return adversary.counts.empty();
  NumberReader reader(numbers);
  cluster.held = reader.whole();
  const std::uint64_t last_honest = reader.whole();
  if (last_honest > adversary.counts.size()) return false;
  if (last_honest > 0) adversary.last_honest = static_cast<std::uint32_t>(last_honest - 1);
  adversary.memory.revision = reader.whole();
  const std::uint64_t vector_count = reader.whole();
  if (vector_count > numbers->values.size()) return false;
  for (std::uint64_t i = 0; i < vector_count; ++i) {
    adversary.memory.vectors.push_back(
        {.revision = reader.whole(), .values = take_vector(state, name_of("attack", i))});
  }
  while (!reader.is_over()) adversary.memory.numbers.push_back(reader.bits());
  return reader.is_done();
}

// Adds one worker to the state of the server.
void put_worker(server::MethodStateView& state, std::size_t i,
                const sim::WorkerProgress& progress) {
  const std::uint64_t k = progress.state.estimator.updates;
  server::NamedNumbers numbers{.name = name_of("worker", i),
                               .values = {static_cast<double>(k), progress.has_update ? 1.0 : 0.0,
                                          static_cast<double>(progress.version)}};
  put_bits(numbers.values, progress.loss);
  put_bits(numbers.values, progress.seconds);
  state.numbers.push_back(std::move(numbers));
  state.vectors.push_back({name_of("direction", i), k, progress.state.estimator.direction});
  state.vectors.push_back({name_of("model", i), k, progress.state.previous_model});
  state.vectors.push_back({name_of("statistics", i), k, progress.state.statistics});
}

bool read_worker(server::MethodState& state, std::size_t i, sim::WorkerProgress& progress) {
  NumberReader reader(state.find_numbers(name_of("worker", i)));
  progress.state.estimator.updates = reader.whole();
  progress.has_update = reader.whole() == 1;
  progress.version = reader.whole();
  progress.loss = reader.bits();
  progress.seconds = reader.bits();
  progress.state.estimator.direction = take_vector(state, name_of("direction", i));
  progress.state.previous_model = take_vector(state, name_of("model", i));
  progress.state.statistics = take_vector(state, name_of("statistics", i));
  return reader.is_done();
}

// The state of the server with everything else of the run in it.
server::ServerStateView with_run(const sim::ClusterStateView& cluster, const Tally& tally) {
  server::ServerStateView state = cluster.server;
  state.method_state.numbers.push_back(numbers_of_run(cluster, tally));
  for (std::size_t i = 0; i < cluster.workers.size(); ++i) {
    put_worker(state.method_state, i, cluster.workers[i]);
  }
  put_adversary(state.method_state, cluster);
  return state;
}

// Parts the two again; none if this is not the state of a run.
std::optional<SavedRun> without_run(server::ServerState state) {
  SavedRun run;
  run.cluster.server = std::move(state);
  server::MethodState& method = run.cluster.server.method_state;
  if (!read_numbers(method, run)) return std::nullopt;
  const std::size_t worker_count = run.cluster.server.senders.size();
  run.cluster.workers.resize(worker_count);
  for (std::size_t i = 0; i < worker_count; ++i) {
    if (!read_worker(method, i, run.cluster.workers[i])) return std::nullopt;
  }
  if (!read_adversary(method, run.cluster)) return std::nullopt;
  const auto is_ours = [](const auto& named) { return named.name.starts_with(kRun); };
  std::erase_if(method.numbers, is_ours);
  std::erase_if(method.vectors, is_ours);
  return run;
}

store::RunShape shape_of(const RunIdentity& identity) {
  return {.config = identity.fingerprint + (identity.is_explained ? "-why" : ""),
          .worker_count = identity.worker_count,
          .dim = identity.dim,
          .statistic_count = identity.statistic_count};
}

}  // namespace

std::optional<std::string> fingerprint_in(const fs::path& folder) {
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (!entry.path().filename().string().starts_with(kRecordPrefix)) continue;
    const auto text = files::read_text(entry.path(), kRecordBytesMax);
    if (!text) continue;
    const auto record = records::parse_run(*text);
    if (record) return record->fingerprint;
  }
  return std::nullopt;
}

struct RunCheckpoint::Impl {
  fs::path folder;
  store::RunShape shape;
  std::optional<store::Store> store = std::nullopt;
  bool is_others = false;  // another process works on this run, and saves it

  fs::path record_path(std::uint64_t arrivals) const {
    return folder / fmt::format("{}{}.json", kRecordPrefix, arrivals);
  }

  std::optional<SavedRun> read() {
    is_others = store::is_in_use(folder);
    if (is_others) return std::nullopt;
    auto resumed = store::Store::resume(folder, shape);
    if (!resumed) return std::nullopt;
    auto run = without_run(std::move(resumed->state));
    if (!run) return std::nullopt;
    const auto text = files::read_text(record_path(run->cluster.arrivals), kRecordBytesMax);
    if (!text) return std::nullopt;
    auto record = records::parse_run(*text);
    if (!record) return std::nullopt;
    run->record = *std::move(record);
    store.emplace(std::move(resumed->store));
    newest = run->cluster.arrivals;
    return run;
  }

  Status write(const server::ServerStateView& state) {
    if (store) {
      BALLAST_TRY_STATUS(store->save(state, 0));
      return {};
    }
    auto created = store::Store::create(folder, "run", shape, state, 0);
    is_others = !created && store::is_in_use(folder);
    if (is_others) return {};
    if (!created) return tl::unexpected(std::move(created).error());
    store.emplace(*std::move(created));
    return {};
  }

  // What earlier checkpoints left; the two newest generations may still need theirs.
  void remove_old_records(std::uint64_t arrivals) {
    if (previous) {
      std::error_code ignored;
      fs::remove(record_path(*previous), ignored);
    }
    previous = std::exchange(newest, arrivals);
  }

  std::optional<std::uint64_t> newest = std::nullopt;
  std::optional<std::uint64_t> previous = std::nullopt;
};

RunCheckpoint::RunCheckpoint(fs::path folder, const RunIdentity& identity)
    : impl_(std::make_unique<Impl>()) {
  impl_->folder = std::move(folder);
  impl_->shape = shape_of(identity);
}

RunCheckpoint::~RunCheckpoint() = default;

std::optional<SavedRun> RunCheckpoint::load() {
  std::error_code ignored;
  if (!fs::exists(impl_->folder, ignored)) return std::nullopt;
  std::optional<SavedRun> run = impl_->read();
  if (!run && !impl_->is_others) remove();  // it would be in the way of the next one
  return run;
}

Status RunCheckpoint::save(const sim::ClusterStateView& cluster, const Tally& tally,
                           const records::RunRecord& record) {
  if (impl_->is_others) return {};
  BALLAST_TRY(const std::string text, records::run_json(record));
  BALLAST_TRY_STATUS(files::make_folder(impl_->folder));
  BALLAST_TRY_STATUS(files::write_text(impl_->record_path(cluster.arrivals), text));
  BALLAST_TRY_STATUS(impl_->write(with_run(cluster, tally)));
  impl_->remove_old_records(cluster.arrivals);
  return {};
}

void RunCheckpoint::remove() {
  impl_->store.reset();
  impl_->newest = impl_->previous = std::nullopt;
  std::error_code ignored;
  fs::remove_all(impl_->folder, ignored);
}

}  // namespace ballast::experiment
