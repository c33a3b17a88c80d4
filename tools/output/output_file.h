#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "schema/descriptor.h"
#include "schema/error.h"

namespace respool {

// A file that appears whole or not at all: written as NAME.incomplete, which is locked while it is
// written, and renamed when it is done. One that is left of a crash is written over.
//
// Threads: one at a time. Errors: Io; StoreBusy where another process writes the same file;
// InvalidArgument where it is there already and may not be replaced.
class OutputFile {
 public:
  static Result<OutputFile> create(const std::filesystem::path& path, bool replace);
  ~OutputFile();
  OutputFile(OutputFile&&) = default;
  OutputFile& operator=(OutputFile&&) = delete;

  Result<void> write(std::string_view bytes);
  // Makes it survive a power cut and gives it its name.
  Result<void> finish();

 private:
  OutputFile(std::filesystem::path path, std::filesystem::path incomplete, Descriptor file)
      : path_(std::move(path)), incomplete_(std::move(incomplete)), file_(std::move(file)) {}

  std::filesystem::path path_;
  std::filesystem::path incomplete_;
  Descriptor file_;
};

// Writes bytes to an open descriptor, all of them. `name` is what messages call it.
Result<void> write_fully(int file, std::string_view bytes, const std::string& name);

}  // namespace respool
