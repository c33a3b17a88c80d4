#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace respool::test {

// A made-up secret and what stands around it. Put together at run time, so that no scanner takes
// this repository for a leak.
struct PlantedSecret {
  std::string kind;
  std::string before;
  std::string secret;
  std::string after;
};

// Letters and digits from a seed: `alphabet` or all of them.
std::string random_text(std::uint32_t seed, std::size_t size, const std::string& alphabet = {});

// A private key in PEM, ten lines.
std::string planted_key(std::uint32_t seed);

// At least one of every kind that MASKING.md lists.
std::vector<PlantedSecret> planted_secrets(std::uint32_t seed);

}  // namespace respool::test
