#include "query/export/file_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace respool::export_detail {

void FileText::begin(const JsonFields& session) {
  file_->json = "{\"info\":";
  session.append_to(file_->json);
  file_->json += ",\"messages\":[";
}

void FileText::open_message(const std::string& old_id,
                            const std::string& id,
                            const JsonFields& info) {
  file_->json += first_message_ ? "\n{\"info\":" : ",\n{\"info\":";
  first_message_ = false;
  info.append_to(file_->json);
  file_->json += ",\"parts\":[";
  first_part_ = true;
  file_->messages.emplace_back(old_id, id);
}

void FileText::add_part(const std::string& old_id, const std::string& id, const JsonFields& part) {
  file_->json += first_part_ ? "\n" : ",\n";
  first_part_ = false;
  part.append_to(file_->json);
  file_->parts.emplace_back(old_id, id);
}

void FileText::finish() {
  file_->json += first_message_ ? "]}\n" : "\n]}\n";
}

void FileText::note(const std::string& message,
                    const std::string& part,
                    std::string what,
                    bool left_out) {
  file_->notes.push_back({message, part, std::move(what), left_out});
}

void FileText::note_filled(const std::string& message,
                           const std::string& part,
                           const std::vector<std::string>& filled) {
  if (filled.empty()) return;
  note(message,
       part,
       fmt::format("filled in what its OpenCode did not store: {}", fmt::join(filled, ", ")));
}

void FileText::note_removed(const std::string& message,
                            const std::string& part,
                            const Fitting& fitting) {
  if (fitting.removed.empty()) return;
  note(
      message,
      part,
      fmt::format("without what the importer would stop at: {}", fmt::join(fitting.removed, ", ")));
}

}  // namespace respool::export_detail
