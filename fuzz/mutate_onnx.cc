// usage: mutate_onnx COUNT SEED FOLDER...
//
// Reads COUNT mutants of the ONNX files below the folders: some bytes changed, put in, left out, or taken from another
// place. Each is a model or an Error; anything else ends the program, and so does a mutant that takes ten seconds. What
// ended it is written to mutant.onnx. Built with sanitizers (preset asan), which look for the rest.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <system_error>
#include <vector>

#include "stowage/error.h"
#include "stowage/import.h"

extern "C" void __sanitizer_set_death_callback(void (*callback)());

namespace {

constexpr std::uintmax_t largest_seed = 20'000;  // bytes
constexpr unsigned longest = 10;                 // seconds

std::string& mutant() {
  static std::string bytes;
  return bytes;
}

void save_mutant() { std::ofstream("mutant.onnx", std::ios::binary) << mutant(); }

void stop(int) {
  save_mutant();
  std::_Exit(1);
}

std::vector<std::string> seeds_below(char** first, char** last) {
  std::vector<std::filesystem::path> files;
  std::error_code ignored;  // a folder that is not there has no files
  for (; first != last; ++first) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(*first, ignored))
      if (entry.path().extension() == ".onnx" && entry.file_size() <= largest_seed)
        files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  std::erase(seeds, "");
  return seeds;
}

void change(std::string& bytes, std::mt19937_64& random) {
  // Most changes keep the length: others make most lengths in the file wrong, which is found soon.
  const std::size_t at = random() % bytes.size();
  switch (random() % 10) {
    case 0:
      bytes.insert(at, 1, static_cast<char>(random()));
      break;
    case 1:
      bytes.erase(at, 1 + random() % 4);
      break;
    case 2:
      bytes.insert(at, bytes.substr(random() % bytes.size(), 1 + random() % 40));
      break;
    case 3:
    case 4:
    case 5:
      bytes[at] = static_cast<char>(random());
      break;
    default:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      break;
  }
  if (bytes.empty()) bytes = "x";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: mutate_onnx COUNT SEED FOLDER...\n";
    return 2;
  }
  const std::uint64_t count = std::strtoull(argv[1], nullptr, 10);
  std::mt19937_64 random(std::strtoull(argv[2], nullptr, 10));
  const std::vector<std::string> seeds = seeds_below(argv + 3, argv + argc);
  if (seeds.empty()) {
    std::cerr << "mutate_onnx: there are no small ONNX files in the folders\n";
    return 2;
  }
  __sanitizer_set_death_callback(save_mutant);
  std::signal(SIGALRM, stop);
  using Clock = std::chrono::steady_clock;
  Clock::duration slowest{};
  std::uint64_t models = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    mutant() = seeds[random() % seeds.size()];
    for (std::uint64_t changes = 1 + random() % 4; changes > 0; --changes) change(mutant(), random);
    alarm(longest);
    const auto begin = Clock::now();
    try {
      (void)stowage::parse_input(mutant(), "mutant.onnx");
      ++models;
    } catch (const stowage::Error&) {
    }
    slowest = std::max(slowest, Clock::now() - begin);
  }
  alarm(0);
  std::cout << count << " mutants of " << seeds.size() << " files: " << models << " models, "
            << count - models << " errors; the slowest took "
            << std::chrono::duration<double>(slowest).count() << " s\n";
  return 0;
}
