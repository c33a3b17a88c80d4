#pragma once

#include <string_view>

#include "schema/error.h"

namespace rocksdb {
class Status;
}

namespace respool {

// The one place that reads a failed rocksdb::Status. `place` says what was being done, to what.
Error from_rocksdb(const rocksdb::Status& status, std::string_view place);

}  // namespace respool
