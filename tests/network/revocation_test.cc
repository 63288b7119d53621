// Certificates that stop being good while their workers are at it: revoked, expired, or nobody can
// tell because the deny list cannot be read.

#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/network/test_certificates.h"
#include "tests/network/test_network.h"

namespace ballast::transport {
namespace {

using server::Verdict;
using std::chrono::milliseconds;

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class Denying : public testing::Test {
 protected:
  // Its hooks write to what is declared below it, which would otherwise be gone before.
  void TearDown() override { server.reset(); }

  void start() {
    setting.network.tls = authority.issue("server");
    setting.network.identify = [this](std::string_view pem) -> Identified {
      const std::lock_guard lock(mutex_);
      std::optional<Denial> why = all_;
      if (const auto found = denials_.find(std::string(pem)); found != denials_.end()) {
        why = found->second;
      }
      if (!why) return common_name(pem);
      return tl::unexpected(Denied{.why = *why, .detail = "/secret/path/denied: no such file"});
    };
    setting.network.notice = [this](const Notice& notice) {
      const std::lock_guard lock(mutex_);
      notices_.push_back(notice);
    };
    setting.exchange.hooks.member = [this](std::uint32_t worker, MemberEvent event) {
      const std::lock_guard lock(mutex_);
      events_.emplace_back(worker, event);
    };
    server = start_server(setting);
  }

  ClientOptions options_of(const std::string& name) {
    ClientOptions options = client_options(*server, setting, "ignored");
    options.tls = authority.issue(name);
    options.patience = kSlowness * milliseconds(10'000);
    return options;
  }
  std::string certificate_of(const ClientOptions& options) {
    return content_of(options.tls->certificate);
  }

  void deny(const std::string& certificate, Denial why) {
    const std::lock_guard lock(mutex_);
    denials_[certificate] = why;
  }
  void deny_all(std::optional<Denial> why) {
    const std::lock_guard lock(mutex_);
    all_ = why;
  }
  int count_of(std::uint32_t worker, MemberEvent event) {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::ranges::count(events_, std::pair(worker, event)));
  }
  int count_of(Notice::Kind kind) {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(std::ranges::count(notices_, kind, &Notice::kind));
  }
  std::vector<Notice> notices() {
    const std::lock_guard lock(mutex_);
    return notices_;
  }

  static bool wait_until(const std::function<bool()>& is_so) {
    const auto end = std::chrono::steady_clock::now() + kSlowness * milliseconds(8'000);
    while (!is_so()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(milliseconds(10));
    }
    return true;
  }
  bool has_row(std::uint32_t worker) {
    bool has_one = false;
    server->exchange().inspect(
        [&](const server::ParameterServer& core) { has_one = core.worker(worker).weight > 0; });
    return has_one;
  }

  TestAuthority authority;
  TestSetting setting;
  std::optional<NetworkServer> server;

 private:
  std::mutex mutex_;
  std::map<std::string, Denial> denials_;
  std::optional<Denial> all_;
  std::vector<Notice> notices_;
  std::vector<std::pair<std::uint32_t, MemberEvent>> events_;
};

TEST_F(Denying, ARevokedWorkerLosesItsRowAtOnceWhileItComputes) {
  start();
  const ClientOptions options = options_of("w0");
  Client client = Client::make(options).value();
  ASSERT_TRUE(client.join());
  ASSERT_TRUE(client.push(Values(setting.dim, 1.0f)));
  EXPECT_TRUE(has_row(0));
  deny(certificate_of(options), Denial::kRevoked);
  EXPECT_TRUE(wait_until([&] { return !has_row(0); }));
  EXPECT_EQ(count_of(0, MemberEvent::kRevoked), 1);
  const auto refused = client.push(Values(setting.dim, 1.0f));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("the certificate was revoked"), std::string::npos);
  EXPECT_EQ(server->counts().workers_revoked, 1u);
  EXPECT_TRUE(wait_until([&] { return count_of(Notice::Kind::kWorkerDenied) == 1; }));
}

TEST_F(Denying, ARevokedWorkerLosesItsRowAtOnceWhileItIsAway) {
  start();
  const ClientOptions options = options_of("w0");
  {
    Client client = Client::make(options).value();
    ASSERT_TRUE(client.join());
    ASSERT_TRUE(client.push(Values(setting.dim, 1.0f)));
  }
  ASSERT_TRUE(wait_until([&] { return count_of(0, MemberEvent::kGone) == 1; }));
  EXPECT_TRUE(has_row(0));
  deny(certificate_of(options), Denial::kRevoked);
  EXPECT_TRUE(wait_until([&] { return !has_row(0); }));
  EXPECT_EQ(count_of(0, MemberEvent::kRevoked), 1);
}

// A server that was started again knows its workers' certificates from the checkpoint.
TEST_F(Denying, WhoWasRevokedWhileTheServerWasAwayLosesItsRowBeforeItComesBack) {
  const TlsFiles files = authority.issue("w1");
  setting.network.certificates = {"", content_of(files.certificate)};
  start();
  EXPECT_EQ(count_of(1, MemberEvent::kRevoked), 0);
  deny(content_of(files.certificate), Denial::kRevoked);
  EXPECT_TRUE(wait_until([&] { return count_of(1, MemberEvent::kRevoked) == 1; }));
  EXPECT_EQ(count_of(0, MemberEvent::kRevoked), 0);
}

TEST_F(Denying, AWorkerRevokedWhileItIsHeldIsTold) {
  setting.weights = server::CappedWeights{.f = 1, .share = 0.34};
  start();
  const ClientOptions options = options_of("w0");
  std::thread held([&] {
    Client client = Client::make(options).value();
    ASSERT_TRUE(client.join());
    const auto refused = client.push(Values(setting.dim, 1.0f));
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("revoked"), std::string::npos);
  });
  EXPECT_TRUE(wait_until([&] { return count_of(0, MemberEvent::kHeld) == 1; }));
  deny(certificate_of(options), Denial::kRevoked);
  held.join();
  EXPECT_TRUE(wait_until([&] { return count_of(0, MemberEvent::kRevoked) == 1; }));
  EXPECT_FALSE(has_row(0));
}

// The old certificate of a worker that has a new one: neither its row nor its stream is touched.
TEST_F(Denying, RevokingTheOldCertificateOfARotatedWorkerDoesNotDisturbIt) {
  start();
  const ClientOptions older = options_of("w0");
  const std::string old_certificate = certificate_of(older);
  std::optional<Client> first = Client::make(older).value();
  ASSERT_TRUE(first->join());
  ASSERT_TRUE(first->push(Values(setting.dim, 1.0f)));
  first.reset();
  const ClientOptions newer = options_of("w0");  // replaces the files
  ASSERT_NE(certificate_of(newer), old_certificate);
  Client second = Client::make(newer).value();
  ASSERT_TRUE(second.join());
  ASSERT_TRUE(second.push(Values(setting.dim, 1.0f)));
  deny(old_certificate, Denial::kRevoked);
  std::this_thread::sleep_for(milliseconds(2'200));  // two looks at the certificates
  EXPECT_TRUE(has_row(0));
  EXPECT_EQ(second.push(Values(setting.dim, 1.0f)).value().verdict, Verdict::kAccepted);
  EXPECT_EQ(second.reconnect_count(), 0u);
  EXPECT_EQ(count_of(0, MemberEvent::kRevoked), 0);
}

// Three seconds during which the server can tell of nobody, or its clock is wrong: workers wait.
TEST_F(Denying, NobodyIsSentAwayForGoodWhileTheServerCannotTell) {
  for (const Denial why : {Denial::kUnsure, Denial::kExpired, Denial::kNotYetValid}) {
    SCOPED_TRACE(static_cast<int>(why));
    start();
    Client client = Client::make(options_of("w0")).value();
    ASSERT_TRUE(client.join());
    ASSERT_TRUE(client.push(Values(setting.dim, 1.0f)));
    deny_all(why);
    std::thread later([&] {
      std::this_thread::sleep_for(milliseconds(1'500));
      deny_all(std::nullopt);
    });
    const auto pushed = client.push(Values(setting.dim, 1.0f));
    later.join();
    ASSERT_TRUE(pushed) << pushed.error().message;
    EXPECT_TRUE(has_row(0));
    EXPECT_EQ(client.push(Values(setting.dim, 1.0f)).value().verdict, Verdict::kAccepted);
    EXPECT_EQ(count_of(0, MemberEvent::kRevoked), 0);
    EXPECT_EQ(count_of(0, MemberEvent::kLeft), 0);
  }
}

// The operator revokes, and the new list cannot be read at first.
TEST_F(Denying, WhoWasRevokedWhileTheServerCouldNotTellIsOutWhenItCan) {
  start();
  const ClientOptions options = options_of("w0");
  Client client = Client::make(options).value();
  ASSERT_TRUE(client.join());
  ASSERT_TRUE(client.push(Values(setting.dim, 1.0f)));
  deny_all(Denial::kUnsure);
  ASSERT_TRUE(wait_until([&] { return count_of(0, MemberEvent::kGone) == 1; }));
  EXPECT_TRUE(has_row(0));
  deny(certificate_of(options), Denial::kRevoked);
  deny_all(std::nullopt);
  EXPECT_TRUE(wait_until([&] { return !has_row(0); }));
  EXPECT_EQ(count_of(0, MemberEvent::kRevoked), 1);
  const auto refused = client.push(Values(setting.dim, 1.0f));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("revoked"), std::string::npos);
}

TEST_F(Denying, TheReasonIsToldButNoPathOfTheServer) {
  start();
  ClientOptions options = options_of("w0");
  options.patience = milliseconds(100);
  const std::map<Denial, std::string> expected = {{Denial::kRevoked, "was revoked"},
                                                  {Denial::kExpired, "has expired"},
                                                  {Denial::kNotYetValid, "not yet valid"},
                                                  {Denial::kUnsure, "try again"}};
  for (const auto& [why, words] : expected) {
    deny_all(why);
    const auto joined = Client::make(options).value().join();
    ASSERT_FALSE(joined);
    EXPECT_NE(joined.error().message.find(words), std::string::npos) << joined.error().message;
    EXPECT_EQ(joined.error().message.find("secret"), std::string::npos) << joined.error().message;
  }
}

TEST_F(Denying, TheLogHearsOfADenyListOnceForEachChange) {
  start();
  Client client = Client::make(options_of("w0")).value();
  ASSERT_TRUE(client.join());
  deny_all(Denial::kUnsure);
  EXPECT_TRUE(wait_until([&] { return count_of(Notice::Kind::kDenyListUnreadable) == 1; }));
  EXPECT_TRUE(server->counts().is_deny_list_unreadable);
  std::this_thread::sleep_for(milliseconds(2'200));  // two more looks
  deny_all(std::nullopt);
  ASSERT_TRUE(client.push(Values(setting.dim, 1.0f)));
  EXPECT_TRUE(wait_until([&] { return count_of(Notice::Kind::kDenyListReadable) == 1; }));
  EXPECT_EQ(count_of(Notice::Kind::kDenyListUnreadable), 1);
  for (const Notice& notice : notices()) {
    if (notice.kind != Notice::Kind::kDenyListUnreadable) continue;
    EXPECT_NE(notice.why.find("/secret/path"), std::string::npos);  // the operator's own log
  }
}

// One call of gRPC's health service, with an empty question: "is anybody there?"
class HealthCall {
 public:
  HealthCall(const NetworkServer& server, const TlsFiles& files, const char* method) {
    grpc::SslCredentialsOptions options{.pem_root_certs = content_of(files.authority),
                                        .pem_private_key = content_of(files.key),
                                        .pem_cert_chain = content_of(files.certificate)};
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub_ = std::make_unique<grpc::GenericStub>(
        grpc::CreateCustomChannel(address_of(server), grpc::SslCredentials(options), arguments));
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(15));
    call_ = stub_->PrepareCall(&context_, std::string("/grpc.health.v1.Health/") + method, &queue_);
    call_->StartCall(nullptr);
    wait();
    call_->WriteLast(grpc::ByteBuffer(&nothing_, 1), {}, nullptr);
    wait();
  }
  ~HealthCall() {
    context_.TryCancel();
    if (!is_finished_) finish();
    queue_.Shutdown();
  }
  // Whether there is an answer.
  bool read() {
    grpc::ByteBuffer answer;
    call_->Read(&answer, nullptr);
    return wait();
  }
  grpc::Status finish() {
    grpc::Status status;
    call_->Finish(&status, nullptr);
    wait();
    is_finished_ = true;
    return status;
  }

 private:
  bool wait() {
    void* tag = nullptr;
    bool is_ok = false;
    return queue_.Next(&tag, &is_ok) && is_ok;
  }

  grpc::Slice nothing_;
  std::unique_ptr<grpc::GenericStub> stub_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> call_;
  bool is_finished_ = false;
};

// Watches of certificates that are good, or were.
TEST_F(Denying, HeldWatchesKeepNobodyOut) {
  setting.network.limits.strangers_per_address_max = 4;
  start();
  const TlsFiles files = authority.issue("monitor");
  std::vector<std::unique_ptr<HealthCall>> watches;
  for (int i = 0; i < 4; ++i) {
    watches.push_back(std::make_unique<HealthCall>(*server, files, "Watch"));
    EXPECT_TRUE(watches.back()->read());
  }
  Client client = Client::make(options_of("w0")).value();
  ASSERT_TRUE(client.join());
  EXPECT_TRUE(client.push(Values(setting.dim, 1.0f)));
  EXPECT_FALSE(watches.front()->read());  // the oldest has made place
  EXPECT_GE(server->counts().guard.ended_displaced, 1u);
}

TEST_F(Denying, HealthIsNotForTheRevoked) {
  start();
  const TlsFiles files = authority.issue("monitor");
  {
    HealthCall check(*server, files, "Check");
    EXPECT_TRUE(check.read());
    EXPECT_TRUE(check.finish().ok());
  }
  HealthCall watch(*server, files, "Watch");
  EXPECT_TRUE(watch.read());
  deny(content_of(files.certificate), Denial::kRevoked);
  {
    HealthCall check(*server, files, "Check");
    EXPECT_FALSE(check.read());
  }
  EXPECT_GE(server->counts().calls_refused, 1u);
  // The watch that was open ends too, and with it its connection.
  EXPECT_FALSE(watch.read());
  EXPECT_NE(watch.finish().error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(wait_until([&] { return server->counts().guard.ended_denied >= 1; }));
}

}  // namespace
}  // namespace ballast::transport
