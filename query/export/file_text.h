#pragma once

// Internal to opencode_file.cc: the file as it grows, and what is noted beside it.

#include <string>
#include <string_view>
#include <vector>

#include "schema/opencode/import_shape.h"
#include "schema/opencode/json_fields.h"

#include "query/export/opencode_file.h"

namespace respool::export_detail {

// Appends to one text; an object is written once and not kept. Old ids are "" for what was made up.
class FileText {
 public:
  explicit FileText(OpenCodeFile& file) : file_(&file) {}

  void begin(const JsonFields& session);
  void open_message(const std::string& old_id, const std::string& id, const JsonFields& info);
  void add_part(const std::string& old_id, const std::string& id, const JsonFields& part);
  void close_message() { file_->json += "]}"; }
  void finish();

  void note(const std::string& message,
            const std::string& part,
            std::string what,
            bool left_out = false);
  void note_filled(const std::string& message,
                   const std::string& part,
                   const std::vector<std::string>& filled);
  void note_removed(const std::string& message, const std::string& part, const Fitting& fitting);

 private:
  OpenCodeFile* file_;
  bool first_message_ = true;
  bool first_part_ = true;
};

}  // namespace respool::export_detail
