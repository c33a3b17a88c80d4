#include "tools/context.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "schema/digest.h"
#include "schema/opencode/json_text.h"

#include "engine/storage/owner_file.h"

#include "ingest/opencode/runtime.h"
#include "ingest/process/child_process.h"

#include "tools/config.h"
#include "tools/output/json_writer.h"

namespace respool {
namespace {

std::atomic<bool> interrupted{false};
unsigned file_mask = 022;

// The first one asks to stop; the second one stops at once.
void on_interrupt(int signal) {
  interrupted.store(true);
  std::signal(signal, SIG_DFL);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool may_color(const std::string& choice) {
  if (choice == "always") return true;
  if (choice == "never" || !environment("NO_COLOR").empty()) return false;
  return ::isatty(STDOUT_FILENO) != 0 && environment("TERM") != "dumb";
}

std::filesystem::path data_home() {
  if (const auto home = environment("XDG_DATA_HOME"); !home.empty()) return home;
  return std::filesystem::path(environment("HOME")) / ".local" / "share";
}

std::filesystem::path state_home() {
  if (const auto home = environment("XDG_STATE_HOME"); !home.empty()) return home;
  return std::filesystem::path(environment("HOME")) / ".local" / "state";
}

// Beside the store; where that disk is full, in the user's state folder, apart for each store.
std::vector<std::filesystem::path> spool_folders_of(const std::filesystem::path& store) {
  const auto state = state_home() / "respool";
  const std::string whole = canonical_directory(store);
  if (whole == canonical_directory(data_home() / "respool"))
    return {store / "spool", state / "spool"};
  return {store / "spool", state / fmt::format("spool-{:016x}", content_hash(whole))};
}

std::string host_name(const Config& config) {
  if (const auto name = environment("RESPOOL_HOST"); !name.empty()) return name;
  if (!config.host.empty()) return config.host;
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace

Context::Context(const Arguments& arguments)
    : json_(arguments.has("json")), quiet_(arguments.has("quiet")) {
  color_ = may_color(arguments.value("color", "auto"));
  const Config config = read_config();
  host_ = host_name(config);
  excluded_ = config.capture_exclude;
  mask_rules_ = config.mask;
  std::error_code error;
  here_ = std::filesystem::current_path(error).string();
  if (arguments.has("store")) {
    store_directory_ = arguments.value("store");
  } else if (const auto store = environment("RESPOOL_STORE"); !store.empty()) {
    store_directory_ = store;
  } else {
    store_directory_ =
        config.store.empty() ? data_home() / "respool" : std::filesystem::path(config.store);
  }
  spool_folders_ = spool_folders_of(store_directory_);
  const auto cache = environment("XDG_CACHE_HOME");
  cache_folder_ = (cache.empty() ? std::filesystem::path(environment("HOME")) / ".cache"
                                 : std::filesystem::path(cache)) /
                  "respool";
  state_folder_ = state_home() / "respool";
  drains_ = !arguments.has("no-drain");
  const auto seconds = number_flag(arguments, "wait", 0);  // run_command_line has refused a bad one
  if (seconds) wait_ = std::chrono::seconds(seconds.value());
}

bool Context::captures() const {
  return environment("RESPOOL_CAPTURE") != "off";
}

bool Context::captures(const std::filesystem::path& directory) const {
  if (!captures()) return false;
  const std::string here = canonical_directory(directory) + "/";
  return std::none_of(excluded_.begin(), excluded_.end(), [&](const std::string& excluded) {
    return here.starts_with(canonical_directory(excluded) + "/");
  });
}

Result<void> Context::refuse_network_store() const {
  std::error_code error;
  auto folder = std::filesystem::absolute(store_directory_, error);
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path())
    folder = folder.parent_path();
  return refuse_network_file_system(folder);
}

Result<DrainReport> Context::drain(Store& store, Recorder& recorder, bool to_the_end) {
  if (!drains_) return DrainReport();
  RESPOOL_TRY(auto report,
              drain_spool(store,
                          recorder,
                          {.folders = spool_folders_,
                           .now_ms = now_ms,
                           .stop = to_the_end ? nullptr : &stop_requested()}));
  for (const auto& broken : report.broken)
    remark(fmt::format("A recording cannot be read and stays where it is: {}", broken));
  return report;
}

void Context::say_undrained(std::uint64_t bytes, const std::string& why) const {
  JsonObject::set_undrained_bytes(bytes);
  remark(fmt::format("{} bytes wait in the spool and are not in this answer: {}", bytes, why));
}

// Takes the lock only where something is new, and never waits for it longer than was asked.
Result<void> Context::drain_waiting() {
  if (!drains_ || list_spool(spool_folders_).empty()) return ok();
  StoreOptions options{
      .directory = store_directory_, .host = host_, .purpose = "read", .now_ms = now_ms()};
  SpoolState state;
  {
    // A store that cannot be read yet, because its making was cut short, is mended by the drain.
    const auto store = Store::open(options, Access::Read);
    std::optional<ReadView> view;
    if (store) view.emplace(store.value()->view());
    RESPOOL_TRY(state, spool_state(view ? &*view : nullptr, spool_folders_));
    if (!state.has_work) return ok();
  }
  const auto drained = [&]() -> Result<void> {
    RESPOOL_TRY(const auto store, open_for_writing("drain"));
    RESPOOL_TRY(const auto recorder, Recorder::open(*store));
    RESPOOL_TRY(drain(*store, *recorder));
    return store->close();
  }();
  // What is in the store can be answered all the same.
  if (!drained && state.undrained_bytes > 0)
    say_undrained(state.undrained_bytes, drained.error().message());
  return ok();
}

Result<std::unique_ptr<Store>> Context::open_if_there() {
  RESPOOL_TRY(drain_waiting());
  StoreOptions options{
      .directory = store_directory_, .host = host_, .purpose = "read", .now_ms = now_ms()};
  auto store = Store::open(options, Access::Read);
  if (store || store.error().code() != ErrorCode::NotFound) return store;
  return std::unique_ptr<Store>();
}

Result<std::unique_ptr<Store>> Context::open_for_reading() {
  RESPOOL_TRY(auto store, open_if_there());
  if (store || quiet_ || std::exchange(hinted_, true)) return store;
  std::string databases;
  for (const auto& path : opencode_databases(own_environment()))
    databases += (databases.empty() ? "" : ", ") + path.string();
  fmt::print(
      stderr,
      "The store {} is empty. {}\n",
      store_directory_.string(),
      databases.empty()
          ? "Fill it with: opencode export SESSION | respool ingest -"
          : fmt::format("OpenCode's database {} is here; fill it with: respool sync", databases));
  return store;
}

Result<std::unique_ptr<Store>> Context::open_for_writing(const std::string& purpose) {
  StoreOptions options{.directory = store_directory_,
                       .wait = wait_,
                       .host = host_,
                       .purpose = purpose,
                       .now_ms = now_ms()};
  return Store::open(options, Access::Write);
}

Result<Filter> Context::filter(const Arguments& arguments, const std::string& session) const {
  Filter filter;
  RESPOOL_TRY(const auto in_zone, zone(arguments));
  if (arguments.has("since")) {
    RESPOOL_TRY(filter.since_ms, parse_when(arguments.value("since"), in_zone, now_ms()));
  }
  if (arguments.has("until")) {
    RESPOOL_TRY(filter.until_ms, parse_when(arguments.value("until"), in_zone, now_ms()));
  }
  filter.host = arguments.value("host");
  filter.directory = arguments.value("dir");
  filter.project = arguments.value("project");
  filter.model = arguments.value("model");
  filter.agent = arguments.value("agent");
  filter.session = session;
  filter.tree = arguments.has("tree");
  RESPOOL_TRY(const auto limit, number_flag(arguments, "limit", filter.limit));
  filter.limit = limit;
  return filter;
}

void Context::remark(const std::string& text) const {
  if (!quiet_ && !json_) fmt::print(stderr, "{}\n", text);
}

void Context::print_error(const Error& error) const {
  if (json_) {
    fmt::print(stderr,
               "{{\"schema\":\"respool.error/1\",\"code\":{},\"message\":{}{}{}}}\n",
               json_string(error_code_name(error.code())),
               json_string(error.message()),
               error.next().empty() ? "" : ",\"next\":",
               error.next().empty() ? "" : json_string(error.next()));
    return;
  }
  fmt::print(stderr, "respool: {}\n", error.message());
  if (!error.next().empty()) fmt::print(stderr, "  next: {}\n", error.next());
}

void remember_file_mask(unsigned mask) {
  file_mask = mask;
}

unsigned user_file_mask() {
  return file_mask;
}

std::int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

const std::atomic<bool>& stop_requested() {
  return interrupted;
}

void watch_for_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // without SA_RESTART: a read that waits must end
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
}

Result<void> check_choice(std::string_view flag,
                          const std::string& choice,
                          std::string_view choices) {
  const std::string padded = fmt::format(" {} ", choices);
  if (choice.empty() || padded.find(fmt::format(" {} ", choice)) != std::string::npos) return ok();
  return Error(ErrorCode::InvalidArgument,
               fmt::format("--{} {} is not known", flag, choice),
               std::string(choices));
}

Result<std::uint64_t> number_flag(const Arguments& arguments,
                                  std::string_view name,
                                  std::uint64_t otherwise) {
  if (!arguments.has(name)) return otherwise;
  const std::string text = arguments.value(name);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return number;
  return Error(ErrorCode::InvalidArgument,
               fmt::format("--{} takes a whole number, not \"{}\"", name, text));
}

ExitCode exit_code_for(const Error& error) {
  switch (error.code()) {
    case ErrorCode::InvalidArgument:
      return ExitCode::Usage;
    case ErrorCode::UnsupportedFormat:
      return ExitCode::NewerStore;
    case ErrorCode::Interrupted:
      return ExitCode::Interrupted;
    default:
      return ExitCode::Failed;
  }
}

}  // namespace respool
