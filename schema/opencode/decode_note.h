#pragma once

// Internal to this folder: reading respool's own notes, which recordings hold between OpenCode's
// lines.

#include "schema/opencode/decode_part.h"

namespace respool::decode_detail {

// True for notes that read_note() reads; the others share the fields of OpenCode's own records.
bool is_note_kind(Kind kind);

// Fills the body of a note of `record.kind`.
void read_note(json::Object object, Record& record, Notes& notes);

}  // namespace respool::decode_detail
