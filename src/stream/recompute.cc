// Idea. If windows overlap, rows wait for the next window. An expansion before a depthwise convolution of
// three rows keeps two wide rows all the time, in every block of the network at once. If each iteration of
// the reader recomputes its rows from narrow rows, no wide row is kept between iterations:
//
//     depthwise row     0        1        2
//     expansion rows    0 1    0 1 2    1 2 3        instead of 0 1, 2, 3, each of them kept for three
//     windows
//
// This costs multiplies: windows of three rows need three times those of the expansion at stride 1, and one
// and a half times at stride 2. So chains are chosen one by one, each time the one that lowers the peak most
// per multiply, until the multiplies are used up. If none helps alone, the one with the widest rows is
// chosen, since two together often help. The best set drops the chains that it does not need, and the search
// goes on from there.
//
// If the reader can add rows up, not even the rows of one window are needed at once: a convolution of real
// numbers adds the contribution of each row to its own row in place, and the row can go.
//
//     expansion row 0 -> depthwise row 0 = .. + w0 * row 0
//     expansion row 1 -> depthwise row 0 = .. + w1 * row 1       one wide row and a narrow one, not three
//
// In the model, the operators of a chain get an iteration for each row that an iteration of the reader reads,
// in that order, and their tensors get as many rows. A reader that adds up gets an iteration for each row
// that it reads. Two rules make every order of these a legal plan. Rows that run for the first time ascend
// without gaps, so rows in holes of windows and rows without readers are computed once. A row is recomputed
// only after its former copy has been read (program.cc). Orders, bounds and layouts need no change.
//
// Cost: an order for each chain that is tried: about the square of their number, or until the deadline.

#include "stream/recompute.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "model/multiplies.h"
#include "stream/program.h"

namespace stowage::stream {
namespace {

/// The writer and the readers of each tensor.
struct Links {
  explicit Links(const RowModel& model) : writer(model.tensors.size()), readers(model.tensors.size()) {
    for (std::size_t op = 0; op < model.operators.size(); ++op) {
      for (const std::size_t t : model.operators[op].writes) writer[t] = op;
      for (const Access& access : model.operators[op].reads) readers[access.tensor].push_back(op);
      is_awaited.insert(model.operators[op].after.begin(), model.operators[op].after.end());
    }
    for (const Tensor& tensor : model.tensors) {
      if (tensor.takes_over) is_taken.insert(tensor.takes_over->tensor);
    }
  }

  std::vector<std::optional<std::size_t>> writer;
  std::vector<std::vector<std::size_t>> readers;
  std::set<std::size_t> is_taken{};
  std::set<std::size_t> is_awaited{};  ///< Some operator runs after all of its rows.
};

/// Whether an operator's rows can be computed at any time and any number of times.
bool is_repeatable(const RowModel& model, const Links& links, std::size_t op) {
  const Operator& it = model.operators[op];
  if (!it.source || it.writing != Writing::row_by_row || it.writes.size() != 1 || !it.again.empty() ||
      it.adds_rows || links.is_awaited.contains(op))
    return false;
  const Tensor& written = model.tensors[it.writes[0]];
  return !written.stays && !written.leaves && !written.is_whole && links.readers[it.writes[0]].size() == 1;
}

/// Whether its inputs are there whenever it runs, since nothing is written over them.
bool reads_what_stays(const RowModel& model, const Links& links, std::size_t op) {
  const Operator& it = model.operators[op];
  return !model.tensors[it.writes[0]].takes_over &&
         std::all_of(it.reads.begin(), it.reads.end(), [&](const Access& access) {
           return !links.is_taken.contains(access.tensor) && model.tensors[access.tensor].again.empty();
         });
}

/// The rows of a tensor in the order of recomputing.
struct Again {
  std::vector<std::int64_t> rows{};
  std::vector<std::size_t> rounds{0};              ///< Where the rows for each iteration of the reader begin.
  std::vector<std::vector<std::int64_t>> reads{};  ///< Which of them each iteration of the reader reads.
};

/// The rows that each iteration of the reader needs, ascending.
std::vector<std::set<std::int64_t>> wanted_rows(const RowModel& model, std::size_t reader,
                                                std::size_t tensor) {
  const Operator& op = model.operators[reader];
  std::vector<std::set<std::int64_t>> wanted(static_cast<std::size_t>(op.instances()));
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    for (const Access& access : op.reads) {
      if (access.tensor == tensor)
        for_each_read(model, op, access, static_cast<std::int64_t>(i),
                      [&](std::int64_t row) { wanted[i].insert(row); });
    }
  }
  return wanted;
}

/// For each iteration of the reader the rows that it needs, ascending. An operator computes its rows without
/// gaps the first time. So rows skipped before a needed one, and rows after the last, are computed once,
/// though no operator reads them.
Again rows_again(const RowModel& model, std::size_t reader, std::size_t tensor) {
  const auto wanted = wanted_rows(model, reader, tensor);
  Again again;
  std::int64_t done = 0;  // rows that have been computed at least once
  for (const auto& of_one : wanted) {
    const bool is_last = again.reads.size() + 1 == wanted.size();
    std::set<std::int64_t> all = of_one;
    const std::int64_t end = is_last ? model.tensors[tensor].rows : of_one.empty() ? 0 : *of_one.rbegin() + 1;
    for (; done < end; ++done) all.insert(done);
    std::vector<std::int64_t>& reads = again.reads.emplace_back();
    for (const std::int64_t row : all) {
      if (of_one.contains(row)) reads.push_back(static_cast<std::int64_t>(again.rows.size()));
      again.rows.push_back(row);
    }
    again.rounds.push_back(again.rows.size());
  }
  return again;
}

/// Multiplies of these rows of an operator; a row counts as often as it is listed.
std::int64_t multiplies_of_all(const Operator& op, const std::vector<std::int64_t>& rows) {
  std::int64_t sum = 0;
  for (const std::int64_t row : rows) sum += model::multiplies_of_rows(op.multiplies, op.rows, row, row + 1);
  return sum;
}

/// The chain that ends with what an access of the reader reads. None if it cannot be recomputed or no row is
/// read twice.
std::optional<Recomputable> chain_in_front(const RowModel& model, const Links& links, std::size_t reader,
                                           const Access& access) {
  const Operator& last_reader = model.operators[reader];
  if (last_reader.writing != Writing::row_by_row || access.rows.taps < 2 || !access.listed.empty())
    return std::nullopt;
  Recomputable found{.reader = reader};
  std::optional<std::size_t> op = links.writer[access.tensor];
  while (op && is_repeatable(model, links, *op)) {
    found.operators.insert(found.operators.begin(), *op);
    const Operator& it = model.operators[*op];
    // An activation only transforms each row, so it joins the operator before it.
    if (it.multiplies > 0 || it.reads.size() != 1 || it.reads[0].rows != RowMap{}) break;
    op = links.writer[it.reads[0].tensor];
  }
  if (found.operators.empty() || !reads_what_stays(model, links, found.operators[0])) return std::nullopt;
  const std::vector<std::int64_t> rows = rows_again(model, reader, access.tensor).rows;
  for (const std::size_t member : found.operators) {
    const Operator& it = model.operators[member];
    if (static_cast<std::int64_t>(rows.size()) <= it.rows) return std::nullopt;
    found.multiplies += multiplies_of_all(it, rows) - it.multiplies;
  }
  return found;
}

/// Chains, by their last operators.
using Chosen = std::set<std::size_t>;

/// Searches for the chains to recompute.
class Choosing {
 public:
  Choosing(const RowModel& model, double factor, const TrialEffort& effort)
      : model_(model),
        most_(static_cast<std::int64_t>(factor * static_cast<double>(multiplies_of(model)))),
        effort_(effort) {}

  RowModel run() {
    Chosen best;
    Bytes least = peak_of(with(best));
    for (bool is_better = true; is_better;) {
      is_better = false;
      for (Chosen now = best; add_one(now);) {
        const Bytes peak = peak_of(with(now));
        if (peak >= least) continue;
        least = peak;
        best = now;
        is_better = true;
      }
      best = without_idle(std::move(best), least);
    }
    return with(best);
  }

 private:
  [[nodiscard]] bool is_time_up() const { return effort_.deadline.is_over(); }

  [[nodiscard]] Bytes peak_of(const RowModel& model) const { return least_peak_of(model, effort_); }

  [[nodiscard]] RowModel with(const Chosen& chosen) const {
    RowModel model = model_;
    for (const std::size_t last : chosen) {
      for (const Recomputable& it : recomputables(model)) {
        if (it.operators.back() != last) continue;
        model = recompute(model, it);
        break;
      }
    }
    return model;
  }

  /// Adds the chain that lowers the peak most per multiply. If none does alone, adds the one with the widest
  /// rows per multiply. False if no chain is left that fits the budget, or time is up.
  bool add_one(Chosen& chosen) const {
    const RowModel model = with(chosen);
    const Bytes before = peak_of(model);
    std::optional<std::size_t> best;
    std::pair<double, double> most{0, 0};
    for (const Recomputable& it : recomputables(model)) {
      if (is_time_up()) return false;
      if (multiplies_of(model) + it.multiplies > most_) continue;
      const auto cost = static_cast<double>(std::max<std::int64_t>(1, it.multiplies));
      const Bytes saved = before - peak_of(recompute(model, it));
      const Tensor& last = model.tensors[model.operators[it.operators.back()].writes[0]];
      const std::pair gain{static_cast<double>(std::max<Bytes>(0, saved)) / cost,
                           static_cast<double>(last.bytes_per_row) / cost};
      if (best && gain <= most) continue;
      most = gain;
      best = it.operators.back();
    }
    if (best) chosen.insert(*best);
    return best.has_value();
  }

  /// Drops chains that the peak does not need.
  [[nodiscard]] Chosen without_idle(Chosen chosen, Bytes peak) const {
    for (const std::size_t it : Chosen(chosen)) {
      if (is_time_up()) break;
      Chosen fewer = chosen;
      fewer.erase(it);
      if (peak_of(with(fewer)) <= peak) chosen = std::move(fewer);
    }
    return chosen;
  }

  const RowModel& model_;
  std::int64_t most_;  ///< Multiplies.
  TrialEffort effort_;
};

/// Gives the reader an iteration for each row that it reads.
void add_up(Again& again, Operator& reader) {
  std::vector<std::vector<std::int64_t>> apart;
  reader.rounds = {0};
  for (const auto& reads : again.reads) {
    for (const std::int64_t row : reads) apart.push_back({row});
    reader.rounds.push_back(apart.size());
  }
  reader.adds_rows = true;
  reader.rows = static_cast<std::int64_t>(apart.size());
  reader.granule = 1;
  again.reads = std::move(apart);
}

}  // namespace

std::vector<Recomputable> recomputables(const RowModel& model) {
  const Links links(model);
  std::vector<Recomputable> found;
  for (std::size_t op = 0; op < model.operators.size(); ++op) {
    for (const Access& access : model.operators[op].reads) {
      if (auto chain = chain_in_front(model, links, op, access)) found.push_back(std::move(*chain));
    }
  }
  return found;
}

RowModel recompute(const RowModel& model, const Recomputable& what) {
  RowModel result = model;
  const std::size_t last = model.operators[what.operators.back()].writes[0];
  Again again = rows_again(model, what.reader, last);
  const auto times = static_cast<std::int64_t>(again.rows.size());
  for (const std::size_t member : what.operators) {
    Operator& op = result.operators[member];
    op.multiplies = multiplies_of_all(op, again.rows);
    op.again = again.rows;
    op.rounds = again.rounds;
    op.rows = times;
    op.granule = 1;
    Tensor& tensor = result.tensors[op.writes[0]];
    tensor.again = again.rows;
    tensor.rows = times;
    tensor.granule = 1;
  }
  Operator& reader = result.operators[what.reader];
  const bool has_rounds =
      std::none_of(again.reads.begin(), again.reads.end(), [](const auto& it) { return it.empty(); });
  if (reader.can_add_rows && reader.again.empty() && has_rounds) add_up(again, reader);
  for (Access& access : reader.reads) {
    if (access.tensor == last) access.listed = again.reads;
  }
  return result;
}

RowModel recompute_within(const RowModel& model, double factor, const TrialEffort& effort) {
  return Choosing(model, factor, effort).run();
}

std::int64_t multiplies_of(const RowModel& model) {
  std::int64_t sum = 0;
  for (const Operator& op : model.operators) sum += op.multiplies;
  return sum;
}

}  // namespace stowage::stream
