#pragma once
// Private to methods/: what the methods other than `table` share. They count the updates they
// accepted of each worker and those they refused, and keep their state under names.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/methods/method_plan.h"
#include "ballast/server/method.h"

namespace ballast::methods {

// A vector and when it changed last, counted in arrivals.
struct KeptVector {
  std::vector<float> values;  // empty: there is none
  std::uint64_t revision = 0;
};

// Reads a state piece by piece, checking each; what was not asked for is an error at the end.
class StateReader {
 public:
  StateReader(server::MethodState& state, std::size_t worker_count, std::size_t dim)
      : state_(state), worker_count_(worker_count), dim_(dim) {}

  // Whole numbers: a single one, one per worker (workers that the state does not know get
  // `absent`), or a list of at most `size_max`.
  Result<std::uint64_t> whole(std::string_view name);
  Result<std::vector<std::uint64_t>> per_worker(std::string_view name, std::uint64_t absent = 0);
  Result<std::vector<std::uint64_t>> list(std::string_view name, std::size_t size_max);

  // Finite numbers, one per worker.
  Result<std::vector<double>> numbers(std::string_view name, double absent);

  // A vector of `dim` finite values; empty if there is none of that name.
  Result<KeptVector> vector(std::string_view name);

  // An error if the state holds something that was not asked for.
  Status finish() const;

 private:
  Result<const std::vector<double>*> find(std::string_view name, std::size_t size_max);

  server::MethodState& state_;
  std::size_t worker_count_;
  std::size_t dim_;
  std::size_t numbers_read_ = 0;
  std::size_t vectors_read_ = 0;
};

class CountedMethod : public server::Method {
 public:
  explicit CountedMethod(MethodSetting setting);

  std::string description() const final { return setting_.description; }
  server::Answer on_update(const server::AdmittedUpdate& update) final;
  void remove(std::uint32_t worker) final;
  void on_enrol() final;
  server::WorkerShare worker(std::uint32_t worker) const final;
  std::vector<server::NamedNumber> figures() const final;
  server::MethodStateView state() const final;
  Status restore(server::MethodState state, std::span<const std::uint64_t> lifetime_counts) final;

 protected:
  virtual server::Answer judge(const server::AdmittedUpdate& update) = 0;
  virtual void forget(std::uint32_t /*worker*/) {}
  virtual void add_figures(std::vector<server::NamedNumber>& /*figures*/) const {}
  virtual void save(server::MethodStateView& /*view*/) const {}

  // Reads what save() wrote. Changes nothing before reader.finish() said that all is well.
  virtual Status load(StateReader& reader) { return reader.finish(); }

  const MethodSetting& setting() const noexcept { return setting_; }
  // Places for workers, and the workers that there are: the n of a paper.
  std::size_t places() const noexcept { return setting_.worker_count; }
  std::size_t worker_count() const noexcept { return places() - setting_.free_places; }
  std::size_t dim() const noexcept { return setting_.dim; }

  // Updates that came, this one included: the revision of what it changes.
  std::uint64_t arrivals() const noexcept { return arrivals_; }

  static void add_figure(std::vector<server::NamedNumber>& figures, std::string name,
                         std::uint64_t value);
  static void save_whole(server::MethodStateView& view, std::string name, std::uint64_t value);
  static void save_list(server::MethodStateView& view, std::string name,
                        std::span<const std::uint64_t> values);
  static void save_vector(server::MethodStateView& view, std::string name,
                          const KeptVector& vector);  // unless it is empty

 private:
  MethodSetting setting_;
  std::vector<std::uint64_t> counts_;
  std::uint64_t arrivals_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace ballast::methods
