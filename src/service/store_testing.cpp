#include "service/store_testing.h"

#include <pwd.h>
#include <unistd.h>

#include "base/process.h"

namespace zkapex::testing {

namespace {

constexpr const char* kPrograms = "/usr/lib/postgresql/15/bin";

Path new_folder(const std::string& what) {
  std::string pattern = (Path(::testing::TempDir()) / ("zkapex-" + what + "-XXXXXX")).string();
  EXPECT_NE(::mkdtemp(pattern.data()), nullptr) << pattern;
  return pattern;
}

}  // namespace

PostgresServer::PostgresServer() : folder_(new_folder("postgres")) {
  // The server refuses to be root.
  if (::geteuid() == 0) {
    const passwd* user = ::getpwnam("postgres");
    EXPECT_TRUE(user != nullptr && ::chown(folder_.c_str(), user->pw_uid, user->pw_gid) == 0);
  }
  const std::string data = (folder_ / "data").string();
  command({"initdb", "-D", data, "-A", "trust", "-U", "zkapex", "--no-sync", "-E", "UTF8", "--locale=C"});
  start();
}

PostgresServer::~PostgresServer() {
  crash();
  std::filesystem::remove_all(folder_);
}

PostgresServer& PostgresServer::shared() {
  static PostgresServer server;
  return server;
}

void PostgresServer::command(const std::vector<std::string>& arguments) const {
  const std::string program = fmt::format("{}/{}", kPrograms, arguments.front());
  std::vector<std::string> all(arguments.begin() + 1, arguments.end());
  const bool root = ::geteuid() == 0;
  if (root) all.insert(all.begin(), {"-u", "postgres", "--", program});
  const auto done = run_program(root ? Path("/usr/sbin/runuser") : Path(program), all);
  EXPECT_TRUE(done.ok()) << done.error().message;
}

void PostgresServer::start() {
  const std::string options = fmt::format("-k {} -c listen_addresses='' -c fsync=off", folder_.string());
  command({"pg_ctl", "-D", (folder_ / "data").string(), "-l", (folder_ / "log").string(), "-w", "-s", "-o", options,
           "start"});
}

void PostgresServer::crash() {
  command({"pg_ctl", "-D", (folder_ / "data").string(), "-m", "immediate", "-w", "-s", "stop"});
}

std::string PostgresServer::new_database() {
  const std::string name = fmt::format("test{}", ++databases_);
  const auto address = [&](const std::string& database) {
    return fmt::format("postgresql:///{}?host={}&user=zkapex", database, folder_.string());
  };
  const auto maintenance = open_database(address("postgres"));
  EXPECT_TRUE(maintenance.ok()) << maintenance.error().message;
  EXPECT_TRUE((*maintenance)->run("CREATE DATABASE " + name, {}).ok());
  return address(name);
}

OnBothEngines::OnBothEngines()
    : folder_(new_folder("store")),
      address_(on_postgres() ? PostgresServer::shared().new_database() : (folder_ / "store.sqlite").string()) {}

OnBothEngines::~OnBothEngines() { std::filesystem::remove_all(folder_); }

Store OnBothEngines::connect() const {
  auto store = Store::open(address_);
  EXPECT_TRUE(store.ok()) << store.error().message;
  return *std::move(store);
}

void OnBothEngines::sequence(Store& store) {
  LogTables log(store.database());
  const auto queued = log.queued(1000);
  ASSERT_TRUE(queued.ok()) << queued.error().message;
  std::vector<PlacedEntry> placed;
  for (const QueuedEntry& entry : *queued) placed.push_back({entry.id, sha256(entry.entry)});
  const auto size = log.size();
  ASSERT_TRUE(size.ok());
  const auto done = log.place(*size, placed);
  ASSERT_TRUE(done.ok() && *done);
}

void OnBothEngines::enrol(Store& store, const std::string& client) {
  const Digest code = digest_of("code of " + client);
  ASSERT_TRUE(store.add_code(code, "person " + client, 1000, 1).ok());
  const auto taken = store.enrol(code, client, key_of(client), bytes_of("client " + client), 2);
  ASSERT_TRUE(taken.ok()) << taken.error().message;
  ASSERT_EQ(name(taken->refusal), "none");
}

Announcement OnBothEngines::announcement(DeliveryKind kind, const std::string& client, const std::string& file,
                                         const std::string& window) {
  const std::string entry = fmt::format("{} of {} with {} for {}", name(kind), client, file, window);
  return {.kind = kind,
          .id = digest_of(entry),
          .client = client,
          .window = window,
          .file = blob_of(file),
          .entry = bytes_of(entry),
          .signer = key_of(client).id};
}

Conclusion OnBothEngines::conclusion(const Job& job, bool accepted, uint64_t from, const std::string& commitment) {
  Conclusion out;
  out.job = job.id;
  out.token = job.token;
  out.delivery = job.delivery.announced.id;
  out.accepted = accepted;
  out.reason = accepted ? "" : "equation";
  out.detail = accepted ? "" : "the proof does not hold";
  out.entry = bytes_of("verdict on " + to_hex(out.delivery));
  out.from = from;
  if (accepted) {
    out.commitment = digest_of(commitment);
    out.model = blob_of(commitment);
    out.record = blob_of("record " + commitment);
  }
  return out;
}

void OnBothEngines::registered(Store& store, const std::string& client) {
  enrol(store, client);
  const Announcement wanted = announcement(DeliveryKind::kRegistration, client, "registration of " + client);
  ASSERT_EQ(name(store.announce(wanted, 5)->refusal), "none");
  ASSERT_EQ(name(store.receive(wanted.id, bytes_of("receipt"), 6)->refusal), "none");
  sequence(store);
  const auto jobs = store.claim("worker", 100, 7);
  ASSERT_TRUE(jobs.ok() && jobs->size() == 1);
  const auto written = store.conclude(std::vector{conclusion(jobs->front(), true, 0, "model 1 of " + client)}, 8);
  ASSERT_TRUE(written.ok() && written->front());
  sequence(store);
}

WindowInfo OnBothEngines::window(const std::string& id, UnixTime opens, UnixTime deadline) {
  WindowInfo out;
  out.id = id;
  out.psi = blob_of("psi of " + id);
  out.mask = digest_of("mask of " + id);
  out.opens = opens;
  out.deadline = deadline;
  out.published = 50;
  out.entry = bytes_of("window " + id);
  return out;
}

}  // namespace zkapex::testing
