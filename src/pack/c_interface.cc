// The packer for callers without exceptions: each function catches what is thrown and returns a status. All that it
// allocates is from the allocator of the problem; see c_memory.h.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/text.h"
#include "pack/c_memory.h"
#include "pack/portfolio.h"
#include "pack/solve.h"
#include "stowage/error.h"
#include "stowage/problem.h"
#include "stowage_pack.h"

/// The header runs no strategy by its name.
std::vector<stowage::pack::Strategy> stowage::pack::packers_by_name() { return {}; }

struct stowage_pack_problem {
  stowage_pack_allocator allocator{};
  stowage::Problem problem{};
  std::optional<stowage::Solution> solution{};
  std::vector<std::optional<stowage::Place>>
      last{};  ///< By buffer: its place in the last solution that fitted.
  std::string error{};
  stowage::Objective objective = stowage::Objective::cost;
  const volatile int* cancel = nullptr;
};

namespace {

using stowage::BufferPair;
using stowage::Bytes;

/// Runs what may throw.
template <typename Work>
stowage_pack_status guarded(stowage_pack_problem& it, const Work& work) {
  const stowage::pack::MemoryOf memory(it.allocator);
  try {
    it.error.clear();
    return work();
  } catch (const std::bad_alloc&) {
    it.error.clear();
    return STOWAGE_PACK_NO_MEMORY;
  } catch (const std::exception& error) {
    try {
      it.error = error.what();
    } catch (const std::bad_alloc&) {
      return STOWAGE_PACK_NO_MEMORY;
    }
    return STOWAGE_PACK_INVALID;
  }
}

void expect_number(std::int64_t number, std::size_t count, std::string_view what) {
  if (number < 0 || static_cast<std::uint64_t>(number) >= count)
    throw stowage::Error("", stowage::base::concat(what, " ", number, " does not exist, there are ", count));
}

stowage::Buffer& buffer_of(stowage_pack_problem& it, std::int64_t number) {
  expect_number(number, it.problem.buffers.size(), "buffer");
  return it.problem.buffers[static_cast<std::size_t>(number)];
}

BufferPair pair_of(stowage_pack_problem& it, std::int64_t a, std::int64_t b) {
  expect_number(a, it.problem.buffers.size(), "buffer");
  expect_number(b, it.problem.buffers.size(), "buffer");
  return {static_cast<std::size_t>(a), static_cast<std::size_t>(b)};
}

stowage_pack_status add_pair(stowage_pack_problem* it, std::vector<BufferPair> stowage::Relations::*list,
                             std::int64_t a, std::int64_t b) {
  return guarded(*it, [&] {
    (it->problem.relations.*list).push_back(pair_of(*it, a, b));
    return STOWAGE_PACK_FITS;
  });
}

/// The place of a buffer; none without a solution.
std::optional<stowage::Place> place_of(const stowage_pack_problem& it, std::int64_t buffer) {
  if (!it.solution || buffer < 0 || static_cast<std::uint64_t>(buffer) >= it.solution->places.size())
    return std::nullopt;
  return it.solution->places[static_cast<std::size_t>(buffer)];
}

}  // namespace

int stowage_pack_abi(void) { return STOWAGE_PACK_ABI; }

stowage_pack_problem* stowage_pack_create(void) {
  const stowage_pack_allocator allocator{
      .allocate = [](void*, std::size_t size) { return std::malloc(size); },
      .release = [](void*, void* memory, std::size_t) { std::free(memory); },
      .context = nullptr};
  return stowage_pack_create_with(&allocator);
}

stowage_pack_problem* stowage_pack_create_with(const stowage_pack_allocator* allocator) {
  try {
    (void)stowage::strategies();  // their table outlives all problems
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  void* const memory = allocator->allocate(allocator->context, sizeof(stowage_pack_problem));
  return memory == nullptr ? nullptr : new (memory) stowage_pack_problem{.allocator = *allocator};
}

void stowage_pack_destroy(stowage_pack_problem* problem) {
  if (problem == nullptr) return;
  const stowage_pack_allocator allocator = problem->allocator;
  problem->~stowage_pack_problem();
  allocator.release(allocator.context, problem, sizeof(stowage_pack_problem));
}

int64_t stowage_pack_add_memory(stowage_pack_problem* problem, int64_t capacity) {
  auto& memories = problem->problem.memories;
  const auto status = guarded(*problem, [&] {
    stowage::Memory memory{.name = stowage::base::concat("memory ", memories.size())};
    if (capacity != STOWAGE_PACK_UNLIMITED) memory.capacity = capacity;
    memories.push_back(std::move(memory));
    return STOWAGE_PACK_FITS;
  });
  return status == STOWAGE_PACK_FITS ? static_cast<std::int64_t>(memories.size()) - 1 : -1;
}

int64_t stowage_pack_add_buffer(stowage_pack_problem* problem, int64_t size, int64_t alignment, int64_t lower,
                                int64_t upper) {
  auto& buffers = problem->problem.buffers;
  const auto status = guarded(*problem, [&] {
    buffers.push_back({.id = stowage::base::concat(buffers.size()),
                       .size = size,
                       .alignment = alignment,
                       .pieces = {{0, size, {lower, upper}}},
                       .traffic = size});
    return STOWAGE_PACK_FITS;
  });
  return status == STOWAGE_PACK_FITS ? static_cast<std::int64_t>(buffers.size()) - 1 : -1;
}

stowage_pack_status stowage_pack_set_memory_cost(stowage_pack_problem* problem, int64_t memory,
                                                 int64_t cost) {
  return guarded(*problem, [&] {
    expect_number(memory, problem->problem.memories.size(), "memory");
    if (cost < 0 || cost > stowage::largest_value)
      throw stowage::Error("", stowage::base::concat("cost of memory ", memory, " is ", cost,
                                                     ", expected 0 to ", stowage::largest_value));
    problem->problem.memories[static_cast<std::size_t>(memory)].cost = cost;
    return STOWAGE_PACK_FITS;
  });
}

stowage_pack_status stowage_pack_set_traffic(stowage_pack_problem* problem, int64_t buffer, int64_t bytes) {
  return guarded(*problem, [&] {
    stowage::Buffer& it = buffer_of(*problem, buffer);
    if (bytes < 0 || bytes > stowage::largest_value)
      throw stowage::Error("", stowage::base::concat("traffic of buffer ", buffer, " is ", bytes,
                                                     ", expected 0 to ", stowage::largest_value));
    it.traffic = bytes;
    return STOWAGE_PACK_FITS;
  });
}

stowage_pack_status stowage_pack_add_life(stowage_pack_problem* problem, int64_t buffer, int64_t lower,
                                          int64_t upper) {
  return guarded(*problem, [&] {
    stowage::Buffer& it = buffer_of(*problem, buffer);
    it.pieces.push_back({0, it.size, {lower, upper}});
    return STOWAGE_PACK_FITS;
  });
}

stowage_pack_status stowage_pack_resize(stowage_pack_problem* problem, int64_t buffer, int64_t size) {
  return guarded(*problem, [&] {
    stowage::Buffer& it = buffer_of(*problem, buffer);
    it.size = it.traffic = size;
    for (stowage::Piece& piece : it.pieces) piece.size = size;
    return STOWAGE_PACK_FITS;
  });
}

stowage_pack_status stowage_pack_set_life(stowage_pack_problem* problem, int64_t buffer, int64_t lower,
                                          int64_t upper) {
  return guarded(*problem, [&] {
    stowage::Buffer& it = buffer_of(*problem, buffer);
    it.pieces = {{0, it.size, {lower, upper}}};
    return STOWAGE_PACK_FITS;
  });
}

stowage_pack_status stowage_pack_remove(stowage_pack_problem* problem, int64_t buffer) {
  return guarded(*problem, [&] {
    stowage::Buffer& it = buffer_of(*problem, buffer);
    it = {.id = it.id};
    const auto number = static_cast<std::size_t>(buffer);
    const auto has = [&](const auto& pair) { return pair.first == number || pair.second == number; };
    stowage::Relations& relations = problem->problem.relations;
    std::erase_if(relations.together, has);
    std::erase_if(relations.apart, has);
    std::erase_if(relations.exclusive, has);
    std::erase_if(relations.reuse_costs, [&](const stowage::ReuseCost& reuse) { return has(reuse.pair); });
    std::erase_if(relations.copies,
                  [&](const stowage::CopyGains& copies) { return copies.buffer == number; });
    if (number < problem->last.size()) problem->last[number].reset();
    return STOWAGE_PACK_FITS;
  });
}

stowage_pack_status stowage_pack_copies(stowage_pack_problem* problem, int64_t buffer, const int64_t* gains,
                                        size_t count) {
  return guarded(*problem, [&] {
    (void)buffer_of(*problem, buffer);
    const auto number = static_cast<std::size_t>(buffer);
    stowage::CopyGains copies{.buffer = number, .gains = std::vector<std::int64_t>(gains, gains + count)};
    std::vector<stowage::CopyGains>& all = problem->problem.relations.copies;
    const auto known = std::ranges::find(all, number, &stowage::CopyGains::buffer);
    if (known != all.end())
      *known = std::move(copies);
    else
      all.push_back(std::move(copies));
    return STOWAGE_PACK_FITS;
  });
}

stowage_pack_status stowage_pack_pin(stowage_pack_problem* problem, int64_t buffer, int64_t offset) {
  return guarded(*problem, [&] {
    buffer_of(*problem, buffer).pinned = offset;
    return STOWAGE_PACK_FITS;
  });
}

stowage_pack_status stowage_pack_allow(stowage_pack_problem* problem, int64_t buffer, int64_t memory) {
  return guarded(*problem, [&] {
    expect_number(memory, problem->problem.memories.size(), "memory");
    buffer_of(*problem, buffer).memories.push_back(static_cast<std::size_t>(memory));
    return STOWAGE_PACK_FITS;
  });
}

stowage_pack_status stowage_pack_reserve(stowage_pack_problem* problem, int64_t memory, int64_t begin,
                                         int64_t end) {
  return guarded(*problem, [&] {
    expect_number(memory, problem->problem.memories.size(), "memory");
    problem->problem.memories[static_cast<std::size_t>(memory)].reserved.push_back({begin, end});
    return STOWAGE_PACK_FITS;
  });
}

stowage_pack_status stowage_pack_together(stowage_pack_problem* problem, int64_t a, int64_t b) {
  return stowage_pack_together_at(problem, a, b, 0);
}

stowage_pack_status stowage_pack_together_at(stowage_pack_problem* problem, int64_t a, int64_t b,
                                             int64_t distance) {
  return guarded(*problem, [&] {
    const BufferPair pair = pair_of(*problem, a, b);
    problem->problem.relations.together.push_back({pair.first, pair.second, distance});
    return STOWAGE_PACK_FITS;
  });
}

stowage_pack_status stowage_pack_apart(stowage_pack_problem* problem, int64_t a, int64_t b) {
  return add_pair(problem, &stowage::Relations::apart, a, b);
}

stowage_pack_status stowage_pack_exclusive(stowage_pack_problem* problem, int64_t a, int64_t b) {
  return add_pair(problem, &stowage::Relations::exclusive, a, b);
}

stowage_pack_status stowage_pack_reuse_cost(stowage_pack_problem* problem, int64_t a, int64_t b,
                                            int64_t cost) {
  return guarded(*problem, [&] {
    problem->problem.relations.reuse_costs.push_back({pair_of(*problem, a, b), cost});
    return STOWAGE_PACK_FITS;
  });
}

stowage_pack_status stowage_pack_set_objective(stowage_pack_problem* problem,
                                               stowage_pack_objective objective) {
  return guarded(*problem, [&] {
    switch (objective) {
      case STOWAGE_PACK_COST:
        problem->objective = stowage::Objective::cost;
        return STOWAGE_PACK_FITS;
      case STOWAGE_PACK_COST_THEN_PEAK:
        problem->objective = stowage::Objective::cost_then_peak;
        return STOWAGE_PACK_FITS;
      case STOWAGE_PACK_PEAK_THEN_COST:
        problem->objective = stowage::Objective::peak_then_cost;
        return STOWAGE_PACK_FITS;
    }
    throw stowage::Error(
        "", stowage::base::concat("objective is ", static_cast<int>(objective), ", expected 0, 1 or 2"));
  });
}

void stowage_pack_set_cancel_flag(stowage_pack_problem* problem, const volatile int* flag) {
  problem->cancel = flag;
}

stowage_pack_status stowage_pack_solve(stowage_pack_problem* problem, int64_t effort, uint64_t seed) {
  problem->last.clear();
  return stowage_pack_solve_again(problem, effort, seed);
}

stowage_pack_status stowage_pack_solve_again(stowage_pack_problem* problem, int64_t effort, uint64_t seed) {
  problem->solution.reset();
  return guarded(*problem, [&] {
    if (effort < 0)
      throw stowage::Error("", stowage::base::concat("effort is ", effort, ", expected at least 0"));
    const stowage::SolveOptions options{.effort = effort,
                                        .threads = 1,
                                        .seed = seed,
                                        .objective = problem->objective,
                                        .start = problem->last};
    const auto deadline =
        stowage::base::Deadline::after_work(std::chrono::duration<double, std::milli>(effort));
    stowage::Solution solution =
        stowage::pack::solve(problem->problem, options, deadline.cancelled_by(problem->cancel));
    const bool fits = solution.outcome == stowage::Outcome::fits;
    if (fits) problem->last.assign(solution.places.begin(), solution.places.end());
    problem->solution = std::move(solution);
    return fits ? STOWAGE_PACK_FITS : STOWAGE_PACK_DOES_NOT_FIT;
  });
}

int64_t stowage_pack_offset(const stowage_pack_problem* problem, int64_t buffer) {
  const auto place = place_of(*problem, buffer);
  return place ? place->offset : 0;
}

int64_t stowage_pack_memory_of(const stowage_pack_problem* problem, int64_t buffer) {
  const auto place = place_of(*problem, buffer);
  return place ? static_cast<std::int64_t>(place->memory) : 0;
}

int64_t stowage_pack_peak(const stowage_pack_problem* problem, int64_t memory) {
  if (!problem->solution || memory < 0) return 0;
  return stowage::peak_of(problem->problem, *problem->solution, static_cast<std::size_t>(memory));
}

int64_t stowage_pack_lower_bound(const stowage_pack_problem* problem) {
  return problem->solution ? problem->solution->lower_bound : 0;
}

int64_t stowage_pack_cost(const stowage_pack_problem* problem) {
  return problem->solution ? problem->solution->reuse_cost : 0;
}

int64_t stowage_pack_memory_cost(const stowage_pack_problem* problem) {
  return problem->solution ? problem->solution->memory_cost : 0;
}

int64_t stowage_pack_copies_of(const stowage_pack_problem* problem, int64_t buffer) {
  if (!place_of(*problem, buffer)) return 0;
  const auto& copies = problem->solution->copies;
  return copies.empty() ? 1 : copies[static_cast<std::size_t>(buffer)];
}

int64_t stowage_pack_gain(const stowage_pack_problem* problem) {
  return problem->solution ? problem->solution->gain : 0;
}

int stowage_pack_is_least_peak(const stowage_pack_problem* problem) {
  return problem->solution && problem->solution->is_least_peak ? 1 : 0;
}

int64_t stowage_pack_cost_bound(const stowage_pack_problem* problem) {
  return problem->solution ? problem->solution->reuse_cost_bound : 0;
}

int stowage_pack_cannot_fit(const stowage_pack_problem* problem) {
  return problem->solution && problem->solution->cannot_fit ? 1 : 0;
}

const char* stowage_pack_error(const stowage_pack_problem* problem) { return problem->error.c_str(); }
