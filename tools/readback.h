#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/context.h"

namespace respool {

// Asks OpenCode's databases what they hold, past what OpenCode says of itself.
//
// Threads:   one at a time.
// Ownership: borrows the context and the environment.
// Errors:    those of DatabaseSource and of the store.
class Readback {
 public:
  Readback(Context& context, const std::vector<std::string>& environment)
      : context_(&context), environment_(&environment) {}

  // True where a database of this user has the session.
  Result<bool> has_session(const std::string& session) const;
  // The newest of the sessions whose title holds the text, "" where none does.
  Result<std::string> newest_titled(const std::string& text) const;

  // Takes the session from the database into the store, then looks there.
  //
  // True where it has all these messages, none of them empty of parts where `parts` is not 0: at
  // least so many parts in all.
  Result<bool> holds_messages(const std::string& session,
                              const std::vector<std::string>& messages,
                              std::size_t parts) const;
  // True where a message of the session begins with that replay.
  Result<bool> holds_replay(const std::string& session, const std::string& replay_id) const;
  // True where no message of the session is known.
  Result<bool> is_empty(const std::string& session) const;
  // What the model said last and ended, nothing where it has not answered the newest prompt.
  Result<std::optional<std::string>> last_answer(const std::string& session) const;

  // Takes what the databases hold of the session into the store.
  Result<void> take_in(const std::string& session) const;

 private:
  Context* context_;
  const std::vector<std::string>* environment_;
};

}  // namespace respool
