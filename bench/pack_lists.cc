// Packs buffer lists inside the library, without the program around it. A list is CSV, or the buffers of a plan
// (.json), which may have pieces.
//
//     pack_lists [--strategy NAME] [--seconds S | --effort N] [--seeds N] [--threads N] [--times N] LIST ...
//
// Prints for each list and seed: name, seed, peak, lower bound, and seconds of one call: with --times the median of
// so many.

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "stowage/import.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Settings {
  stowage::SolveOptions options{};
  std::uint64_t seeds = 1;
  std::size_t times = 1;
  std::vector<std::filesystem::path> lists{};
};

Settings settings_of(int argc, char** argv) {
  Settings settings;
  for (int a = 1; a < argc; ++a) {
    const std::string_view flag = argv[a];
    if (!flag.starts_with("--")) {
      settings.lists.emplace_back(flag);
      continue;
    }
    if (++a == argc) throw std::invalid_argument(fmt::format("{} needs a value", flag));
    const std::string value = argv[a];
    if (flag == "--strategy") {
      settings.options.strategy = value;
    } else if (flag == "--seconds") {
      settings.options.time_limit = std::chrono::duration<double>(std::stod(value));
    } else if (flag == "--effort") {
      settings.options.effort = std::stoll(value);
    } else if (flag == "--seeds") {
      settings.seeds = std::stoull(value);
    } else if (flag == "--threads") {
      settings.options.threads = std::stoull(value);
    } else if (flag == "--times") {
      settings.times = std::stoull(value);
    } else {
      throw std::invalid_argument(fmt::format("unknown option {}", flag));
    }
  }
  return settings;
}

stowage::Problem read(const std::filesystem::path& list) {
  if (list.extension() != ".json") return std::get<stowage::Problem>(stowage::read_input(list).content);
  std::ifstream file(list);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return {.buffers = stowage::parse_plan(text).buffers, .memories = {{.name = "arena"}}};
}

void pack(const Settings& settings, const std::filesystem::path& list) {
  const stowage::Problem problem = read(list);
  for (std::uint64_t seed = 0; seed < settings.seeds; ++seed) {
    stowage::SolveOptions options = settings.options;
    options.seed = seed;
    std::vector<double> seconds;
    stowage::Solution solution;
    for (std::size_t time = 0; time < settings.times; ++time) {
      const auto begin = Clock::now();
      solution = stowage::solve(problem, options);
      seconds.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    }
    std::sort(seconds.begin(), seconds.end());
    fmt::print("{} {} {} {} {:.7f}\n", list.stem().string(), seed, stowage::peak_of(problem, solution, 0),
               solution.lower_bound, seconds[seconds.size() / 2]);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Settings settings = settings_of(argc, argv);
    for (const std::filesystem::path& list : settings.lists) pack(settings, list);
  } catch (const std::exception& error) {
    fmt::print(stderr, "pack_lists: {}\n", error.what());
    return 2;
  }
  return 0;
}
