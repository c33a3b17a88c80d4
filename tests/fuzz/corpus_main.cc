// Runs a fuzz target over files, their mutations and their cuts: the corpus as a plain test, where
// no fuzzer is at hand. Usage: TARGET FILE...
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  std::mt19937 random(20261130);
  std::size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    std::ifstream file(argv[i], std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    bytes.resize(std::min<std::size_t>(bytes.size(), 40'000));
    for (std::size_t at = 0; at < bytes.size();
         at = bytes.find('\n', at) == std::string::npos ? bytes.size() : bytes.find('\n', at) + 1) {
      std::string line = bytes.substr(at, bytes.find('\n', at) - at);
      if (line.starts_with("data: ")) line = line.substr(6);
      run(line);
      for (int round = 0; round < 4 && !line.empty(); ++round) {
        line[random() % line.size()] = static_cast<char>(random());
        run(line);
        ++inputs;
      }
    }
    run(bytes);
    for (int round = 0; round < 8 && !bytes.empty(); ++round, ++inputs) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
      bytes.erase(random() % bytes.size(), random() % 50);
      run(bytes);
    }
  }
  std::printf("%zu inputs\n", inputs);
  return inputs > 0 ? 0 : 1;
}
