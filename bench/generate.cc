// Writes generated buffers as a buffer list: generate COUNT [SEED] > list.csv

#include "generate.h"

#include <cstdlib>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::cerr << "usage: generate COUNT [SEED]\n";
    return 2;
  }
  const auto count = static_cast<std::size_t>(std::strtoull(argv[1], nullptr, 10));
  const std::uint64_t seed = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 1;
  std::cout << "id,lower,upper,size\n";
  for (const stowage::Buffer& buffer : stowage::bench::generate(count, seed).buffers) {
    const stowage::Lifetime& life = buffer.pieces[0].life;
    std::cout << buffer.id << ',' << life.lower << ',' << life.upper << ',' << buffer.size << '\n';
  }
  return std::cout.flush() ? 0 : 1;
}
