#pragma once
// Private to face/: a caller's method as the server knows one. A method that breaks its contract
// does not break the server: from its first fault on, updates are refused and the reason is shown.
//
// Thread-safety: none, like the method's own; fault() is asked where the server is called.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ballast/method.h"
#include "ballast/server/method.h"

namespace ballast::face {

class MethodAdapter final : public server::Method {
 public:
  MethodAdapter(std::unique_ptr<ballast::Method> method, std::size_t dim);

  std::string description() const override { return description_; }
  server::Answer on_update(const server::AdmittedUpdate& update) override;
  void remove(std::uint32_t worker) override;
  bool is_ready() const override { return !fault_; }
  std::string pause_reason() const override { return fault_ ? fault_->message : std::string(); }
  server::WorkerShare worker(std::uint32_t worker) const override;
  std::vector<server::NamedNumber> figures() const override;
  server::MethodStateView state() const override;
  Status restore(server::MethodState state,
                 std::span<const std::uint64_t> lifetime_counts) override;

  // What the method did wrong, if it did.
  Status fault() const;

 private:
  Result<server::Answer> ask(const server::AdmittedUpdate& update);
  void note(const Status& status) const;

  std::unique_ptr<ballast::Method> method_;
  std::size_t dim_;
  std::string description_;
  mutable std::optional<Error> fault_;
};

}  // namespace ballast::face
