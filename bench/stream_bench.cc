// How low streaming brings models, and how sure that is.
//
//     stream_bench MODEL...
//
// Two lines for each model, with its input in the arena and arriving by rows: live bytes layer by layer,
// region by region, in the best order found, the bound below which no order gets, and the seconds of all
// this.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "stowage/network.h"
#include "stream/bound.h"
#include "stream/instances.h"
#include "stream/regions.h"
#include "stream/replay.h"
#include "stream/search.h"

namespace {

using namespace stowage;

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

void measure(const std::string& name, const Network& network, stowage::Io io) {
  const stream::RowModel model = stream::instances_of(network.graph(), {.io = io});
  const stream::RowProgram whole = stream::unroll(stream::without_rows(model));
  const Stopwatch stopwatch;
  const stream::RowProgram program = stream::unroll(model);
  const stream::RegionOrder regions = stream::order_by_regions(program, 50'000'000);
  const double ordered = stopwatch.seconds();
  const stream::Bound bound = stream::lower_bound(program, regions.steps, {.most_cuts = 200});
  const double bounded = stopwatch.seconds();
  const auto order = stream::improve(program, regions.steps, {.target = bound.bytes});
  const double improved = stopwatch.seconds();
  const stream::RowReplay found = stream::replay(program, order);
  std::printf("%-24s %-5s %10lld %10lld %10lld %10lld%c %8.2f %8.2f %8.2f %s\n", name.c_str(),
              io == stowage::Io::arena ? "arena" : "rows",
              static_cast<long long>(stream::replay(whole, stream::layer_by_layer(whole)).peak),
              static_cast<long long>(regions.peak), static_cast<long long>(found.peak),
              static_cast<long long>(bound.bytes), bound.is_complete ? ' ' : '+', ordered, bounded - ordered,
              improved - bounded, found.fault.value_or("").c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("%-24s %-5s %10s %10s %10s %10s  %8s %8s %8s\n", "live bytes of", "input", "by layers",
              "by regions", "found", "at least", "regions", "bound", "search s");
  for (int i = 1; i < argc; ++i) {
    try {
      const Network network = read_network(argv[i]);
      for (const auto io : {stowage::Io::arena, stowage::Io::rows})
        measure(std::filesystem::path(argv[i]).stem().string(), network, io);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      return 1;
    }
  }
  return 0;
}
