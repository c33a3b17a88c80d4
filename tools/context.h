#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "engine/storage/store.h"

#include "query/views/filter.h"
#include "query/zone.h"

#include "tools/command.h"

namespace respool {

// What every command has at hand: the store's place, this machine, the ways to print.
class Context {
 public:
  explicit Context(const Arguments& arguments);

  bool json() const { return json_; }
  bool quiet() const { return quiet_; }
  // Whether output for people may be coloured: --color beats NO_COLOR beats whether it is a
  // terminal.
  bool color() const { return color_; }
  const std::string& host() const { return host_; }
  const std::string& here() const { return here_; }
  const std::filesystem::path& store_directory() const { return store_directory_; }

  // Opens the store. For reading, an absent store is an empty one: the result is null and a remark
  // says how to fill it.
  Result<std::unique_ptr<Store>> open_for_reading();
  Result<std::unique_ptr<Store>> open_for_writing(const std::string& purpose);

  // Filters and zone as the flags give them. `positional` names the session where there is one.
  Result<Filter> filter(const Arguments& arguments, const std::string& session) const;
  Result<Zone> zone(const Arguments& arguments) const { return Zone::find(arguments.value("tz")); }

  // A remark for people, on stderr; nothing with --quiet or --json.
  void remark(const std::string& text) const;
  void print_error(const Error& error) const;

 private:
  bool json_ = false;
  bool quiet_ = false;
  bool color_ = false;
  bool hinted_ = false;  // an empty store was remarked upon
  std::chrono::milliseconds wait_{0};
  std::string host_;
  std::string here_;
  std::filesystem::path store_directory_;
};

std::int64_t now_ms();

// Set by the first Ctrl-C; the second one ends the process.
const std::atomic<bool>& stop_requested();
void watch_for_interrupts();

// A whole number of a flag, InvalidArgument where it is none.
Result<std::uint64_t> number_flag(const Arguments& arguments,
                                  std::string_view name,
                                  std::uint64_t otherwise);

// InvalidArgument where `choice` is none of `choices`, which are parted by spaces.
Result<void> check_choice(std::string_view flag,
                          const std::string& choice,
                          std::string_view choices);

ExitCode exit_code_for(const Error& error);

}  // namespace respool
