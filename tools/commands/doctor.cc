#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "ingest/opencode/plugin.h"
#include "ingest/opencode/runtime.h"
#include "ingest/process/child_process.h"
#include "ingest/source/database_snapshot.h"

#include "tools/context.h"
#include "tools/output/json_writer.h"
#include "tools/output/table.h"

namespace respool {
namespace {

namespace fs = std::filesystem;

// One finding: what was looked at, how it is, and what to do.
class Findings {
 public:
  explicit Findings(const Context& context) : context_(&context) {}

  void add(std::string_view check,
           std::string_view state,
           const std::string& detail,
           const std::string& next = {}) {
    worst_ |= state == "bad";
    if (context_->json()) {
      fmt::print("{}\n",
                 JsonObject("respool.doctor/1")
                     .text("check", check)
                     .text("state", state)
                     .text("detail", detail)
                     .known_text("next", next)
                     .str());
      return;
    }
    table_.add({std::string(check), std::string(state), detail, next});
  }
  ExitCode finish() {
    table_.print(context_->color());
    return worst_ ? ExitCode::No : ExitCode::Done;
  }

 private:
  const Context* context_;
  Table table_{{"CHECK", "STATE", "DETAIL", "NEXT"}};
  bool worst_ = false;
};

void check_store(Context& context, Findings& findings) {
  const auto& directory = context.store_directory();
  StoreOptions options{
      .directory = directory, .host = context.host(), .purpose = "doctor", .now_ms = now_ms()};
  const auto store = Store::open(options, Access::Read);
  if (store) {
    findings.add("store", "ok", fmt::format("{}, format {}", directory.string(), kFormatVersion));
    const StoreReader reader(*store.value());
    const auto stale = reader.model_is_stale();
    if (stale && stale.value())
      findings.add("model", "note", "an older build's fold", "respool rebuild");
  } else if (store.error().code() == ErrorCode::NotFound) {
    findings.add("store", "note", fmt::format("{} is empty", directory.string()), "respool sync");
  } else {
    findings.add("store", "bad", store.error().message(), store.error().next());
  }
  if (const auto network = context.refuse_network_store(); !network)
    findings.add("file system", "bad", network.error().message(), network.error().next());
}

void check_spool(const Context& context, Findings& findings) {
  std::size_t waiting = 0;
  std::uint64_t bytes = 0;
  for (const auto& file : list_spool(context.spool_folders())) {
    ++waiting;
    bytes += file.bytes;
  }
  findings.add("spool",
               "ok",
               waiting == 0 ? "nothing waits"
                            : fmt::format("{} of {} bytes", counted(waiting, "recording"), bytes),
               waiting == 0 ? "" : "any command takes them in");
}

// "2 credentials" of what OpenCode prints: respool never opens where they are.
std::string credentials(const std::string& output) {
  const auto word = output.find(" credential");
  if (word == std::string::npos) return "not known";
  auto begin = word;
  while (begin > 0 && output[begin - 1] >= '0' && output[begin - 1] <= '9')
    --begin;
  return fmt::format("{} stored in OpenCode", output.substr(begin, word - begin));
}

void check_opencode(const Context& context, Findings& findings) {
  const auto environment = own_environment();
  const auto runtime = opencode_runtime(environment, context.cache_folder());
  if (!runtime) {
    findings.add("opencode", "note", runtime.error().message(), runtime.error().next());
    return;
  }
  const auto& found = runtime.value();
  findings.add(
      "opencode",
      found.version.empty() ? "note" : "ok",
      fmt::format("{} {}{}",
                  found.path.string(),
                  found.version.empty() ? "does not say its version" : found.version,
                  found.tested
                      ? ""
                      : ", a version this build was not tested with; it is recorded all the same"));
  const auto ask = [&](std::vector<std::string> words) {
    constexpr std::uint64_t kAskMs = 60'000;
    return output_of({.program = found.path.string(),
                      .arguments = std::move(words),
                      .directory = {},
                      .environment = environment,
                      .input = {}},
                     kAskMs);
  };
  if (const auto models = ask({"models"})) {
    const auto count = static_cast<std::size_t>(std::count(models->begin(), models->end(), '\n'));
    findings.add("models", "ok", counted(count, "model"));
  } else {
    findings.add("models", "note", "OpenCode did not list any");
  }
  const auto list = ask({"auth", "list"});
  findings.add("credentials", "ok", credentials(list.value_or("")));
}

void check_databases(Findings& findings) {
  const auto databases = opencode_databases(own_environment());
  for (const auto& path : databases) {
    std::error_code error;
    const auto bytes = fs::file_size(path, error);
    findings.add(
        "database", "ok", fmt::format("{}, {} bytes", path.string(), bytes), "respool sync");
  }
  if (databases.empty())
    findings.add("database",
                 "note",
                 fmt::format("none in {}", opencode_data_folder(own_environment()).string()));
}

void check_plugin(Findings& findings) {
  std::error_code error;
  const auto file = plugin_file(own_environment());
  const bool installed = fs::exists(file, error);
  findings.add(
      "plugin",
      installed ? "ok" : "note",
      installed ? file.string() : "not installed: OpenCode started by hand is not recorded",
      installed ? "" : "respool plugin install");
}

}  // namespace

Result<ExitCode> run_doctor(const Arguments&, Context& context) {
  Findings findings(context);
  findings.add("respool", "ok", RESPOOL_VERSION);
  check_store(context, findings);
  check_spool(context, findings);
  check_opencode(context, findings);
  check_databases(findings);
  check_plugin(findings);
  return findings.finish();
}

}  // namespace respool
