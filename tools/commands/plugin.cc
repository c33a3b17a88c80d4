#include "ingest/opencode/plugin.h"

#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "schema/time.h"

#include "ingest/opencode/runtime.h"
#include "ingest/process/child_process.h"

#include "tools/context.h"
#include "tools/output/json_writer.h"
#include "tools/output/table.h"

namespace respool {
namespace {

namespace fs = std::filesystem;

struct Places {
  fs::path file;   // the plugin
  fs::path made;   // the folders that were made for it
  fs::path pause;  // while it exists nothing is captured
};

Places places_of(const Context& context) {
  return {.file = plugin_file(own_environment()),
          .made = context.state_folder() / "plugin-folders",
          .pause = context.state_folder() / "plugin-paused"};
}

PluginSettings settings_of(const Context& context, const Places& places) {
  PluginSettings settings;
  settings.spool = fs::absolute(context.spool_folders().front());
  settings.fallback = fs::absolute(context.spool_folders().back());
  settings.host = context.host();
  settings.pause = places.pause;
  for (const auto& directory : context.excluded_directories())
    settings.exclude.push_back(canonical_directory(directory));
  return settings;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Result<ExitCode> status(const Context& context, const Places& places) {
  std::error_code error;
  const bool installed = fs::exists(places.file, error);
  const bool current =
      installed && text_of(places.file) == plugin_text(settings_of(context, places));
  const bool paused = fs::exists(places.pause, error);
  std::vector<std::string> older;
  if (installed) {
    const auto age = fs::file_time_type::clock::now() - fs::last_write_time(places.file, error);
    const std::int64_t installed_ms =
        now_ms() - std::chrono::duration_cast<std::chrono::milliseconds>(age).count();
    for (const auto& process : running_opencodes()) {
      if (process.started_ms < installed_ms) older.push_back(std::to_string(process.pid));
    }
  }
  if (context.json()) {
    fmt::print("{}\n",
               JsonObject("respool.plugin/1")
                   .boolean("installed", installed)
                   .boolean("current", current)
                   .boolean("paused", paused)
                   .text("path", places.file.string())
                   .texts("started_before", older)
                   .str());
    return installed ? ExitCode::Done : ExitCode::No;
  }
  if (!installed) {
    fmt::print("not installed; \"respool plugin install\" puts it into {}\n", places.file.string());
    return ExitCode::No;
  }
  fmt::print("installed in {}{}{}\n",
             places.file.string(),
             current ? "" : "; install again: its settings or its version are older",
             paused ? "; paused" : "");
  for (const auto& pid : older)
    fmt::print("process {} of OpenCode started before it and is not recorded\n", pid);
  return ExitCode::Done;
}

Result<ExitCode> pause(const Context& context, const Places& places) {
  std::error_code error;
  fs::create_directories(places.pause.parent_path(), error);
  std::ofstream file(places.pause);
  file << format_time(now_ms()) << '\n';
  file.close();
  if (!file)
    return Error(ErrorCode::Io, fmt::format("{} cannot be written", places.pause.string()));
  context.remark("Paused: nothing is captured until \"respool plugin resume\"");
  return ExitCode::Done;
}

}  // namespace

Result<ExitCode> run_plugin(const Arguments& arguments, Context& context) {
  const std::string action = arguments.value("ACTION");
  const Places places = places_of(context);
  if (action == "status") return status(context, places);
  if (action == "pause") return pause(context, places);
  if (action == "resume") {
    std::error_code error;
    fs::remove(places.pause, error);
    context.remark("Captures again");
    return ExitCode::Done;
  }
  if (action == "remove") {
    RESPOOL_TRY(const bool removed, remove_plugin(places.file, places.made));
    context.remark(removed ? "Removed; running processes of OpenCode keep it until they end"
                           : "It was not installed");
    return ExitCode::Done;
  }
  if (action != "install") {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("plugin cannot \"{}\"", action),
                 "install, remove, status, pause or resume");
  }
  RESPOOL_TRY(context.refuse_network_store());
  RESPOOL_TRY(install_plugin(places.file, settings_of(context, places), places.made));
  context.remark(fmt::format("Installed in {}; every OpenCode started from now on is recorded",
                             places.file.string()));
  return ExitCode::Done;
}

}  // namespace respool
