#include <fmt/format.h>

#include "query/views/binding_view.h"

#include "tools/lease.h"
#include "tools/run_session.h"

namespace respool {
namespace {

// What one `respool run` does, which may be two turns: where a key's session is gone, a new one.
class RunCommand {
 public:
  RunCommand(const Arguments& arguments, Context& context)
      : arguments_(&arguments), context_(&context), session_(arguments, context) {}

  Result<ExitCode> run() {
    RESPOOL_TRY(session_.read_flags());
    auto& run = session_.run_arguments();
    key_ = arguments_->value("key");
    if (!key_.empty() && (!run.session.empty() || run.continues)) {
      return Error(ErrorCode::InvalidArgument,
                   "--key says which session is continued, and so does --session or --continue",
                   "give one of them");
    }
    session_.set_key(key_);
    RESPOOL_TRY(const auto prompt, read_prompt(run.message));
    RESPOOL_TRY(session_.prepare());
    RESPOOL_TRY(find_session());
    RESPOOL_TRY(const auto lease, take_lease(*context_, run.session));
    RESPOOL_TRY(auto outcome, session_.turn(prompt));
    const bool starts_afresh = outcome.outcome == "resume_dead" && !key_.empty();
    if (starts_afresh && !stop_requested()) {
      session_.notice(
          fmt::format("session {} of key {} is gone; a new one is started", run.session, key_));
      run.session.clear();
      RESPOOL_TRY(outcome, session_.turn(prompt));
    }
    session_.take_in(outcome);
    RESPOOL_TRY(session_.write_result(outcome));
    return session_.finish(outcome);
  }

 private:
  // Which session is continued, and whether it can be here: OpenCode would run the turn in the
  // session's own directory, unseen, and print nothing.
  Result<void> find_session() {
    auto& run = session_.run_arguments();
    if (key_.empty() && run.session.empty()) return ok();
    context_->set_default_wait(kCaptureWait);
    RESPOOL_TRY(const auto store, context_->open_if_there());
    if (!store) return ok();
    const StoreReader reader(*store);
    RESPOOL_TRY(const auto bindings,
                list_bindings(reader, {}, {context_->here(), context_->host()}));
    if (!key_.empty()) {
      const auto bound = newest_of_key(bindings, key_, context_->host(), run.directory);
      if (!bound) return ok();
      run.session = bound->session;
      session_.set_bound_directory(bound->row.directory);
      return ok();
    }
    std::string bound_directory;
    for (const auto& binding : bindings) {
      if (binding.session != run.session || binding.row.host != context_->host()) continue;
      bound_directory = binding.row.directory;
      session_.set_bound_directory(bound_directory);
      if (bound_directory == run.directory) return ok();
    }
    if (bound_directory.empty()) return ok();
    return Error(
        ErrorCode::InvalidArgument,
        fmt::format(
            "session {} belongs to {}, not to {}", run.session, bound_directory, run.directory),
        fmt::format("respool run --dir {} --session {}", bound_directory, run.session));
  }

  const Arguments* arguments_;
  Context* context_;
  RunSession session_;
  std::string key_;
};

}  // namespace

Result<ExitCode> run_run(const Arguments& arguments, Context& context) {
  return RunCommand(arguments, context).run();
}

}  // namespace respool
