// Runs an order to find what it needs. The state is what is left to do: how many reads of each granule are to
// come. It shares nothing with the counters of the search or with polyhedra, so it can judge both.
//
// Cost: the number of (iteration, granule it reads or writes) pairs.

#include "stream/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace stowage::stream {
namespace {

/// Reads to come of every granule. A granule that stays is read once more, after the end.
std::vector<std::int64_t> reads_to_come(const RowProgram& program) {
  std::vector<std::int64_t> reads(program.granules.size(), 0);
  for (const Iteration& instance : program.instances) {
    for (const GranuleId g : instance.reads) ++reads[g];
  }
  for (std::size_t g = 0; g < reads.size(); ++g) reads[g] += program.granules[g].stays ? 1 : 0;
  return reads;
}

/// Runs the order. Calls `begin` and `end` for each granule, and `step` at each step. Stops at a fault.
template <typename Begin, typename End, typename Step>
std::optional<std::string> walk(const RowProgram& program, std::span<const IterationId> order, Begin begin,
                                End end, Step step) {
  std::vector<std::int64_t> reads = reads_to_come(program);
  std::vector<char> is_there(program.granules.size(), 0);
  std::vector<char> has_run(program.instances.size(), 0);
  for (GranuleId g = 0; g < program.granules.size(); ++g) {
    if (program.granules[g].writer) continue;
    is_there[g] = 1;
    if (reads[g] > 0) begin(g);
  }
  for (const IterationId id : order) {
    if (id >= program.instances.size()) return fmt::format("there is no instance {}", id);
    const Iteration& instance = program.instances[id];
    const auto place = [&] { return fmt::format("instance {} of operator {}", instance.index, instance.op); };
    if (has_run[id] != 0) return place() + " runs twice";
    if (instance.index > 0 && has_run[id - 1] == 0) return place() + " runs before the one in front of it";
    has_run[id] = 1;
    for (const GranuleId g : instance.writes) {
      is_there[g] = 1;
      begin(g);
    }
    for (const GranuleId g : instance.reads) {
      if (is_there[g] == 0) return place() + fmt::format(" reads granule {} before it is written", g);
    }
    for (const Dependence& need : instance.needs) {
      if (need.count > 0 && has_run[program.at(need.op, need.count - 1)] == 0)
        return place() + fmt::format(" runs before instance {} of operator {}", need.count - 1, need.op);
    }
    step();
    for (const GranuleId g : instance.reads) {
      if (--reads[g] == 0) end(g);
    }
    for (const GranuleId g : instance.writes) {
      if (program.granules[g].last_readers.empty() && !program.granules[g].stays) end(g);
    }
  }
  if (order.size() != program.instances.size())
    return fmt::format("there are {} steps, expected {}", order.size(), program.instances.size());
  return std::nullopt;
}

}  // namespace

RowReplay replay(const RowProgram& program, std::span<const IterationId> order) {
  RowReplay result;
  Bytes live = 0;
  const auto begin = [&](GranuleId g) {
    live += program.granules[g].bytes;
    result.peak = std::max(result.peak, live);
  };
  const auto end = [&](GranuleId g) { live -= program.granules[g].bytes; };
  result.fault = walk(program, order, begin, end, [&] { result.loads.push_back(live); });
  return result;
}

std::vector<std::int64_t> windows(const RowModel& model, const RowProgram& program,
                                  std::span<const IterationId> order) {
  std::vector<std::int64_t> live(model.tensors.size(), 0);
  std::vector<std::int64_t> most(model.tensors.size(), 0);
  const auto begin = [&](GranuleId g) {
    if (const auto t = program.granules[g].tensor) most[*t] = std::max(most[*t], ++live[*t]);
  };
  const auto end = [&](GranuleId g) {
    if (const auto t = program.granules[g].tensor) --live[*t];
  };
  (void)walk(program, order, begin, end, [] {});
  return most;
}

std::vector<IterationId> layer_by_layer(const RowProgram& program) {
  std::vector<IterationId> order(program.instances.size());
  std::iota(order.begin(), order.end(), IterationId{0});
  return order;
}

}  // namespace stowage::stream
