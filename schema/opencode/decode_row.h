#pragma once

// Internal to this folder: reading a row of an OpenCode database, an object of its columns.

#include "schema/opencode/json_reader.h"
#include "schema/opencode/record.h"

namespace respool::decode_detail {

// Tables session, message and part become states; the others are known and say nothing more.
Record decode_database_row(json::Reader& reader, std::string_view raw);

}  // namespace respool::decode_detail
