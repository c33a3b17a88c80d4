#include "tools/run_arguments.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <system_error>

#include <fmt/format.h>

namespace respool {
namespace {

constexpr std::size_t kMaxFiles = 16;
constexpr std::uint64_t kMaxFileBytes = 10ULL << 20;
constexpr std::uint64_t kMaxFilesBytes = 64ULL << 20;

// OpenCode's flags that take no value, and that respool has no flag for.
constexpr auto kSwitches = std::to_array<std::string_view>(
    {"--print-logs", "--share", "--pure", "--replay", "--no-replay", "--verbose"});

// OpenCode's words for what respool has flags for.
const std::map<std::string_view, std::string_view>& aliases() {
  static const std::map<std::string_view, std::string_view> names = {
      {"-s", "session"},
      {"--session", "session"},
      {"-m", "model"},
      {"--model", "model"},
      {"--agent", "agent"},
      {"--variant", "variant"},
      {"-f", "file"},
      {"--file", "file"},
      {"--title", "title"},
      {"--dir", "dir"},
      {"-c", "continue"},
      {"--continue", "continue"},
      {"--fork", "fork"},
      {"--thinking", "thinking"},
      {"--auto", "auto"},
      {"--yolo", "auto"},
      {"--dangerously-skip-permissions", "auto"},
  };
  return names;
}

Error refused(std::string_view word, std::string_view why, std::string_view next) {
  return Error(
      ErrorCode::InvalidArgument, fmt::format("{} is refused: {}", word, why), std::string(next));
}

Result<void> check_word(std::string_view name) {
  if (name == "--attach" || name == "-a") {
    return refused("--attach",
                   "a turn that runs in a server outlives its client",
                   "record the server with: respool watch URL");
  }
  if (name == "--format")
    return refused("--format", "respool reads OpenCode's JSON itself", "--json");
  if (name == "--password" || name == "-p" || name == "--username" || name == "-u")
    return refused(name, "it is for --attach only, and would be on a command line", "leave it out");
  return ok();
}

// Reads what follows "--".
class PassedOn {
 public:
  PassedOn(const std::vector<std::string>& words, RunArguments& run) : words_(&words), run_(&run) {}

  Result<void> read() {
    while (at_ < words_->size()) {
      const std::string word = (*words_)[at_++];
      if (word == "--") {
        while (at_ < words_->size())
          message((*words_)[at_++]);
      } else if (word.size() < 2 || word.front() != '-') {
        message(word);
      } else {
        RESPOOL_TRY(flag(word));
      }
    }
    return ok();
  }

 private:
  void message(const std::string& word) {
    run_->message += run_->message.empty() ? word : " " + word;
  }

  Result<void> flag(const std::string& word) {
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    RESPOOL_TRY(check_word(name));
    const auto known = aliases().find(name);
    if (known == aliases().end()) return unknown(word, name, equals != std::string::npos);
    const std::string_view ours = known->second;
    if (ours == "continue") return set(run_->continues);
    if (ours == "fork") return set(run_->fork);
    if (ours == "thinking") return set(run_->thinking);
    if (ours == "auto") return set(run_->auto_approve);
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (at_ < words_->size()) {
      value = (*words_)[at_++];
    } else {
      return Error(ErrorCode::InvalidArgument, fmt::format("{} needs a value", name));
    }
    if (ours == "file") {
      run_->files.push_back(value);
    } else {
      *text_of(ours) = value;
    }
    return ok();
  }

  static Result<void> set(bool& flag) {
    flag = true;
    return ok();
  }

  std::string* text_of(std::string_view ours) {
    if (ours == "session") return &run_->session;
    if (ours == "model") return &run_->model;
    if (ours == "agent") return &run_->agent;
    if (ours == "variant") return &run_->variant;
    if (ours == "title") return &run_->title;
    return &run_->directory;
  }

  // A word we do not know is passed on; the word after it could be its value or the prompt, so it
  // must say its value itself.
  Result<void> unknown(const std::string& word, const std::string& name, bool has_value) {
    const bool is_switch = std::ranges::find(kSwitches, name) != kSwitches.end();
    const bool value_follows = at_ < words_->size() && !(*words_)[at_].starts_with('-');
    if (!is_switch && !has_value && value_follows) {
      return Error(
          ErrorCode::InvalidArgument,
          fmt::format("respool does not know whether \"{}\" takes the word after it", name),
          fmt::format("write {}=VALUE, or put the message before \"--\"", name));
    }
    run_->passed_on.push_back(word);
    return ok();
  }

  const std::vector<std::string>* words_;
  RunArguments* run_;
  std::size_t at_ = 0;
};

// OpenCode 1.18 renamed the flag that approves everything.
std::string_view approve_flag(const std::string& version) {
  const bool old = version.starts_with("1.") && version.size() > 3 &&
                   (version[3] == '.' || version.compare(2, 2, "18") < 0);
  return old ? "--dangerously-skip-permissions" : "--auto";
}

std::vector<std::string> words_of(const RunArguments& run, const std::string& version, bool shown) {
  std::vector<std::string> words = {"run", "--format", "json", "--dir", run.directory};
  const auto add = [&](std::string_view flag, const std::string& value, bool secret = false) {
    if (value.empty()) return;
    words.emplace_back(flag);
    words.push_back(shown && secret ? "[redacted]" : value);
  };
  add("--session", run.session);
  if (run.continues) words.emplace_back("--continue");
  if (run.fork) words.emplace_back("--fork");
  add("--model", run.model);
  add("--agent", run.agent);
  add("--variant", run.variant);
  add("--title", run.title, true);
  if (run.thinking) words.emplace_back("--thinking");
  if (run.auto_approve) words.emplace_back(approve_flag(version));
  for (const auto& word : run.passed_on) {
    const auto equals = word.find('=');
    words.push_back(shown && equals != std::string::npos ? word.substr(0, equals) + "=[redacted]"
                                                         : word);
  }
  for (const auto& file : run.files)
    add("--file", file, true);
  // "-f" takes all words that follow; this ends it, and no word of ours follows.
  words.emplace_back("--");
  return words;
}

}  // namespace

Result<RunArguments> read_run_arguments(const Arguments& arguments) {
  RunArguments run;
  if (arguments.has("attach")) {
    RESPOOL_TRY(check_word("--attach"));
  }
  for (const auto& word : arguments.values("MESSAGE"))
    run.message += run.message.empty() ? word : " " + word;
  run.directory = arguments.value("dir");
  run.session = arguments.value("session");
  run.continues = arguments.has("continue");
  run.fork = arguments.has("fork");
  run.model = arguments.value("model");
  run.agent = arguments.value("agent");
  run.variant = arguments.value("variant");
  run.title = arguments.value("title");
  run.files = arguments.values("file");
  run.thinking = arguments.has("thinking");
  run.auto_approve = arguments.has("auto");
  RESPOOL_TRY(PassedOn(arguments.values(kPassedOn), run).read());
  if (run.fork && run.session.empty() && !run.continues) {
    return Error(ErrorCode::InvalidArgument,
                 "--fork copies a session and needs to know which",
                 "add --session ID or --continue");
  }
  return run;
}

Result<void> check_attachments(const std::vector<std::string>& files) {
  if (files.size() > kMaxFiles) {
    return Error(ErrorCode::InvalidArgument,
                 fmt::format("{} files are attached; at most {} can be", files.size(), kMaxFiles),
                 "leave some out, or name them in the prompt");
  }
  std::uint64_t total = 0;
  for (const auto& file : files) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error))
      return Error(ErrorCode::InvalidArgument, fmt::format("{} is not a file", file));
    const auto bytes = std::filesystem::file_size(file, error);
    total += bytes;
    if (bytes > kMaxFileBytes) {
      return Error(ErrorCode::InvalidArgument,
                   fmt::format("{} has {} bytes; an attachment may have 10 MiB", file, bytes),
                   "name the file in the prompt and let the agent read it");
    }
  }
  if (total <= kMaxFilesBytes) return ok();
  return Error(ErrorCode::InvalidArgument,
               fmt::format("the attachments have {} bytes together; 64 MiB are allowed", total),
               "leave some out, or name them in the prompt");
}

std::vector<std::string> opencode_words(const RunArguments& run, const std::string& version) {
  return words_of(run, version, false);
}

std::vector<std::string> shown_words(const RunArguments& run, const std::string& version) {
  return words_of(run, version, true);
}

}  // namespace respool
