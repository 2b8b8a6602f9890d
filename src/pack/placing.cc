#include "pack/placing.h"

#include <algorithm>
#include <numeric>
#include <thread>

#include "base/checked.h"
#include "base/text.h"
#include "pack/container.h"

namespace stowage::pack {
namespace {

bool is_ever_alive(const Buffer& buffer) {
  return std::any_of(buffer.pieces.begin(), buffer.pieces.end(),
                     [](const Piece& piece) { return piece.is_ever_alive(); });
}

}  // namespace

void Control::report(std::string_view what, double fraction) const {
  if (options.progress) options.progress(what, fraction);
}

base::Deadline deadline_of(const SolveOptions& options) {
  if (!options.effort) return base::Deadline(options.time_limit, options.stop);
  return base::Deadline::after_work(std::chrono::duration<double, std::milli>(*options.effort), options.stop);
}

std::size_t threads_of(const SolveOptions& options) {
  return options.threads > 0 ? options.threads
                             : std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
}

Placing place_in_order(const Problem& problem, std::span<const std::size_t> order, Fit fit,
                       const Control& control, std::string_view what) {
  if (control.is_too_late()) return no_placing();
  Container container(problem.buffers, control.neighbours);
  for (std::size_t done = 0; done < order.size(); ++done) {
    if (done % buffers_between_looks == 0) {
      control.spend(container.take_work());
      if (control.is_too_late()) return no_placing();
      control.report(what, static_cast<double>(done) / static_cast<double>(order.size()));
    }
    const std::size_t b = order[done];
    const Buffer& buffer = problem.buffers[b];
    if (buffer.pinned || !is_ever_alive(buffer)) continue;
    const Bytes offset = fit == Fit::lowest ? container.lowest_fit(b) : container.tightest_fit(b);
    if (control.is_beaten(offset + buffer.size)) return {};
    container.put(b, offset);
  }
  control.spend(container.take_work());
  Placing placing;
  placing.places.reserve(problem.buffers.size());
  for (const Bytes offset : container.offsets()) placing.places.push_back({.offset = offset});
  return placing;
}

Placing lowest_of(const Problem& problem, const Control& control, std::string_view what, int passes,
                  const std::function<Placing(int, const Control&)>& run) {
  if (control.is_too_late()) return no_placing();
  Placing best;
  std::optional<Score> least;
  for (int pass = 0; pass < passes; ++pass) {
    Control own = control;
    own.options.progress = [&](std::string_view, double fraction) {
      control.report(what, (pass + fraction) / passes);
    };
    Placing placing = run(pass, own);
    const bool is_cut = placing.cut_short;
    if (!placing.places.empty()) {
      Score score = score_of(problem, placing.places);
      if (!least || score < *least) best = std::move(placing);
      least = least ? std::min(*least, std::move(score)) : std::move(score);
    }
    best.cut_short = is_cut;
    if (is_cut) break;
  }
  return best;
}

std::optional<std::string> several_memories(const Problem& problem) {
  if (problem.memories.size() == 1) return std::nullopt;
  return base::concat("places buffers in one memory, ", problem.memories.size(), " are given");
}

std::optional<Bytes> common_alignment(const Problem& problem) {
  Bytes common = 1;
  Bytes total = 0;
  for (const Buffer& buffer : problem.buffers) {
    const Bytes alignment = std::max<Bytes>(buffer.alignment, 1);
    const auto multiple = base::checked_multiply(common / std::gcd(common, alignment), alignment);
    const auto padded = base::checked_add(total, buffer.size);
    const auto sum = padded ? base::checked_add(*padded, alignment) : std::nullopt;
    if (!multiple || !sum) return std::nullopt;
    common = *multiple;
    total = *sum;
  }
  const auto end = base::checked_add(common, total);
  if (!end || *end > largest_value) return std::nullopt;
  return common;
}

std::vector<std::size_t> by_start(const Problem& problem) {
  std::vector<Position> starts;
  starts.reserve(problem.buffers.size());
  for (const Buffer& buffer : problem.buffers) starts.push_back(life_of(buffer).lower);
  return sorted_buffers(problem, [&](std::size_t a, std::size_t b) {
    return starts[a] != starts[b] ? starts[a] < starts[b] : problem.buffers[a].size > problem.buffers[b].size;
  });
}

Bytes capacity_of(const Memory& memory) { return memory.capacity.value_or(largest_value); }

std::int64_t cost_in(const Problem& problem, std::size_t buffer, std::size_t memory) {
  const std::int64_t most = largest_value / std::max<std::int64_t>(1, std::ssize(problem.buffers));
  const auto cost =
      base::checked_multiply(problem.buffers[buffer].traffic, problem.memories[memory].cost).value_or(most);
  return std::min(cost, most);
}

Score score_of(const Problem& problem, std::span<const Place> places, const std::optional<SlotPool>& slots) {
  Score score{.peaks = std::vector<Bytes>(problem.memories.size())};
  for (std::size_t b = 0; b < places.size(); ++b) {
    Bytes& peak = score.peaks[problem.memories.size() - 1 - places[b].memory];
    peak = std::max(peak, places[b].offset + problem.buffers[b].size);
    score.cost += cost_in(problem, b, places[b].memory);
  }
  if (slots) {
    Bytes& peak = score.peaks[problem.memories.size() - 1 - slots->place.memory];
    peak = std::max(peak, slots->end());
  }
  for (std::size_t m = 0; m < problem.memories.size(); ++m) {
    const Bytes peak = score.peaks[problem.memories.size() - 1 - m];
    score.excess += std::max<Bytes>(0, peak - capacity_of(problem.memories[m]));
  }
  return score;
}

Bytes total_peak(const Score& score) {
  return std::accumulate(score.peaks.begin(), score.peaks.end(), Bytes{0});
}

}  // namespace stowage::pack
