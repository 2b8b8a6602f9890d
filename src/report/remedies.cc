// What the plan itself proves about its peak. Nothing is planned anew: a figure is either in the plan, or follows
// from its live ranges. What only another run can tell is the command of that run.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/proof.h"
#include "export/readable.h"
#include "pack/bounds.h"
#include "report/narrower_types.h"
#include "stowage/report.h"

namespace stowage {
namespace {

using exporting::readable;
using Verdict = Remedy::Verdict;

class Remedies {
 public:
  Remedies(const Plan& plan, std::string command)
      : plan_(plan), command_(std::move(command)), buffers_(exporting::on_one_axis(plan)) {
    // Of a plan file, only plain commands are known.
    if (!command_.empty() || plan.models.size() != 1 || plan.memories.size() != 1 || plan.clocks.size() != 1)
      return;
    command_ = "stowage plan " + plan.models[0].source;
    if (!plan.streaming) return;
    command_ += " --stream";
    if (plan.streaming->granule > 1) command_ += fmt::format(" --granule {}", plan.streaming->granule);
  }

  std::vector<Remedy> all() && {
    for (std::size_t m = 0; m < plan_.memories.size(); ++m) {
      if (plan_.memories[m].memory.role == MemoryRole::working && plan_.memories[m].peak > 0) offsets_in(m);
    }
    if (plan_.tensors.empty()) return std::move(remedies_);
    for (const OrderSearch& search : plan_.order_searches) order_of(search);
    if (plan_.order_searches.empty() && !plan_.streaming) {
      add({Verdict::possible, "Another order of operators",
           "The operators run in the order of the file; other orders were not looked for.", std::nullopt,
           with("--order", "search")});
    }
    removed_copies();
    kept_copies();
    rows();
    recomputation();
    caller_memory();
    slower_memory();
    for (std::size_t m = 0; m < plan_.memories.size(); ++m) {
      if (plan_.memories[m].memory.role == MemoryRole::working)
        std::ranges::move(report::narrower_types(plan_, m), std::back_inserter(remedies_));
    }
    return std::move(remedies_);
  }

 private:
  void add(Remedy remedy) { remedies_.push_back(std::move(remedy)); }

  /// The command that made the plan, with another option; empty if it is unknown or has that option already.
  [[nodiscard]] std::string with(std::string_view option, std::string_view value = {}) const {
    if (command_.empty() || command_.find(option) != std::string::npos) return {};
    return fmt::format("{} {}{}{}", command_, option, value.empty() ? "" : " ", value);
  }

  /// The command with a longer limit of time, in place of one of work.
  [[nodiscard]] std::string with_more_time() const {
    std::string command = with("--time-limit", "60");
    const std::size_t effort = command.find(" --effort");
    if (effort != std::string::npos)
      command.erase(effort, command.find(' ', effort + sizeof " --effort") - effort);
    return command;
  }

  /// Of the buffers in that memory that count.
  template <typename IsCounted>
  [[nodiscard]] pack::Load fullest_of(std::size_t memory, const IsCounted& is_counted) const {
    std::vector<Buffer> counted;
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      if (plan_.places[b].memory == memory && is_counted(b)) counted.push_back(buffers_[b]);
    }
    return pack::fullest(counted);
  }

  [[nodiscard]] pack::Load fullest_in(std::size_t memory) const {
    return fullest_of(memory, [](std::size_t) { return true; });
  }

  [[nodiscard]] std::string in_memory(std::size_t memory) const {
    return plan_.memories.size() > 1 ? " in " + plan_.memories[memory].memory.name : std::string();
  }

  void offsets_in(std::size_t m) {
    const PlannedMemory& memory = plan_.memories[m];
    const std::string what = "Other offsets" + in_memory(m);
    if (memory.peak == memory.lower_bound) {
      add({Verdict::impossible, what, proof_of(m), std::nullopt, {}});
      return;
    }
    std::string why = fmt::format("No offsets have a peak below {}; the plan has {}.",
                                  readable(memory.lower_bound), readable(memory.peak));
    why += plan_.interrupted ? " The time limit cut the search short." : " The search ended without a proof.";
    add({Verdict::possible, what, why, memory.peak - memory.lower_bound, with_more_time()});
  }

  [[nodiscard]] std::string proof_of(std::size_t m) const {
    const PlannedMemory& memory = plan_.memories[m];
    const pack::Load most = fullest_in(m);
    if (most.bytes == memory.peak) {
      return fmt::format("At position {}, {} are live at the same time. The plan needs no more than that.",
                         most.at, readable(most.bytes));
    }
    if (!memory.certificate.empty()) {
      const auto starts = exporting::starts_on_one_axis(plan_);
      std::vector<Position> positions;
      for (const Position at : memory.certificate) positions.push_back(exporting::on_one_axis(starts, 0, at));
      return fmt::format(
          "The buffers that are live at positions {} do not fit below {}, however they are stacked. The "
          "checker tries all ways.",
          fmt::join(positions, ", "), readable(memory.peak));
    }
    return fmt::format("Sizes, alignments, pins and branches leave no peak below {}.", readable(memory.peak));
  }

  void order_of(const OrderSearch& search) {
    const std::string model =
        plan_.models.size() > 1 ? plan_.models[search.model].name + ": " : std::string();
    if (search.own_load > search.load) {
      add({Verdict::done,
           model + "Another order of operators",
           fmt::format("The model's own order has {} live at its fullest step, the plan's order {}.",
                       readable(search.own_load), readable(search.load)),
           search.own_load - search.load,
           {}});
    }
    const std::string what =
        model + (search.own_load > search.load ? "Yet another" : "Another") + " order of operators";
    if (search.load == search.lower_bound) {
      add({Verdict::impossible,
           what,
           fmt::format("Every order has a step with at least {} live, whatever tensors share bytes.",
                       readable(search.load)),
           std::nullopt,
           {}});
    } else {
      add({Verdict::possible, what,
           fmt::format("The fullest step has {} live. It is proven that no order has fewer than {}; {} sets "
                       "of operators "
                       "were searched.",
                       readable(search.load), readable(search.lower_bound), search.states),
           search.load - search.lower_bound, with_more_time()});
    }
  }

  void removed_copies() {
    if (plan_.copies_removed.count == 0) return;
    add({Verdict::done,
         "Sharing without copies",
         fmt::format("{} no work, because input and output are the same bytes: {} are not copied.",
                     plan_.copies_removed.count == 1
                         ? "One operator needs"
                         : fmt::format("{} operators need", plan_.copies_removed.count),
                     readable(plan_.copies_removed.bytes)),
         std::nullopt,
         {}});
  }

  /// Whether an operator runs while the live bytes of a working memory are the most.
  [[nodiscard]] bool runs_at_peak(const KeptCopy& kept) const {
    const auto starts = exporting::starts_on_one_axis(plan_);
    std::vector<Position> peaks;
    for (std::size_t m = 0; m < plan_.memories.size(); ++m) {
      if (plan_.memories[m].memory.role == MemoryRole::working) peaks.push_back(fullest_in(m).at);
    }
    for (std::size_t c = 0; c < plan_.clocks.size(); ++c) {
      for (std::size_t s = 0; s < plan_.clocks[c].steps.size(); ++s) {
        const auto* const run = std::get_if<Run>(&plan_.clocks[c].steps[s]);
        if (run == nullptr || run->model != kept.model || run->path.size() < 2) continue;
        const auto end = run->path.end();
        if (*std::prev(end, 2) == kept.subgraph && *std::prev(end) == kept.op &&
            std::ranges::find(peaks, starts[c][s]) != peaks.end())
          return true;
      }
    }
    return false;
  }

  void kept_copies() {
    constexpr std::size_t most_shown = 8;
    std::vector<KeptCopy> copies = plan_.copies_kept;
    std::ranges::stable_sort(copies, std::greater<>(), &KeptCopy::bytes);
    for (const KeptCopy& kept : std::span(copies).first(std::min(copies.size(), most_shown))) {
      const bool is_at_peak = runs_at_peak(kept);
      const std::string_view where =
          is_at_peak ? "at the fullest step: it holds them twice" : "at another step than the fullest";
      add({Verdict::possible,
           "Sharing of " + kept.operation,
           fmt::format("Refused: {}. It copies {} {}.", kept.why, readable(kept.bytes), where),
           is_at_peak ? std::optional(kept.bytes) : std::nullopt,
           {}});
    }
  }

  void rows() {
    if (!plan_.streaming) {
      if (plan_.models.size() == 1 && plan_.memories.size() == 1 && plan_.clocks.size() == 1) {
        const LeftOut* const without = left_out(plan_, Wish::rows);
        std::string why =
            "The plan runs each operator as a whole. Row by row, only windows of tensors are stored.";
        if (without != nullptr) why += fmt::format(" But {}.", without->why);
        if (without != nullptr && !without->help.empty()) why += fmt::format(" May help: {}.", without->help);
        add({Verdict::possible, "Rows instead of whole tensors", why, std::nullopt, with("--stream")});
      }
      return;
    }
    const Streaming& streaming = *plan_.streaming;
    add({Verdict::done,
         "Rows instead of whole tensors",
         fmt::format("Operator by operator, the same network has {} live at its fullest step; by rows, {}.",
                     readable(streaming.load_of_layers), readable(streaming.load)),
         streaming.load_of_layers - streaming.load,
         {}});
    for (const LeftOut& it : plan_.left_out) {
      add({Verdict::possible,
           fmt::format("Streaming: {}", name_of(it.what)),
           fmt::format("Left out: {}.{}", it.why,
                       it.help.empty() ? "" : fmt::format(" May help: {}.", it.help)),
           std::nullopt,
           {}});
    }
    const Claim* const claim = exporting::claim_of_rows(plan_);
    if (claim == nullptr || claim->lower_bound == 0) return fewer_rows();
    std::string given = claim->scope == ClaimScope::rows ? " along these axes and in these blocks" : "";
    if (streaming.recompute_limit > 1) given += " if these rows are computed again";
    if (claim->lower_bound >= streaming.load) {
      add({Verdict::impossible,
           "Another order of rows",
           fmt::format(
               "No order of operators or of ascending rows along the axes tried has fewer than {} live{}.",
               readable(claim->lower_bound), given),
           std::nullopt,
           {}});
    } else {
      add({Verdict::possible, "Another order of rows",
           fmt::format(
               "The fullest step has {} live. It is proven that no order of rows has fewer than {}{}.",
               readable(streaming.load), readable(claim->lower_bound), given),
           streaming.load - claim->lower_bound, with_more_time()});
    }
    fewer_rows();
  }

  void fewer_rows() {
    const Streaming& streaming = *plan_.streaming;
    if (streaming.granule > 1) {
      add({Verdict::possible,
           "Fewer rows in a step",
           fmt::format("A step computes up to {} rows; with --granule 1 it computes one.", streaming.granule),
           std::nullopt,
           {}});
    }
  }

  void recomputation() {
    if (!plan_.streaming) return;
    const Streaming& streaming = *plan_.streaming;
    for (const RecomputePoint& point : streaming.curve) {
      if (point.peak >= plan_.summary.peak) continue;
      add({Verdict::found,
           fmt::format("Rows computed again, {:.3f} times the multiplies", point.recomputed),
           fmt::format("A plan with it has a peak of {} instead of {}.{}", readable(point.peak),
                       readable(plan_.summary.peak), point.interrupted ? " Its search was cut short." : ""),
           plan_.summary.peak - point.peak,
           {}});
    }
    if (streaming.curve.empty() && streaming.recompute_limit <= 1) {
      add({Verdict::possible, "Rows computed again",
           "The plan computes every row once. More multiplies can take less memory.", std::nullopt,
           with("--recompute", "1..1.5")});
    }
  }

  /// What inputs and outputs cost, if they were in memory of the caller.
  void caller_memory() {
    for (std::size_t m = 0; m < plan_.memories.size(); ++m) {
      if (plan_.memories[m].memory.role != MemoryRole::working) continue;
      const Bytes most = fullest_in(m).bytes;
      const Bytes others =
          fullest_of(m, [&](std::size_t b) {
            return buffers_[b].kind != TensorKind::input && buffers_[b].kind != TensorKind::output;
          }).bytes;
      if (others == most) continue;
      add({Verdict::possible, "Inputs and outputs in memory of the caller",
           fmt::format("In this order and without them, at most {} are live{} instead of {}.",
                       readable(others), in_memory(m), readable(most)),
           most - others, with("--io", "external")});
    }
  }

  /// What moves to the second memory would free in the first, and their price.
  void slower_memory() {
    constexpr std::size_t most_shown = 3;
    if (plan_.memories.size() < 2 || plan_.memories[1].memory.role != MemoryRole::working) return;
    const pack::Load most = fullest_in(0);
    std::vector<std::size_t> alive;
    for (std::size_t b = 0; b < buffers_.size(); ++b) {
      const bool is_alive = std::ranges::any_of(buffers_[b].pieces, [&](const Piece& piece) {
        return piece.life.lower <= most.at && most.at < piece.life.upper && piece.size > 0;
      });
      if (is_alive && plan_.places[b].memory == 0 && buffers_[b].traffic > 0) alive.push_back(b);
    }
    std::ranges::stable_sort(alive, std::greater<>(), [&](std::size_t b) { return buffers_[b].size; });
    for (const std::size_t moved : std::span(alive).first(std::min(alive.size(), most_shown))) {
      const Bytes others = fullest_of(0, [&](std::size_t b) { return b != moved; }).bytes;
      if (others == most.bytes) continue;
      add({Verdict::possible,
           fmt::format("{} in {} instead of {}", exporting::shortened(buffers_[moved].id, 60),
                       plan_.memories[1].memory.name, plan_.memories[0].memory.name),
           fmt::format("In this order and without it, at most {} are live in {}. Steps read and write {} of "
                       "it, which would be traffic of {}.",
                       readable(others), plan_.memories[0].memory.name, readable(buffers_[moved].traffic),
                       plan_.memories[1].memory.name),
           most.bytes - others,
           {}});
    }
  }

  const Plan& plan_;
  std::string command_;          ///< Empty: unknown.
  std::vector<Buffer> buffers_;  ///< All live ranges on one axis.
  std::vector<Remedy> remedies_{};
};

}  // namespace

std::vector<Remedy> remedies_of(const Plan& plan, const std::string& command) {
  return Remedies(plan, command).all();
}

}  // namespace stowage
