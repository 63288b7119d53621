#include "ballast/face/method_adapter.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "ballast/face/guard.h"
#include "ballast/face/state_name.h"

namespace ballast {
namespace {

template <typename List>
auto* find(List& list, std::string_view name) {
  const auto found = std::ranges::find(list, name, [](const auto& entry) { return entry.name; });
  return found == list.end() ? nullptr : &*found;
}

// A state that no checkpoint can hold is found before one is written.
Status check(const MethodStateView& state) {
  std::set<std::string_view> names;
  const auto check_name = [&](std::string_view name) -> Status {
    if (face::is_state_name(name) && names.insert(name).second) return {};
    return invalid_argument(
        fmt::format("the state names \"{}\" twice, or it is not lower-case letters, digits and "
                    "dashes",
                    name));
  };
  for (const NamedNumbers& numbers : state.numbers) {
    BALLAST_TRY_STATUS(check_name(numbers.name));
    if (std::ranges::all_of(numbers.values, [](double value) { return std::isfinite(value); })) {
      continue;
    }
    return invalid_argument(fmt::format("the numbers \"{}\" are not finite", numbers.name));
  }
  names.clear();
  for (const NamedVectorView& vector : state.vectors) {
    BALLAST_TRY_STATUS(check_name(vector.name));
    if (!face::is_null(vector.values)) continue;
    return invalid_argument(fmt::format("the vector \"{}\" is a null span", vector.name));
  }
  return {};
}

}  // namespace

const NamedNumbers* MethodState::find_numbers(std::string_view name) const {
  return find(numbers, name);
}

const NamedVector* MethodState::find_vector(std::string_view name) const {
  return find(vectors, name);
}

namespace face {

MethodAdapter::MethodAdapter(std::unique_ptr<ballast::Method> method, std::size_t dim)
    : method_(std::move(method)), dim_(dim) {
  note(guarded("the method", [&]() -> Status {
    description_ = method_->description();
    return {};
  }));
}

server::Answer MethodAdapter::on_update(const server::AdmittedUpdate& update) {
  if (fault_) return server::Answer::refused();
  const auto answer = guarded("the method", [&] { return ask(update); });
  if (answer) return *answer;
  fault_ = answer.error();
  return server::Answer::refused();
}

Result<server::Answer> MethodAdapter::ask(const server::AdmittedUpdate& update) {
  const Snapshot newest = {.version = update.newest.version, .values = update.newest.values};
  const Answer answer = method_->on_update({.worker = update.worker,
                                            .number = update.number,
                                            .computed_version = update.computed_version,
                                            .staleness = update.staleness,
                                            .newest = newest,
                                            .values = update.values});
  if (answer.kind == Answer::Kind::kNothing) return server::Answer::nothing();
  if (answer.kind != Answer::Kind::kDirection) return server::Answer::refused();
  if (answer.direction.size() != dim_ || is_null(answer.direction)) {
    return invalid_argument(
        fmt::format("the method {} answered with a direction of {} values; the model has {}",
                    description_, answer.direction.size(), dim_));
  }
  if (!std::isfinite(answer.scale)) {
    return invalid_argument(
        fmt::format("the method {} scaled a step by {}", description_, answer.scale));
  }
  return server::Answer::along(answer.direction, answer.scale);
}

void MethodAdapter::remove(std::uint32_t worker) {
  note(guarded("the method", [&]() -> Status {
    method_->remove(worker);
    return {};
  }));
}

server::WorkerShare MethodAdapter::worker(std::uint32_t worker) const {
  server::WorkerShare share;
  note(guarded("the method", [&]() -> Status {
    share.count = method_->count_of(worker);
    return {};
  }));
  return share;
}

std::vector<server::NamedNumber> MethodAdapter::figures() const {
  std::vector<server::NamedNumber> figures;
  note(guarded("the method", [&]() -> Status {
    for (NamedNumber& figure : method_->figures()) {
      figures.push_back({.name = std::move(figure.name), .value = figure.value});
    }
    return {};
  }));
  return figures;
}

server::MethodStateView MethodAdapter::state() const {
  server::MethodStateView view;
  note(guarded("the method", [&]() -> Status {
    MethodStateView own = method_->state();
    BALLAST_TRY_STATUS(check(own));
    for (NamedNumbers& numbers : own.numbers) {
      view.numbers.push_back(
          {.name = std::move(numbers.name), .values = std::move(numbers.values)});
    }
    for (NamedVectorView& vector : own.vectors) {
      view.vectors.push_back(
          {.name = std::move(vector.name), .revision = vector.revision, .values = vector.values});
    }
    return {};
  }));
  return view;
}

Status MethodAdapter::restore(server::MethodState state, std::span<const std::uint64_t>) {
  return guarded("the method", [&] {
    MethodState own;
    for (server::NamedNumbers& numbers : state.numbers) {
      own.numbers.push_back({.name = std::move(numbers.name), .values = std::move(numbers.values)});
    }
    for (server::NamedVector& vector : state.vectors) {
      own.vectors.push_back({.name = std::move(vector.name),
                             .revision = vector.revision,
                             .values = std::move(vector.values)});
    }
    return method_->restore(std::move(own));
  });
}

Status MethodAdapter::fault() const {
  if (fault_) return tl::unexpected(*fault_);
  return {};
}

void MethodAdapter::note(const Status& status) const {
  if (!status && !fault_) fault_ = status.error();
}

}  // namespace face
}  // namespace ballast
