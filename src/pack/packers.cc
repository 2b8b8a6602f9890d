// All strategies of one memory as data: what they are called, which problems they serve, and their turns. First those
// that `auto` runs, in its order on few buffers, which decides between equal placings; then those of packers_by_name.cc.

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "pack/placing.h"
#include "pack/portfolio.h"
#include "pack/shares.h"
#include "pack/strategies.h"

namespace stowage::pack {
namespace {

std::optional<std::string> nothing(const Problem&) { return std::nullopt; }

std::vector<Strategy> make_all() {
  std::vector<Strategy> strategies;
  for (const Greedy& greedy : greedies()) {
    const auto run = [&greedy](const Problem& problem, const Control& control) {
      return place_greedily(greedy, problem, control);
    };
    strategies.push_back(
        {greedy.info, run, several_memories, {.of_many = greedy.of_many, .work = greedy.work}});
  }
  const std::initializer_list<Strategy> others{
      {{"free-list", "allocates and frees operator by operator, in one memory after the other",
        "CN patent application, 2023"},
       free_list,
       nothing,
       {.of_many = 0, .work = 300, .is_stopgap = true}},
      {{"from-peak", "from the fullest position to both sides; what is left over throws out what weighs less",
        "stowage"},
       from_peak,
       several_memories,
       {.of_many = 3, .least = 7'000, .of_many_later = 10, .share = shares::from_peak, .is_alone = true}},
      {{"rings", "equal buffers that come and go in turn make rings, which a squeaky wheel places",
        "stowage"},
       rings,
       several_memories,
       {.of_many = 1, .share = shares::rings, .work = 100, .suits = has_runs}},
      {{"exact", "branch and bound over sections of time; proves where it can", "stowage"},
       exact,
       obstacle_to_exact,
       {.of_many = 12, .share = shares::exact, .is_alone = true, .is_rival = true}},
      {{"ejection", "lowers a greedy placing cap by cap; what sticks out throws out what weighs less",
        "stowage"},
       ejection,
       several_memories,
       {.of_many = 11, .share = shares::ejection, .is_alone = true, .is_rival = true}},
      {{"rectangle", "sorted, as low as it goes; then what sticks out is ordered anew",
        "Zhejiang Dahua, CN patent application, 2022"},
       rectangle,
       several_memories,
       {.of_many = 13, .is_alone = true}},
  };
  strategies.insert(strategies.end(), others);
  for (Strategy& strategy : packers_by_name()) {
    strategy.info.is_in_auto = false;
    strategies.push_back(std::move(strategy));
  }
  return strategies;
}

}  // namespace

std::span<const Strategy> packers() {
  static const std::vector<Strategy> strategies = make_all();
  return strategies;
}

}  // namespace stowage::pack
