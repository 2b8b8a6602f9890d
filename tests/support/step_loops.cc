#include "step_loops.h"

#include <sstream>
#include <utility>
#include <variant>

#include "stowage/export.h"

namespace stowage::testing {
namespace {

constexpr std::int64_t far = 1000;  ///< Rows begin here, so that they may move back.

/// Steps as loops make them, at random: each loop moves the rows and blocks of the steps within on.
class Loops {
 public:
  explicit Loops(Random& random) : random_(random) {}

  std::vector<Step> steps() {
    std::vector<Step> all;
    for (std::int64_t part = pick(random_, 1, 3); part > 0; --part) add_loop(all, 2);
    return all;
  }

 private:
  void add_loop(std::vector<Step>& all, int depth) {
    const std::size_t begin = all.size();
    for (std::int64_t i = pick(random_, 1, 3); i > 0; --i) {
      if (depth > 0 && pick(random_, 0, 2) == 0) {
        add_loop(all, depth - 1);
      } else {
        add_step(all);
      }
    }
    const std::vector<Step> once(all.begin() + static_cast<std::ptrdiff_t>(begin), all.end());
    std::vector<std::pair<std::int64_t, std::int64_t>> advances;
    for (std::size_t i = 0; i < once.size(); ++i)
      advances.emplace_back(pick(random_, -2, 3), pick(random_, 0, 1) * 4);
    const std::int64_t count = pick(random_, 1, 5);
    for (std::int64_t times = 1; times < count; ++times) {
      for (std::size_t i = 0; i < once.size(); ++i)
        all.push_back(moved(once[i], times * advances[i].first, times * advances[i].second));
    }
  }

  void add_step(std::vector<Step>& all) {
    const RowRange rows{1, far + pick(random_, 0, 9), far + 10};
    switch (pick(random_, 0, 9)) {
      case 0:
        return all.push_back(Copy{0, 0, 1});
      case 1:
        return all.push_back(Arrive{1, rows});
      case 2:
        return all.push_back(Leave{2, pick(random_, 0, 1) != 0 ? std::optional(rows) : std::nullopt});
      default:
        break;
    }
    const bool has_rows = pick(random_, 0, 5) != 0;
    const bool has_block = pick(random_, 0, 1) != 0;
    Run run =
        run_of(static_cast<std::size_t>(pick(random_, 0, 2)), has_rows ? std::optional(far) : std::nullopt,
               has_block ? std::optional(far) : std::nullopt);
    if (pick(random_, 0, 9) == 0) run.sums = Sums{1, 8};
    if (pick(random_, 0, 9) == 0) run.carry = Sums{0, 4};
    if (pick(random_, 0, 9) == 0) run.part = RowRange{2, 3, 5};
    all.emplace_back(run);
  }

  static Step moved(Step step, std::int64_t rows, std::int64_t block) {
    const auto move = [](auto& range, std::int64_t by) {
      if (range) *range = RowRange{range->axis, range->begin + by, range->end + by};
    };
    if (auto* const run = std::get_if<Run>(&step)) {
      move(run->rows, rows);
      move(run->block, block);
    }
    if (auto* const arrive = std::get_if<Arrive>(&step)) move(arrive->rows, rows);
    if (auto* const leave = std::get_if<Leave>(&step)) move(leave->rows, rows);
    return step;
  }

  Random& random_;
};

}  // namespace

Run run_of(std::size_t op, std::optional<std::int64_t> row, std::optional<std::int64_t> block) {
  Run run{.model = 0, .path = {0, op}};
  if (row) run.rows = RowRange{1, *row, *row + 1};
  if (block) run.block = RowRange{3, *block, *block + 4};
  return run;
}

std::vector<Step> steps_of_loops(Random& random) { return Loops(random).steps(); }

std::vector<Step> steps_of_blocks() {
  std::vector<Step> steps;
  for (std::int64_t row = 0; row < 4; ++row) {
    steps.emplace_back(run_of(0, row));
    for (std::int64_t block = 0; block < 3; ++block) {
      steps.emplace_back(run_of(1, row, 4 * block));
      steps.emplace_back(run_of(2, 2 * row, 4 * block));
    }
  }
  return steps;
}

Plan plan_with(std::vector<Step> steps) {
  Plan plan;
  plan.models = {{"m", "m.json", ModelFormat::json}};
  plan.memories.push_back({.memory = {.name = "arena"}});
  for (const char* const id : {"a", "b"}) {
    plan.buffers.push_back({.id = id, .size = 64, .pieces = {{0, 64, {0, 9}}}});
    plan.places.push_back({0, 0});
  }
  plan.clocks.push_back({std::move(steps)});
  return plan;
}

std::string json_of(const Plan& plan) {
  std::ostringstream out;
  write_json(plan, out);
  return out.str();
}

}  // namespace stowage::testing
