#pragma once

// Internal to import_shape.cc: what `opencode import` 1.18.33 demands of sessions, messages and
// parts, read out of that version. A field or type it does not know it drops; a known field of
// another type stops it.

#include <span>

namespace respool::import_rules {

struct Rule;
using Rules = std::span<const Rule>;

enum class Must {
  BeText,
  BeFlag,
  BeNumber,
  BeCount,   // a whole number from 0
  BeRecord,  // an object with any fields
  BeObject,  // an object after `rules`
  BeTexts,   // an array of texts
  BeObjects,
  BeSource,  // of a file: one of three, told apart by `type`
  BeState,   // of a tool call: one of four, told apart by `status`
  BeError,   // of a message: one of nine, told apart by `name`
  BeFormat,  // of an answer: one of two, told apart by `type`
  BeFlags,   // an object of flags
  BeChange,  // added, deleted or modified
};

struct Rule {
  const char* name;
  Must must;
  bool required = true;
  Rules rules = {};
  const char* prefix = "";  // what a text begins with
};

constexpr bool kOptional = false;

#define RULES(name, ...) constexpr Rule name[] = {__VA_ARGS__}
RULES(kEnd, {"start", Must::BeCount}, {"end", Must::BeCount, kOptional});
RULES(kSpan, {"start", Must::BeCount}, {"end", Must::BeCount});
RULES(kDone,
      {"start", Must::BeCount},
      {"end", Must::BeCount},
      {"compacted", Must::BeCount, kOptional});
RULES(kStart, {"start", Must::BeCount});
RULES(kCache, {"read", Must::BeNumber}, {"write", Must::BeNumber});
RULES(kTokens,
      {"total", Must::BeNumber, kOptional},
      {"input", Must::BeNumber},
      {"output", Must::BeNumber},
      {"reasoning", Must::BeNumber},
      {"cache", Must::BeObject, true, kCache});
RULES(kModel,
      {"providerID", Must::BeText},
      {"modelID", Must::BeText},
      {"variant", Must::BeText, kOptional});
RULES(kDiff,
      {"file", Must::BeText, kOptional},
      {"patch", Must::BeText, kOptional},
      {"additions", Must::BeNumber},
      {"deletions", Must::BeNumber},
      {"status", Must::BeChange, kOptional});

RULES(kSourceText, {"value", Must::BeText}, {"start", Must::BeNumber}, {"end", Must::BeNumber});
RULES(kPlace, {"line", Must::BeCount}, {"character", Must::BeCount});
RULES(kRange, {"start", Must::BeObject, true, kPlace}, {"end", Must::BeObject, true, kPlace});
RULES(kFileSource, {"text", Must::BeObject, true, kSourceText}, {"path", Must::BeText});
RULES(kSymbolSource,
      {"text", Must::BeObject, true, kSourceText},
      {"path", Must::BeText},
      {"range", Must::BeObject, true, kRange},
      {"name", Must::BeText},
      {"kind", Must::BeCount});
RULES(kResourceSource,
      {"text", Must::BeObject, true, kSourceText},
      {"clientName", Must::BeText},
      {"uri", Must::BeText});
RULES(kAgentSource, {"value", Must::BeText}, {"start", Must::BeCount}, {"end", Must::BeCount});

RULES(kIds,
      {"id", Must::BeText, true, {}, "prt"},
      {"sessionID", Must::BeText, true, {}, "ses"},
      {"messageID", Must::BeText, true, {}, "msg"});
RULES(kTextPart,
      {"text", Must::BeText},
      {"synthetic", Must::BeFlag, kOptional},
      {"ignored", Must::BeFlag, kOptional},
      {"time", Must::BeObject, kOptional, kEnd},
      {"metadata", Must::BeRecord, kOptional});
RULES(kReasoningPart,
      {"text", Must::BeText},
      {"metadata", Must::BeRecord, kOptional},
      {"time", Must::BeObject, true, kEnd});
RULES(kFilePart,
      {"mime", Must::BeText},
      {"filename", Must::BeText, kOptional},
      {"url", Must::BeText},
      {"source", Must::BeSource, kOptional});
RULES(kAttachment,
      {"id", Must::BeText, true, {}, "prt"},
      {"sessionID", Must::BeText, true, {}, "ses"},
      {"messageID", Must::BeText, true, {}, "msg"},
      {"mime", Must::BeText},
      {"filename", Must::BeText, kOptional},
      {"url", Must::BeText},
      {"source", Must::BeSource, kOptional});
RULES(kToolPart,
      {"callID", Must::BeText},
      {"tool", Must::BeText},
      {"state", Must::BeState},
      {"metadata", Must::BeRecord, kOptional});
RULES(kPending, {"input", Must::BeRecord}, {"raw", Must::BeText});
RULES(kRunning,
      {"input", Must::BeRecord},
      {"title", Must::BeText, kOptional},
      {"metadata", Must::BeRecord, kOptional},
      {"time", Must::BeObject, true, kStart});
RULES(kCompleted,
      {"input", Must::BeRecord},
      {"output", Must::BeText},
      {"title", Must::BeText},
      {"metadata", Must::BeRecord},
      {"time", Must::BeObject, true, kDone},
      {"attachments", Must::BeObjects, kOptional, kAttachment});
RULES(kFailed,
      {"input", Must::BeRecord},
      {"error", Must::BeText},
      {"metadata", Must::BeRecord, kOptional},
      {"time", Must::BeObject, true, kSpan});
RULES(kStepStart, {"snapshot", Must::BeText, kOptional});
RULES(kStepFinish,
      {"reason", Must::BeText},
      {"snapshot", Must::BeText, kOptional},
      {"cost", Must::BeNumber},
      {"tokens", Must::BeObject, true, kTokens});
RULES(kSnapshot, {"snapshot", Must::BeText});
RULES(kPatch, {"hash", Must::BeText}, {"files", Must::BeTexts});
RULES(kAgent, {"name", Must::BeText}, {"source", Must::BeObject, kOptional, kAgentSource});
RULES(kSubtaskModel, {"providerID", Must::BeText}, {"modelID", Must::BeText});
RULES(kSubtask,
      {"prompt", Must::BeText},
      {"description", Must::BeText},
      {"agent", Must::BeText},
      {"model", Must::BeObject, kOptional, kSubtaskModel},
      {"command", Must::BeText, kOptional});
RULES(kCreated, {"created", Must::BeCount});
RULES(kRetry,
      {"attempt", Must::BeCount},
      {"error", Must::BeError},
      {"time", Must::BeObject, true, kCreated});
RULES(kCompaction,
      {"auto", Must::BeFlag},
      {"overflow", Must::BeFlag, kOptional},
      {"tail_start_id", Must::BeText, kOptional, {}, "msg"});

RULES(kMessageIds,
      {"id", Must::BeText, true, {}, "msg"},
      {"sessionID", Must::BeText, true, {}, "ses"});
RULES(kUserTime, {"created", Must::BeNumber});
RULES(kUserSummary,
      {"title", Must::BeText, kOptional},
      {"body", Must::BeText, kOptional},
      {"diffs", Must::BeObjects, true, kDiff});
RULES(kUser,
      {"time", Must::BeObject, true, kUserTime},
      {"format", Must::BeFormat, kOptional},
      {"summary", Must::BeObject, kOptional, kUserSummary},
      {"agent", Must::BeText},
      {"model", Must::BeObject, true, kModel},
      {"system", Must::BeText, kOptional},
      {"tools", Must::BeFlags, kOptional});
RULES(kAnswerTime, {"created", Must::BeCount}, {"completed", Must::BeCount, kOptional});
RULES(kPath, {"cwd", Must::BeText}, {"root", Must::BeText});
RULES(kAssistant,
      {"time", Must::BeObject, true, kAnswerTime},
      {"error", Must::BeError, kOptional},
      {"parentID", Must::BeText, true, {}, "msg"},
      {"modelID", Must::BeText},
      {"providerID", Must::BeText},
      {"mode", Must::BeText},
      {"agent", Must::BeText},
      {"path", Must::BeObject, true, kPath},
      {"summary", Must::BeFlag, kOptional},
      {"cost", Must::BeNumber},
      {"tokens", Must::BeObject, true, kTokens},
      {"variant", Must::BeText, kOptional},
      {"finish", Must::BeText, kOptional});
RULES(kFormatSchema, {"schema", Must::BeRecord}, {"retryCount", Must::BeCount, kOptional});

RULES(kMessageData, {"message", Must::BeText});
RULES(kUnknownData, {"message", Must::BeText}, {"ref", Must::BeText, kOptional});
RULES(kAuthData, {"providerID", Must::BeText}, {"message", Must::BeText});
RULES(kStructuredData, {"message", Must::BeText}, {"retries", Must::BeCount});
RULES(kOverflowData, {"message", Must::BeText}, {"responseBody", Must::BeText, kOptional});
RULES(kApiData,
      {"message", Must::BeText},
      {"statusCode", Must::BeCount, kOptional},
      {"isRetryable", Must::BeFlag},
      {"responseBody", Must::BeText, kOptional});
struct ErrorRules {
  const char* name;
  Rules data;
};
constexpr ErrorRules kErrors[] = {
    {"ProviderAuthError", kAuthData},
    {"UnknownError", kUnknownData},
    {"MessageOutputLengthError", {}},
    {"MessageAbortedError", kMessageData},
    {"StructuredOutputError", kStructuredData},
    {"ContextOverflowError", kOverflowData},
    {"ContentFilterError", kMessageData},
    {"APIError", kApiData},
};

RULES(kSessionModel,
      {"id", Must::BeText},
      {"providerID", Must::BeText},
      {"variant", Must::BeText, kOptional});
RULES(kSessionSummary,
      {"additions", Must::BeNumber},
      {"deletions", Must::BeNumber},
      {"files", Must::BeNumber},
      {"diffs", Must::BeObjects, kOptional, kDiff});
RULES(kSessionTime,
      {"created", Must::BeCount},
      {"updated", Must::BeCount},
      {"compacting", Must::BeCount, kOptional},
      {"archived", Must::BeNumber, kOptional});
RULES(kSession,
      {"id", Must::BeText, true, {}, "ses"},
      {"slug", Must::BeText},
      {"projectID", Must::BeText},
      {"directory", Must::BeText},
      {"path", Must::BeText, kOptional},
      {"parentID", Must::BeText, kOptional, {}, "ses"},
      {"summary", Must::BeObject, kOptional, kSessionSummary},
      {"cost", Must::BeNumber, kOptional},
      {"tokens", Must::BeObject, kOptional, kTokens},
      {"title", Must::BeText},
      {"agent", Must::BeText, kOptional},
      {"model", Must::BeObject, kOptional, kSessionModel},
      {"version", Must::BeText},
      {"metadata", Must::BeRecord, kOptional},
      {"time", Must::BeObject, true, kSessionTime});
struct PartRules {
  const char* type;
  Rules rules;
};
constexpr PartRules kParts[] = {
    {"text", kTextPart},
    {"subtask", kSubtask},
    {"reasoning", kReasoningPart},
    {"file", kFilePart},
    {"tool", kToolPart},
    {"step-start", kStepStart},
    {"step-finish", kStepFinish},
    {"snapshot", kSnapshot},
    {"patch", kPatch},
    {"agent", kAgent},
    {"retry", kRetry},
    {"compaction", kCompaction},
};
#undef RULES

}  // namespace respool::import_rules
