#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "engine/storage/store.h"

#include "ingest/drain.h"
#include "query/replay/mask.h"
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
  // Where recordings of this store wait: beside it, and where its disk is full.
  const std::vector<std::filesystem::path>& spool_folders() const { return spool_folders_; }

  // Opens the store, after taking in what waits in the spool, if no other process writes the store
  // now; else every JSON object says how many bytes wait. For reading, an absent store is an empty
  // one: the result is null and a remark says how to fill it.
  Result<std::unique_ptr<Store>> open_for_reading();
  // The same without a remark where there is no store: for those who only look something up.
  Result<std::unique_ptr<Store>> open_if_there();
  Result<std::unique_ptr<Store>> open_for_writing(const std::string& purpose);
  // Takes in what waits in the spool, beside what the caller is about to record.
  // `to_the_end`: also after an interrupt, which is how captures end.
  Result<DrainReport> drain(Store& store, Recorder& recorder, bool to_the_end = false);

  // Filters and zone as the flags give them. `positional` names the session where there is one.
  Result<Filter> filter(const Arguments& arguments, const std::string& session) const;
  Result<Zone> zone(const Arguments& arguments) const { return Zone::find(arguments.value("tz")); }

  // A remark for people, on stderr; nothing with --quiet or --json.
  void remark(const std::string& text) const;
  // How long to wait for another writer of the store, where the user did not say.
  void set_default_wait(std::chrono::milliseconds wait) {
    if (wait_.count() == 0) wait_ = wait;
  }
  // False where the user does not want this directory captured: RESPOOL_CAPTURE=off, or it lies in
  // one of "capture.exclude" of the configuration.
  bool captures(const std::filesystem::path& directory) const;
  // False where nothing at all is to be captured.
  bool captures() const;
  // Io where the store's place, or the nearest folder above it that is there, is on a network.
  Result<void> refuse_network_store() const;
  const std::vector<std::string>& excluded_directories() const { return excluded_; }
  // The user's own rules for masking secrets, beside respool's.
  const std::vector<MaskRule>& mask_rules() const { return mask_rules_; }
  const std::filesystem::path& cache_folder() const { return cache_folder_; }
  const std::filesystem::path& state_folder() const { return state_folder_; }
  void print_error(const Error& error) const;

 private:
  Result<void> drain_waiting();
  void say_undrained(std::uint64_t bytes, const std::string& why) const;

  bool json_ = false;
  bool quiet_ = false;
  bool color_ = false;
  bool hinted_ = false;  // an empty store was remarked upon
  std::chrono::milliseconds wait_{0};
  std::string host_;
  std::string here_;
  std::filesystem::path store_directory_;
  std::vector<std::filesystem::path> spool_folders_;
  std::filesystem::path cache_folder_;
  std::filesystem::path state_folder_;
  std::vector<std::string> excluded_;
  std::vector<MaskRule> mask_rules_;
  bool drains_ = true;
};

std::int64_t now_ms();

// The file mask the user runs us with, for programs we start.
void remember_file_mask(unsigned mask);
unsigned user_file_mask();

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
