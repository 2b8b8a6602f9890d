// Which chains are recomputed, how long are they, and how many iterations of their readers are together?
// Wide rows of several blocks lie side by side at the peak, so often only many chains together lower it.
// Therefore the search begins with many chains, each in the finest form that it could afford alone, and takes
// back what the peak needs least:
//
//     peak
//      |  *  once                             1. drop the chains that the peak does not need
//      |     *                                2. lessen one, by twice as many iterations together or by
//      |        *                                computing it once: that which raises the peak least for the
//      |            *                            multiplies that it saves; until all fit
//      |                   *      * all       3. refine one, if need be at the expense of another
//      +---------|--------------------
//              factor        multiplies
//
// It begins with the shortest chains. Then it begins again with chains of two operators that multiply, of
// three and so on, side by side from the last operator to the first.
//
// Most moves are still as good as when they were last tried. So they are tried again in that order, only
// until the best is better than the next one was.
//
// Chains are recomputed from the last to the first: the rows of one that reads another's are then known.
//
// Cost: an order by regions for each trial, and few trials for each chain and form. Ends with the best so far
// at the deadline.

#include "stream/recompute_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "stream/recompute.h"

namespace stowage::stream {
namespace {

/// The chains that are recomputed: index of the form of each, by the last operator.
using Chosen = std::map<std::size_t, std::size_t>;

struct Choice {
  Chosen chosen{};
  std::int64_t multiplies = 0;
  Bytes peak = 0;
};

/// Another form of the chain with this last operator; none: its rows are computed once.
struct Move {
  std::size_t last = 0;
  std::optional<std::size_t> form{};

  auto operator<=>(const Move&) const = default;
};

class Choosing {
 public:
  Choosing(const RowModel& model, double factor, const TrialEffort& effort)
      : model_(model), most_(multiplies_within(model, factor)), effort_(effort) {}

  RowModel run() {
    Choice best = choice_of({});
    find_forms();
    std::set<Chosen> starts{{}};
    for (std::size_t length = 1; length <= longest && !is_time_up(); ++length) {
      Chosen start = finest(length);
      if (!starts.insert(start).second) continue;
      Choice now = refined(within(choice_of(std::move(start))));
      if (now.multiplies <= most_ && now.peak < best.peak) best = std::move(now);
    }
    return with(best.chosen);
  }

 private:
  static constexpr Bytes most_bytes = std::numeric_limits<Bytes>::max();
  static constexpr std::size_t longest = 6;  // operators that multiply in chains to begin with

  [[nodiscard]] bool is_time_up() const { return until_.is_over(); }

  /// For each last operator the forms that it could afford alone: the shortest chain first, and of each chain
  /// that with the fewest iterations together.
  void find_forms() {
    const std::int64_t left = most_ - multiplies_of(model_);
    if (is_time_up()) return;
    for (Recomputable& chain : recomputables(model_)) {
      const std::size_t last = chain.operators.back();
      auto& forms = forms_[last];
      const std::int64_t iterations = model_.operators[chain.reader].instances();
      std::optional<Recomputable> form = std::move(chain);
      while (form && form->together < iterations && !is_time_up()) {
        if (form->multiplies <= left) forms.push_back(*form);
        form->together *= 2;
        form = recomputable(model_, *form);
      }
      if (forms.empty()) forms_.erase(last);
    }
  }

  /// Chains with so many operators that multiply, or as many as there are, in their finest forms. None has an
  /// operator of another one.
  [[nodiscard]] Chosen finest(std::size_t length) const {
    Chosen chosen;
    std::set<std::size_t> taken;
    for (auto it = forms_.rbegin(); it != forms_.rend(); ++it) {
      const auto& [last, forms] = *it;
      if (taken.contains(last)) continue;
      std::size_t best = 0;
      for (std::size_t f = 1; f < forms.size(); ++f) {
        if (multiplying(forms[f]) > multiplying(forms[best]) && multiplying(forms[f]) <= length) best = f;
      }
      chosen[last] = best;
      taken.insert(forms[best].operators.begin(), forms[best].operators.end());
    }
    return chosen;
  }

  [[nodiscard]] std::size_t multiplying(const Recomputable& chain) const {
    return static_cast<std::size_t>(
        std::count_if(chain.operators.begin(), chain.operators.end(),
                      [&](std::size_t op) { return model_.operators[op].multiplies > 0; }));
  }

  [[nodiscard]] RowModel with(const Chosen& chosen) const {
    RowModel model = model_;
    for (auto it = chosen.rbegin(); it != chosen.rend(); ++it) {
      if (const auto chain = recomputable(model, forms_.at(it->first)[it->second]))
        model = recompute(model, *chain);
    }
    return model;
  }

  /// The peak is the largest value if it exceeds the limit.
  [[nodiscard]] Choice choice_of(Chosen chosen, Bytes limit = most_bytes) {
    if (const auto known = tried_.find(chosen); known != tried_.end()) return known->second;
    const RowModel model = with(chosen);
    const Bytes peak = least_peak_of(model, effort_, limit);
    Choice choice{std::move(chosen), multiplies_of(model), peak};
    if (peak <= limit) tried_.emplace(choice.chosen, choice);
    return choice;
  }

  [[nodiscard]] Choice after(const Choice& choice, const Move& move, Bytes limit = most_bytes) {
    Chosen chosen = choice.chosen;
    if (move.form) {
      chosen[move.last] = *move.form;
    } else {
      chosen.erase(move.last);
    }
    return choice_of(std::move(chosen), limit);
  }

  /// Lessened until the multiplies fit.
  Choice within(Choice choice) {
    constexpr double share_of_lessening = 0.6;
    until_ = effort_.deadline.part(share_of_lessening);
    prices_.clear();
    choice = without_idle(std::move(choice));
    while (choice.multiplies > most_ && !is_time_up()) choice = lessened(choice);
    until_ = effort_.deadline;
    if (choice.multiplies > most_ && !is_time_up()) choice = choice_of(coarser(std::move(choice.chosen)));
    return without_idle(std::move(choice));
  }

  /// Drops chains that the peak does not need, those with the most multiplies first.
  [[nodiscard]] Choice without_idle(Choice choice) {
    for (const std::size_t last : by_multiplies(choice.chosen)) {
      if (is_time_up()) break;
      Choice fewer = after(choice, {last, std::nullopt}, choice.peak);
      if (fewer.peak <= choice.peak && fewer.multiplies <= choice.multiplies) choice = std::move(fewer);
    }
    return choice;
  }

  [[nodiscard]] std::vector<std::size_t> by_multiplies(const Chosen& chosen) const {
    std::vector<std::pair<std::int64_t, std::size_t>> costs;
    for (const auto& [last, form] : chosen) costs.emplace_back(-forms_.at(last)[form].multiplies, last);
    std::sort(costs.begin(), costs.end());
    std::vector<std::size_t> sorted;
    for (const auto& [cost, last] : costs) sorted.push_back(last);
    return sorted;
  }

  /// For each chain: twice as many iterations together, and computed once.
  [[nodiscard]] std::vector<Move> lessenings(const Chosen& chosen) const {
    std::vector<Move> moves;
    for (const auto& [last, form] : chosen) {
      moves.push_back({last, std::nullopt});
      const auto& forms = forms_.at(last);
      if (form + 1 < forms.size() && forms[form + 1].operators.size() == forms[form].operators.size())
        moves.push_back({last, form + 1});
    }
    return moves;
  }

  /// The choice with one chain lessened; if time is up, possibly not the best one.
  Choice lessened(const Choice& choice) {
    std::vector<std::pair<double, Move>> queue;  // by the price that was last paid for a multiply
    for (const Move& move : lessenings(choice.chosen)) {
      const auto known = prices_.find(move);
      queue.emplace_back(known == prices_.end() ? std::numeric_limits<double>::lowest() : known->second,
                         move);
    }
    std::sort(queue.begin(), queue.end());
    std::optional<Choice> best;
    double least = std::numeric_limits<double>::max();
    for (const auto& [old_price, move] : queue) {
      if (best && (least <= old_price || is_time_up())) break;
      Choice next = after(choice, move);
      const auto saved = static_cast<double>(std::max<std::int64_t>(1, choice.multiplies - next.multiplies));
      const auto rise = static_cast<double>(next.peak - choice.peak);
      // What costs nothing goes first, that which saves most before all.
      const double price = rise <= 0 ? -saved : rise / saved;
      prices_[move] = price;
      if (best && price >= least) continue;
      least = price;
      best = std::move(next);
    }
    return std::move(best).value();
  }

  /// Without a trial: makes all rounds larger until all fit. If that is not enough, computes chains once,
  /// those with the most multiplies first.
  [[nodiscard]] Chosen coarser(Chosen chosen) const {
    for (bool is_changed = true; is_changed && !is_time_up() && multiplies_of(with(chosen)) > most_;) {
      is_changed = false;
      for (const Move& move : lessenings(chosen)) {
        if (!move.form) continue;
        chosen[move.last] = *move.form;
        is_changed = true;
      }
    }
    for (const std::size_t last : by_multiplies(chosen)) {
      if (is_time_up() || multiplies_of(with(chosen)) <= most_) break;
      chosen.erase(last);
    }
    return chosen;
  }

  /// Gives single chains another form as long as the peak falls.
  [[nodiscard]] Choice refined(Choice choice) {
    for (bool is_better = true; is_better;) {
      is_better = false;
      for (const auto& [last, forms] : forms_) {
        for (std::size_t form = 0; form < forms.size(); ++form) {
          if (is_time_up()) return choice;
          const auto now = choice.chosen.find(last);
          if (now != choice.chosen.end() && now->second == form) continue;
          Choice other = affordable(after(choice, {last, form}, choice.peak - 1), last, choice.peak);
          if (other.multiplies > most_ || other.peak >= choice.peak) continue;
          choice = std::move(other);
          is_better = true;
        }
      }
    }
    return choice;
  }

  /// If the choice has too many multiplies, the first one with another chain lessened that fits and stays
  /// below the peak.
  [[nodiscard]] Choice affordable(Choice choice, std::size_t refined, Bytes peak) {
    if (choice.multiplies <= most_ || choice.peak >= peak) return choice;
    for (const Move& move : lessenings(choice.chosen)) {
      if (move.last == refined || is_time_up()) continue;
      Choice other = after(choice, move, peak - 1);
      if (other.multiplies <= most_ && other.peak < peak) return other;
    }
    return choice;
  }

  const RowModel& model_;
  std::int64_t most_;  ///< Multiplies.
  TrialEffort effort_;
  base::Deadline until_ = effort_.deadline;  ///< Of the present part of the search.
  std::map<std::size_t, std::vector<Recomputable>> forms_{};
  std::map<Move, double> prices_{};
  std::map<Chosen, Choice> tried_{};
};

}  // namespace

RowModel recompute_within(const RowModel& model, double factor, const TrialEffort& effort) {
  return Choosing(model, factor, effort).run();
}

}  // namespace stowage::stream
