#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "schema/error.h"

#include "ingest/opencode/http_client.h"

namespace respool {

// A text to put into a fresh session without asking the model.
struct Seed {
  std::string directory;  // of the session
  std::string title;
  std::string text;
  std::string message;  // the ids of the message and part it becomes, "msg_" and "prt_"
  std::string part;
  std::string session;  // where the session exists already; "" makes one
};

// Puts the text into a session through a server, as a message that wants no answer, and reads it
// back. The ids make a second time harmless. Returns the session.
//
// Errors: those of OpenCodeClient; Corruption where the message that is read back is another.
Result<std::string> seed_session(const OpenCodeClient& client, const Seed& seed);

struct ServeRequest {
  std::string program;  // OpenCode
  std::vector<std::string> environment;
  std::string directory;
  const std::atomic<bool>* interrupted = nullptr;
};

// Starts `opencode serve` on a free port of this machine, behind a password nobody else knows, does
// `work` with it and ends it.
//
// Errors: Io where it does not come up; Interrupted; those of `work`.
Result<std::string> with_server(
    const ServeRequest& request,
    const std::function<Result<std::string>(const OpenCodeClient&)>& work);

}  // namespace respool
