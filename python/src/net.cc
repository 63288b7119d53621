// ballast._net: a worker's connection and a server in the process. gRPC does not survive a fork, so
// whatever has used it refuses to be used in a child.

#include <fmt/core.h>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <unistd.h>

#include <utility>

#include "ballast/assembly/parts.h"
#include "ballast/identity/name.h"
#include "ballast/kernels/finite.h"
#include "ballast/service/credentials.h"
#include "ballast/service/plan.h"
#include "ballast/service/server_status.h"
#include "ballast/transport/client.h"
#include "ballast/wire/schema.h"
#include "python/src/calls.h"
#include "python/src/errors.h"

namespace ballast::python {
namespace {

namespace nb = nanobind;

using Values = nb::ndarray<const float, nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Tensors = std::vector<std::pair<std::string, std::vector<std::uint64_t>>>;
using Strings = std::vector<std::string>;

constexpr std::chrono::seconds kWatchEvery{1};  // between looks at the certificate files

std::span<const float> span_of(const Values& values) { return {values.data(), values.shape(0)}; }

nb::object to_numpy(std::span<const float> values) {
  auto* kept = new std::vector<float>(values.begin(), values.end());
  const nb::capsule owner(
      kept, [](void* pointer) noexcept { delete static_cast<std::vector<float>*>(pointer); });
  return nb::ndarray<nb::numpy, float, nb::ndim<1>>(kept->data(), {kept->size()}, owner).cast();
}

std::uint64_t hash_of(const Tensors& tensors) {
  std::vector<wire::TensorSchema> schema;
  for (const auto& [name, shape] : tensors) schema.push_back({.name = name, .shape = shape});
  return wire::schema_hash(schema);
}

std::chrono::sys_seconds wall_clock() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

std::optional<transport::TlsFiles> tls_files(const std::optional<Strings>& files) {
  if (!files) return std::nullopt;
  return transport::TlsFiles{(*files)[0], (*files)[1], (*files)[2]};
}

// gRPC's threads do not survive a fork, and what it remembers of them does.
void refuse_if_used_before_fork() {
  static pid_t user = 0;
  if (user == 0) user = getpid();
  if (user == getpid()) return;
  throw LibraryError{{ErrorCode::kUnsupported,
                      "the process before the fork has used the network already, and a child "
                      "cannot then; fork before, or start a new process"}};
}

// Belongs to the process that made it.
class Owned {
 public:
  bool is_mine() const { return getpid() == process_; }
  void check(const char* what) const {
    if (!is_mine()) {
      throw LibraryError{{ErrorCode::kUnsupported,
                          fmt::format("this {} belongs to the process before the fork; make one in "
                                      "this process",
                                      what)}};
    }
  }

 private:
  pid_t process_ = getpid();
};

class ClientHandle {
 public:
  ClientHandle(std::string server, std::string name, const std::optional<Strings>& tls,
               std::string server_name, const Tensors& tensors, std::size_t dim,
               std::size_t statistic_count, double patience, bool is_short, std::uint64_t seed)
      : dim_(dim), statistic_count_(statistic_count) {
    if (dim == 0) raise_invalid("a model has at least one value");
    raise_if_failed(identity::check_name(name));  // gRPC ends the process for some others
    options_ = {.server = std::move(server),
                .tls = tls_files(tls),
                .name = std::move(name),
                .server_name = std::move(server_name),
                .schema_hash = hash_of(tensors),
                .dim = dim,
                .statistic_count = statistic_count,
                .patience = std::chrono::milliseconds(static_cast<std::int64_t>(patience * 1e3)),
                .seed = seed,
                .stop = &stop_};
    if (is_short) options_.model_encoding = options_.update_encoding = wire::Encoding::kBfloat16;
  }

  ~ClientHandle() {
    if (!owned_.is_mine()) static_cast<void>(client_.release());  // gRPC cannot end it here
    const WithoutLock released;
    client_.reset();
  }

  nb::object join() {
    const Turn turn(*this);
    if (!client_) connect();
    const auto model = value_or_raise(attempt([&] { return client_->join(); }));
    has_joined_ = true;
    return told(model);
  }

  nb::object push(const Values& values, const Values& statistics) {
    const Turn turn(*this);
    if (!client_ || !has_joined_) raise_invalid("join() comes before the first push()");
    check(span_of(values), dim_, "the update");
    check(span_of(statistics), statistic_count_, "the statistics");
    auto pushed = attempt([&] { return client_->push(span_of(values), span_of(statistics)); });
    nb::object verdict = nb::none();
    std::uint64_t staleness = 0;
    if (pushed && pushed->verdict) {
      verdict = nb::str(server::name(*pushed->verdict).data());
      staleness = pushed->staleness;
    }
    transport::ClientModel next = pushed ? pushed->next : transport::ClientModel{};
    if (!(pushed && next.is_over) && has_new_certificate(!pushed)) {
      next = value_or_raise(attempt([&] { return client_->rejoin(); }));
    } else if (!pushed) {
      has_joined_ = false;
      throw LibraryError{std::move(pushed).error()};
    }
    return nb::make_tuple(verdict, staleness, told(next));
  }

  void leave() {
    const Turn turn(*this);
    if (!client_) return;
    has_joined_ = false;
    const WithoutLock released;
    client_->leave();
  }

  std::uint64_t reconnects() const { return client_ ? client_->reconnect_count() : 0; }

 private:
  // One call at a time, in the process that made the connection.
  struct Turn {
    explicit Turn(ClientHandle& handle) : taken(handle) {
      if (handle.client_) handle.owned_.check("client");
      if (handle.is_busy_) raise_invalid("another thread is using this client; give each its own");
      handle.is_busy_ = true;
    }
    ~Turn() { taken.is_busy_ = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ClientHandle& taken;
  };

  void connect() {
    refuse_if_used_before_fork();
    owned_ = Owned();
    if (options_.tls) {
      raise_if_failed(service::check_credentials(*options_.tls, options_.name, wall_clock()));
      watch_.emplace(*options_.tls, options_.name, wall_clock);
    }
    client_ =
        std::make_unique<transport::Client>(value_or_raise(transport::Client::make(options_)));
  }

  template <typename Work>
  std::invoke_result_t<Work> attempt(Work&& work) {
    stop_ = false;
    std::optional<std::invoke_result_t<Work>> result;
    try {
      interruptible(stop_, [&] { result.emplace(work()); });
    } catch (...) {
      stop_ = false;
      throw;
    }
    return *std::move(result);
  }

  static void check(std::span<const float> values, std::size_t size, const char* what) {
    if (values.size() != size) {
      raise_invalid(fmt::format("{} must have {} values, not {}", what, size, values.size()));
    }
    if (!kernels::all_finite(values)) {
      raise_invalid(fmt::format("{} must not hold a NaN or an infinity", what));
    }
  }

  bool has_new_certificate(bool has_failed) {
    const auto now = std::chrono::steady_clock::now();
    if (!watch_ || (!has_failed && now - watched_at_ < kWatchEvery)) return false;
    watched_at_ = now;
    std::string problem;
    return watch_->has_new_files(problem);
  }

  static nb::object told(const transport::ClientModel& model) {
    return nb::make_tuple(model.run, model.incarnation, model.version, model.count,
                          to_numpy(model.values), model.is_over);
  }

  std::size_t dim_;
  std::size_t statistic_count_;
  transport::ClientOptions options_;
  std::atomic<bool> stop_ = false;
  Owned owned_;
  std::unique_ptr<transport::Client> client_;
  std::optional<service::CertificateWatch> watch_;
  std::chrono::steady_clock::time_point watched_at_{};
  bool has_joined_ = false;
  bool is_busy_ = false;
};

// A model of which only the beginning is known: what a server needs.
class FixedModel final : public learn::Model {
 public:
  FixedModel(std::vector<float> parameters, std::vector<float> statistics)
      : parameters_(std::move(parameters)), statistics_(std::move(statistics)) {}

  std::size_t dim() const noexcept override { return parameters_.size(); }
  std::span<const learn::TensorSlot> parameters() const noexcept override { return {}; }
  std::span<const learn::TensorSlot> statistics() const noexcept override { return {}; }
  std::vector<float> initial_parameters(std::uint64_t) const override { return parameters_; }
  std::vector<float> initial_statistics() const override { return statistics_; }
  Result<std::unique_ptr<worker::GradientSource>> make_source(
      const learn::TrainingData&) const override {
    return unsupported("a server computes no gradients");
  }
  Result<std::unique_ptr<worker::Evaluator>> make_evaluator(
      std::shared_ptr<const data::Dataset>) const override {
    return unsupported("a server in the process evaluates nothing");
  }

 private:
  std::vector<float> parameters_;
  std::vector<float> statistics_;
};

class ServerHandle {
 public:
  ServerHandle(const std::string& text, const Values& parameters, const Values& statistics,
               const Tensors& tensors, std::string listen, const std::optional<Strings>& tls,
               std::vector<std::string> names, std::size_t threads)
      : initial_statistics_(span_of(statistics).begin(), span_of(statistics).end()) {
    refuse_if_used_before_fork();
    if (parameters.shape(0) == 0) raise_invalid("the model has no parameters");
    if (!kernels::all_finite(span_of(parameters))) {
      raise_invalid("the model's parameters hold a NaN or an infinity");
    }
    const auto planned = value_or_raise(
        service::plan_run(value_or_raise(experiment::parse_spec(text, "server.toml"))));
    run_ = planned.name;
    updates_ = planned.run.updates;
    names_ = names.empty() ? service::default_names(planned.run.workers) : std::move(names);
    for (const std::string& name : names_) raise_if_failed(identity::check_name(name));
    if (names_.size() != planned.run.workers) {
      raise_invalid(fmt::format("{} workers are named, but there are {}", names_.size(),
                                planned.run.workers));
    }
    server::AdmissionOptions admission = assembly::network_admission(planned.run);
    admission.names = names_;
    const FixedModel model({span_of(parameters).begin(), span_of(parameters).end()},
                           initial_statistics_);
    auto server = value_or_raise(
        assembly::make_server(planned.run, planned.seed, model, admission, {.threads = threads}));
    transport::NetworkServerOptions options{
        .listen = std::move(listen), .run = run_, .schema_hash = hash_of(tensors)};
    if (tls) {
      const service::ServerCredentials credentials{.files = *tls_files(tls), .denied = (*tls)[3]};
      raise_if_failed(service::check_credentials(credentials, wall_clock()));
      options.tls = credentials.files;
      options.identify = value_or_raise(service::make_identify(credentials.denied, wall_clock));
    }
    const WithoutLock released;
    look(server);
    network_ =
        std::make_unique<transport::NetworkServer>(value_or_raise(transport::NetworkServer::start(
            options, std::move(server),
            {.hooks = {.judged = [this](const auto& state, const auto& update) {
               return on_judged(state, update);
             }}})));
    port_ = network_->port();
    ender_ = std::make_unique<std::thread>([this] { end_when_over(); });
  }

  ~ServerHandle() {
    if (!owned_.is_mine()) {  // its threads are not here to end it
      static_cast<void>(network_.release());
      static_cast<void>(ender_.release());
      static_cast<void>(changed_.release());
      return;
    }
    const WithoutLock released;
    stop_now();
  }

  std::uint16_t port() const { return port_; }
  const std::vector<std::string>& names() const { return names_; }

  bool is_over() {
    owned_.check("server");
    const std::lock_guard lock(mutex_);
    return is_over_;
  }

  // True once the training is over.
  bool wait(double seconds) {
    owned_.check("server");
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    std::atomic<bool> stop = false;
    bool is_done = false;
    interruptible(stop, [&] {
      std::unique_lock lock(mutex_);
      while (!is_over_ && !is_stopping_ && !stop && std::chrono::steady_clock::now() < end) {
        changed_->wait_for(lock, std::chrono::milliseconds(50));
      }
      is_done = is_over_;
    });
    return is_done;
  }

  nb::object model() {
    refresh();
    const std::lock_guard lock(mutex_);
    return nb::make_tuple(model_.version, to_numpy(*model_.values), to_numpy(statistics_));
  }

  std::string status() {
    refresh();
    const std::lock_guard lock(mutex_);
    return service::status_json(status_);
  }

  void stop() {
    owned_.check("server");
    const WithoutLock released;
    stop_now();
  }

 private:
  std::optional<transport::Close> on_judged(const server::ParameterServer& server,
                                            const transport::JudgedUpdate& update) {
    {
      const std::lock_guard lock(mutex_);
      if (is_over_) return transport::Close::kFinished;
    }
    if (update.outcome.verdict != server::Verdict::kAccepted) return std::nullopt;
    if (server.accepted_count() < updates_) return std::nullopt;
    look(server);
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    changed_->notify_all();
    return std::nullopt;
  }

  // On the thread that owns the server's state.
  void look(const server::ParameterServer& server) {
    auto statistics = server.statistics();
    service::ServerStatus status = service::status_of(server, {});
    status.run = run_;
    status.updates = updates_;
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < status.workers.size() && i < names_.size(); ++i) {
      status.workers[i].name = names_[i];
    }
    status_ = std::move(status);
    model_ = server.model();
    statistics_ = statistics ? *std::move(statistics) : initial_statistics_;
  }

  // After the end nothing changes any more.
  void refresh() {
    owned_.check("server");
    const WithoutLock released;
    const std::lock_guard lock(network_mutex_);
    if (is_over_or_stopped() || !network_) return;
    network_->exchange().inspect([this](const auto& server) { look(server); });
  }

  bool is_over_or_stopped() {
    const std::lock_guard lock(mutex_);
    return is_over_ || is_stopping_;
  }

  void end_when_over() {
    std::unique_lock lock(mutex_);
    changed_->wait(lock, [this] { return is_over_ || is_stopping_; });
    const bool is_finished = is_over_;
    lock.unlock();
    const std::lock_guard network_lock(network_mutex_);
    network_->stop(is_finished ? transport::Close::kFinished : transport::Close::kStopping);
  }

  void stop_now() {
    {
      const std::lock_guard lock(mutex_);
      is_stopping_ = true;
      changed_->notify_all();
    }
    const std::lock_guard lock(ender_mutex_);
    if (ender_ != nullptr && ender_->joinable()) ender_->join();
  }

  Owned owned_;
  std::string run_;
  std::uint64_t updates_ = 0;
  std::vector<std::string> names_;
  std::vector<float> initial_statistics_;
  std::uint16_t port_ = 0;

  std::mutex mutex_;  // of what follows
  std::unique_ptr<std::condition_variable> changed_ = std::make_unique<std::condition_variable>();
  bool is_over_ = false;
  bool is_stopping_ = false;
  service::ServerStatus status_;
  server::Snapshot model_;
  std::vector<float> statistics_;

  std::mutex network_mutex_;
  std::unique_ptr<transport::NetworkServer> network_;
  std::mutex ender_mutex_;
  std::unique_ptr<std::thread> ender_;  // stops the network when the training is over
};

void add_network(nb::module_& module) {
  nb::class_<ClientHandle>(module, "Client")
      .def(nb::init<std::string, std::string, const std::optional<Strings>&, std::string,
                    const Tensors&, std::size_t, std::size_t, double, bool, std::uint64_t>(),
           nb::arg("server"), nb::arg("name"), nb::arg("tls").none(), nb::arg("server_name"),
           nb::arg("tensors"), nb::arg("dim"), nb::arg("statistic_count"), nb::arg("patience"),
           nb::arg("is_short"), nb::arg("seed"))
      .def("join", &ClientHandle::join)
      .def("push", &ClientHandle::push, nb::arg("values"), nb::arg("statistics"))
      .def("leave", &ClientHandle::leave)
      .def_prop_ro("reconnects", &ClientHandle::reconnects);
  nb::class_<ServerHandle>(module, "Server")
      .def(nb::init<const std::string&, const Values&, const Values&, const Tensors&, std::string,
                    const std::optional<Strings>&, std::vector<std::string>, std::size_t>(),
           nb::arg("text"), nb::arg("parameters"), nb::arg("statistics"), nb::arg("tensors"),
           nb::arg("listen"), nb::arg("tls").none(), nb::arg("names"), nb::arg("threads"))
      .def_prop_ro("port", &ServerHandle::port)
      .def_prop_ro("names", &ServerHandle::names)
      .def_prop_ro("is_over", &ServerHandle::is_over)
      .def("wait", &ServerHandle::wait, nb::arg("seconds"))
      .def("model", &ServerHandle::model)
      .def("status", &ServerHandle::status)
      .def("stop", &ServerHandle::stop);
}

}  // namespace

NB_MODULE(_net, module) {
  nb::set_leak_warnings(false);
  register_errors();
  add_network(module);
}

}  // namespace ballast::python
