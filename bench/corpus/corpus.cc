#include "bench/corpus/corpus.h"

#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>

#include <zstd.h>

#include "bench/corpus/make_corpus.h"

namespace respool::bench {
namespace {

constexpr unsigned kSeed = 20261130;

Corpus make(const std::string& name) {
  Corpus made;
  if (name == "recorded") {
    const std::string bytes = unpack(std::string(RESPOOL_CORPUS) + "/events.sse.zst");
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t end = bytes.find('\n', at);
      if (bytes.compare(at, 6, "data: ") == 0)
        made.events.push_back(bytes.substr(at + 6, end - at - 6));
      at = end + 1;
    }
  } else {
    made.events = make_events(kSeed, name == "small" ? 300 : 20'000);
  }
  for (const auto& event : made.events)
    made.bytes += event.size();
  return made;
}

}  // namespace

std::string unpack(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  const std::string packed{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::string bytes(ZSTD_getFrameContentSize(packed.data(), packed.size()), '\0');
  const auto got = ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
  if (ZSTD_isError(got) != 0) throw std::runtime_error("cannot unpack " + path);
  bytes.resize(got);
  return bytes;
}

const Corpus& corpus(const std::string& name) {
  static std::map<std::string, Corpus> made;
  const auto known = made.find(name);
  return known != made.end() ? known->second : made.emplace(name, make(name)).first->second;
}

}  // namespace respool::bench
