#include "ingest/process/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/readable_pipe.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/writable_pipe.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>
#include <sys/stat.h>

// clang-format off
// Boost.Process 1.81 forgets the first two where it uses std::filesystem.
#include <boost/optional.hpp>
#include <boost/type_traits.hpp>
#include <boost/process/v2/environment.hpp>
#include <boost/process/v2/process.hpp>
#include <boost/process/v2/src.hpp>
#include <boost/process/v2/stdio.hpp>
// clang-format on

#include "ingest/process/guard.h"

namespace respool {
namespace {

namespace asio = boost::asio;
namespace process = boost::process::v2;

constexpr std::chrono::milliseconds kTick{50};
// After the guard is gone the pipes are closed too; what a process that could not be killed still
// holds open is not waited for longer than this.
constexpr std::chrono::milliseconds kPipeLimit{2000};

struct Pipe {
  int read = -1;
  int write = -1;
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) == 0) {
      read = ends[0];
      write = ends[1];
    }
  }
  ~Pipe() {
    close(read);
    close(write);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  static int release(int& end) { return std::exchange(end, -1); }
};

// Makes the guard from the forked process: its own session, its pipes and nothing else of ours.
struct GuardSetup {
  int lifeline;
  int report;
  std::optional<unsigned> file_mask;

  template <class Launcher, class Path, class Arguments>
  boost::system::error_code on_setup(Launcher& launcher, const Path&, Arguments&&) {
    launcher.fd_whitelist.push_back(kLifelineDescriptor);
    launcher.fd_whitelist.push_back(kReportDescriptor);
    return {};
  }
  template <class Launcher, class Path, class Arguments>
  boost::system::error_code on_exec_setup(Launcher&, const Path&, Arguments&&) {
    ::setsid();
    if (file_mask) ::umask(*file_mask);
    // Both may lie where the other belongs: copies above both go first.
    const int lifeline_copy = ::fcntl(lifeline, F_DUPFD_CLOEXEC, 16);
    const int report_copy = ::fcntl(report, F_DUPFD_CLOEXEC, 16);
    const bool moved = ::dup2(lifeline_copy, kLifelineDescriptor) >= 0 &&
                       ::dup2(report_copy, kReportDescriptor) >= 0;
    if (!moved) return {errno, boost::system::system_category()};
    return {};
  }
  // Nothing of ours may run in the forked process, least of all destructors.
  template <class... Ignored>
  void on_exec_error(Ignored&&...) const {
    ::_exit(127);
  }
};

// One child, its pipes and its end.
class Child {
 public:
  Child(const ChildCommand& command, const ChildEvents& events)
      : command_(&command), events_(&events) {}

  Result<ChildEnd> run() {
    if (lifeline_.read < 0 || report_.read < 0)
      return Error(ErrorCode::Io, "no more pipes can be made", "close some programs");
    RESPOOL_TRY(start());
    read_from(out_, out_buffer_, events_->on_stdout);
    read_from(err_, err_buffer_, events_->on_stderr);
    read_report();
    feed();
    tick();
    context_.run();
    boost::system::error_code ignored;
    guard_->wait(ignored);
    return end();
  }

 private:
  Result<void> start() {
    std::vector<std::string> arguments = {std::string(kGuardCommand), command_->program};
    arguments.insert(arguments.end(), command_->arguments.begin(), command_->arguments.end());
    try {
      guard_.emplace(context_.get_executor(),
                     "/proc/self/exe",
                     arguments,
                     process::process_stdio{in_, out_, err_},
                     process::process_environment(command_->environment),
                     StartDirectory{command_->directory},
                     GuardSetup{lifeline_.read, report_.write, command_->file_mask});
    } catch (const std::exception& error) {
      return Error(ErrorCode::Io,
                   fmt::format("{} cannot be started: {}", command_->program, error.what()));
    }
    // OpenCode 1.18 ends without waiting for what its output pipe does not take at once.
    // The largest pipe that the system gives this user.
    for (const int bytes : {16 << 20, 4 << 20, 1 << 20}) {
      if (::fcntl(out_.native_handle(), F_SETPIPE_SZ, bytes) >= 0) break;
    }
    Pipe::close(lifeline_.read);
    Pipe::close(report_.write);
    report_reader_.assign(Pipe::release(report_.read));
    return ok();
  }

  struct StartDirectory {
    std::string directory;
    template <class Launcher, class Path, class Arguments>
    boost::system::error_code on_exec_setup(Launcher&, const Path&, Arguments&&) {
      if (directory.empty() || ::chdir(directory.c_str()) == 0) return {};
      return {errno, boost::system::system_category()};
    }
  };

  template <class Buffer>
  void read_from(asio::readable_pipe& pipe,
                 Buffer& buffer,
                 const std::function<void(std::string_view)>& sink) {
    pipe.async_read_some(
        asio::buffer(buffer),
        [this, &pipe, &buffer, &sink](boost::system::error_code error, std::size_t size) {
          if (size > 0 && sink) sink({buffer.data(), size});
          if (!error) return read_from(pipe, buffer, sink);
          ++closed_pipes_;
          stop_when_done();
        });
  }

  void read_report() {
    report_reader_.async_read_some(asio::buffer(report_buffer_),
                                   [this](boost::system::error_code error, std::size_t size) {
                                     report_text_.append(report_buffer_.data(), size);
                                     if (!error) return read_report();
                                     reported_ = true;
                                     guard_gone_at_ = std::chrono::steady_clock::now();
                                     stop_when_done();
                                   });
  }

  void feed() {
    asio::async_write(
        in_, asio::buffer(command_->input), [this](boost::system::error_code, std::size_t) {
          // Also where the program does not want it.
          boost::system::error_code ignored;
          in_.close(ignored);
        });
  }

  void tick() {
    timer_.expires_after(kTick);
    timer_.async_wait([this](boost::system::error_code error) {
      if (error) return;
      if (!stopped_ && events_->keep_going && !events_->keep_going()) {
        stopped_ = true;
        // The guard reads one byte as the wish to end; where it is gone the end is near anyway.
        if (::write(lifeline_.write, "k", 1) < 0) Pipe::close(lifeline_.write);
      }
      const bool late = reported_ && std::chrono::steady_clock::now() - guard_gone_at_ > kPipeLimit;
      if (late) return context_.stop();
      tick();
    });
  }

  void stop_when_done() {
    constexpr int kPipes = 2;
    if (reported_ && closed_pipes_ == kPipes) context_.stop();
  }

  Result<ChildEnd> end() {
    ChildEnd end;
    end.stopped = stopped_;
    int number = 0;
    const auto number_after = [&](std::string_view word) {
      if (!report_text_.starts_with(word)) return false;
      const char* begin = report_text_.data() + word.size();
      return std::from_chars(begin, report_text_.data() + report_text_.size(), number).ec ==
             std::errc{};
    };
    if (number_after("exit ")) {
      end.exit = number;
    } else if (number_after("signal ")) {
      end.signal = number;
    } else if (number_after("error ")) {
      return Error(ErrorCode::NotFound,
                   fmt::format("{} cannot be started: {}",
                               command_->program,
                               std::generic_category().message(number)));
    } else {
      end.signal = SIGKILL;  // its guard killed it, or was killed with it
    }
    return end;
  }

  const ChildCommand* command_;
  const ChildEvents* events_;
  asio::io_context context_{1};
  asio::writable_pipe in_{context_};
  asio::readable_pipe out_{context_};
  asio::readable_pipe err_{context_};
  asio::posix::stream_descriptor report_reader_{context_};
  asio::steady_timer timer_{context_};
  Pipe lifeline_;
  Pipe report_;
  std::optional<process::process> guard_;
  std::array<char, 1 << 16> out_buffer_;
  std::array<char, 1 << 14> err_buffer_;
  std::array<char, 64> report_buffer_;
  std::string report_text_;
  int closed_pipes_ = 0;
  bool reported_ = false;
  bool stopped_ = false;
  std::chrono::steady_clock::time_point guard_gone_at_;
};

}  // namespace

Result<ChildEnd> run_guarded(const ChildCommand& command, const ChildEvents& events) {
  // A program that does not read its input must not end us.
  std::signal(SIGPIPE, SIG_IGN);
  const auto child = std::make_unique<Child>(command, events);
  return child->run();
}

std::optional<std::string> output_of(const ChildCommand& command,
                                     std::uint64_t timeout_ms,
                                     std::size_t limit) {
  std::string output;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  const ChildEvents events{
      .on_stdout =
          [&](std::string_view bytes) {
            output += bytes.substr(0, limit - std::min(limit, output.size()));
          },
      .on_stderr = {},
      .keep_going = [&] { return std::chrono::steady_clock::now() < deadline; }};
  const auto end = run_guarded(command, events);
  if (!end || end.value().stopped || end.value().exit != 0) return std::nullopt;
  return output;
}

std::vector<std::string> own_environment() {
  std::vector<std::string> environment;
  for (char** variable = ::environ; *variable != nullptr; ++variable)
    environment.emplace_back(*variable);
  return environment;
}

std::string variable(const std::vector<std::string>& environment, std::string_view name) {
  const std::string start = fmt::format("{}=", name);
  for (const auto& entry : environment) {
    if (entry.starts_with(start)) return entry.substr(start.size());
  }
  return {};
}

void set_variable(std::vector<std::string>& environment,
                  std::string_view name,
                  std::optional<std::string> value) {
  const std::string start = fmt::format("{}=", name);
  std::erase_if(environment, [&](const std::string& entry) { return entry.starts_with(start); });
  if (value) environment.push_back(start + *value);
}

}  // namespace respool
