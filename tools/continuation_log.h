#pragma once

#include <string>
#include <string_view>

#include "schema/codec.h"

#include "engine/spool/recording_writer.h"

#include "tools/context.h"

namespace respool {

// Writes down how a session is continued in another, step by step, so that whoever comes after a
// crash knows what was done: a recording of its own, in the spool.
//
// Threads: one at a time.
class ContinuationLog {
 public:
  ContinuationLog(const Context& context, const std::string& directory);

  // Notes a step of the attempt, in the streams of both sessions as far as they are known. It
  // survives a power cut once this returns, where a disk takes it. Steps: planned created seeded
  // verified bound failed.
  void step(const fb::ReplayRowT& attempt, std::string_view step);
  // That OpenCode does not have the session any more.
  void gone(const std::string& session, const std::string& directory);
  void finish() { recording_.finish(); }

 private:
  std::string host_;
  RecordingWriter recording_;
};

}  // namespace respool
