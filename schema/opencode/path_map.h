#pragma once

#include <string>
#include <string_view>

namespace respool {

// Puts one directory in the place of another in the strings of JSON. Only whole components count:
// /work/shop is found in "/work/shop" and in "cd /work/shop/src", not in "/work/shop2" nor in
// "/old/work/shop". What is not replaced keeps its bytes.
//
// Threads: any. Errors: none; JSON that does not parse comes back as it is.
class PathMap {
 public:
  // Maps nothing where either is no absolute path, or where they are equal. Separators at their
  // ends do not count.
  PathMap(std::string_view from, std::string_view to);

  bool maps() const { return !from_.empty(); }
  // A value with all strings in it mapped, at any depth; keys are left. A string under a key that
  // holds one path (such as "filePath") is a path as a whole: spaces do not end a component there.
  std::string mapped(std::string_view json) const;

 private:
  std::string value(std::string_view json, bool whole_path, int depth) const;
  std::string string(std::string_view quoted, bool whole_path) const;

  std::u32string from_;
  std::string to_;  // as the inside of a JSON string
};

}  // namespace respool
