// If windows overlap, rows wait for the next window. An expansion before a depthwise convolution of
// three rows keeps two wide rows all the time, in every block of the network at once. If each iteration of
// the reader recomputes its rows from narrow rows, no wide row is kept between iterations:
//
//     depthwise row     0        1        2
//     expansion rows    0 1    0 1 2    1 2 3        instead of 0 1, 2, 3, each of them kept for three
//     windows
//
// This costs multiplies: windows of three rows need three times those of the expansion at stride 1, and one
// and a half times at stride 2. Several iterations of the reader together cost less, but more narrow rows
// wait: for two together
//
//     depthwise rows     0 1           2 3
//     expansion rows    0 1 2       1 2 3 4          twice the multiplies, not three times
//
// Their results must not wait one by one while wide rows are there. So operators behind wait for all of a
// round, where its rows are narrowest.
//
// If the reader can add rows up, not even the rows of one window are needed at once: a convolution of real
// numbers adds the contribution of each row to its own row in place, and the row can go.
//
//     expansion row 0 -> depthwise row 0 = .. + w0 * row 0
//     expansion row 1 -> depthwise row 0 = .. + w1 * row 1       one wide row and a narrow one, not three
//
// In the model, the operators of a chain get an iteration for each row that a round of the reader reads, in
// that order, and their tensors get as many rows. An operator that only passes rows on, such as an
// activation or a PAD, computes the rows that the next one reads, and the operator before it those that it
// reads itself. A reader that adds up gets an iteration for each row that it reads. Two rules make every
// order of these a legal plan. Rows that run for the first time ascend without gaps, so rows in holes of
// windows and rows without readers are computed once. A row is recomputed only after its former copy has been
// read (program.cc). Orders, bounds and layouts need no change.
//
// Cost: rows of the chain.

#include "stream/recompute.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/checked.h"
#include "model/multiplies.h"
#include "stream/program.h"

namespace stowage::stream {
namespace {

constexpr std::size_t most_rows = 1 << 18;  // of an operator that recomputes
constexpr std::size_t most_operators = 16;  // of a chain

/// Whether its inputs stay until it has run for the last time. What is written over them behind the reader
/// waits for it; the reader never waits for that.
bool reads_what_stays(const RowModel& model, const Links& links, std::size_t op, std::size_t reader) {
  const Operator& it = model.operators[op];
  return !model.tensors[it.writes[0]].takes_over &&
         std::all_of(it.reads.begin(), it.reads.end(), [&](const Access& access) {
           const auto taker = links.taker[access.tensor];
           return (!taker || *taker > reader) && model.tensors[access.tensor].again.empty();
         });
}

/// The rows of a tensor in the order of recomputing.
struct Again {
  std::vector<std::int64_t> rows{};
  std::vector<std::size_t> rounds{0};              ///< Where the rows for each iteration of the reader begin.
  std::vector<std::vector<std::int64_t>> reads{};  ///< Which of them each iteration of the reader reads.
};

/// Rows of a tensor.
using Rows = std::vector<std::int64_t>;

/// For each round of iterations of a reader the rows of `tensor` that they want, ascending. An operator
/// computes its rows without gaps the first time. So rows skipped before a needed one, and rows after the
/// last, are computed once, though no operator reads them.
Again rows_again(const std::vector<Rows>& wanted, const std::vector<std::size_t>& rounds,
                 std::int64_t rows_of_tensor) {
  Again again;
  std::int64_t done = 0;  // rows that have been computed at least once
  for (std::size_t round = 1; round < rounds.size(); ++round) {
    std::set<std::int64_t> all;
    for (std::size_t i = rounds[round - 1]; i < rounds[round]; ++i)
      all.insert(wanted[i].begin(), wanted[i].end());
    const bool is_last = round + 1 == rounds.size();
    const std::int64_t end = is_last ? rows_of_tensor : all.empty() ? 0 : *all.rbegin() + 1;
    for (; done < end; ++done) all.insert(done);
    std::map<std::int64_t, std::int64_t> places;
    for (const std::int64_t row : all) {
      places[row] = static_cast<std::int64_t>(again.rows.size());
      again.rows.push_back(row);
    }
    for (std::size_t i = rounds[round - 1]; i < rounds[round]; ++i) {
      Rows& reads = again.reads.emplace_back();
      for (const std::int64_t row : wanted[i]) reads.push_back(places[row]);
    }
    again.rounds.push_back(again.rows.size());
  }
  return again;
}

/// What the reader of a chain wants, for so many of its iterations at a time.
Again rows_for_reader(const RowModel& model, std::size_t reader, std::size_t tensor, std::int64_t together) {
  const Operator& op = model.operators[reader];
  const auto iterations = static_cast<std::size_t>(op.instances());
  std::vector<Rows> wanted(iterations);
  for (std::size_t i = 0; i < iterations; ++i) {
    std::set<std::int64_t> rows;
    for (const Access& access : op.reads) {
      if (access.tensor == tensor)
        for_each_read(model, op, access, static_cast<std::int64_t>(i),
                      [&](std::int64_t row) { rows.insert(row); });
    }
    wanted[i].assign(rows.begin(), rows.end());
  }
  std::vector<std::size_t> rounds;
  for (std::size_t i = 0; i < iterations; i += static_cast<std::size_t>(together)) rounds.push_back(i);
  rounds.push_back(iterations);
  return rows_again(wanted, rounds, model.tensors[tensor].rows);
}

/// What an operator of a chain wants of its input if it computes `own` rows.
Again rows_for_member(const RowModel& model, const Operator& op, const Again& own) {
  const Access& access = op.reads[0];
  const std::int64_t rows = model.tensors[access.tensor].rows;
  std::vector<Rows> wanted(own.rows.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    for_each_row(access.rows, rows, own.rows[i], [&](std::int64_t row) { wanted[i].push_back(row); });
  return rows_again(wanted, own.rounds, rows);
}

/// Multiplies of these rows of an operator; a row counts as often as it is listed.
std::int64_t multiplies_of_all(const Operator& op, const std::vector<std::int64_t>& rows) {
  std::int64_t sum = 0;
  for (const std::int64_t row : rows) sum += model::multiplies_of_rows(op.multiplies, op.rows, row, row + 1);
  return sum;
}

/// The chain's rows by operator, from the first to the last. None if an operator has too many.
std::optional<std::vector<Again>> rows_of_chain(const RowModel& model, const Recomputable& what) {
  const std::size_t last = model.operators[what.operators.back()].writes[0];
  std::vector<Again> all{rows_for_reader(model, what.reader, last, what.together)};
  for (std::size_t m = what.operators.size(); m-- > 1;) {
    if (all.back().rows.size() > most_rows) return std::nullopt;
    all.push_back(rows_for_member(model, model.operators[what.operators[m]], all.back()));
  }
  std::reverse(all.begin(), all.end());
  return all;
}

/// The chain with its price. None if its last operator computes no row twice: a shorter chain does the same.
std::optional<Recomputable> with_price(const RowModel& model, Recomputable chain) {
  const auto rows = rows_of_chain(model, chain);
  if (!rows) return std::nullopt;
  if (std::cmp_less_equal(rows->back().rows.size(), model.operators[chain.operators.back()].rows))
    return std::nullopt;
  chain.multiplies = 0;
  for (std::size_t m = 0; m < rows->size(); ++m) {
    const Operator& it = model.operators[chain.operators[m]];
    chain.multiplies =
        base::checked_add(chain.multiplies, multiplies_of_all(it, (*rows)[m].rows) - it.multiplies)
            .value_or(largest_value);
  }
  return chain;
}

/// Whether an operator's rows may be recomputed for the rows of this reader.
bool may_read_again(const RowModel& model, std::size_t reader, const Access& access) {
  const Operator& op = model.operators[reader];
  return op.source && op.writing == Writing::row_by_row && !op.backward && access.listed.empty() &&
         access.rows.scale != 0 && std::none_of(op.writes.begin(), op.writes.end(), [&](std::size_t t) {
           const auto& taken = model.tensors[t].takes_over;
           return taken && taken->tensor == access.tensor;
         });
}

/// Whether an operator can be in a chain whose rows are computed again one by one.
bool is_narrow(const RowModel& model, const Links& links, std::size_t op) {
  if (!is_repeatable(model, links, op)) return false;
  const std::size_t written = model.operators[op].writes[0];
  return !model.tensors[written].is_whole && links.readers[written].size() == 1;
}

/// The chains that end with what an access of the reader reads, the shortest first. Each begins with an
/// operator that multiplies, or where no operator in front can be recomputed.
std::vector<Recomputable> chains_in_front(const RowModel& model, const Links& links, std::size_t reader,
                                          const Access& access) {
  std::vector<Recomputable> found;
  if (!may_read_again(model, reader, access)) return found;
  Recomputable chain{.reader = reader};
  std::optional<std::size_t> op = links.writer[access.tensor];
  while (op && is_narrow(model, links, *op) && chain.operators.size() < most_operators) {
    chain.operators.insert(chain.operators.begin(), *op);
    const Operator& it = model.operators[*op];
    const bool is_linked = it.reads.size() == 1 && it.reads[0].listed.empty();
    op = is_linked ? links.writer[it.reads[0].tensor] : std::nullopt;
    const bool is_end = it.multiplies > 0 || !op || !is_narrow(model, links, *op);
    if (is_end && reads_what_stays(model, links, chain.operators[0], reader)) found.push_back(chain);
  }
  return found;
}

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

/// Lets rows be written over those that they are made of, as before, if that shifts all by the same number.
/// Rows of a PAD without a row below them come first and last then.
void shift_in_place(const Again& below, Tensor& tensor) {
  const auto& reads = below.reads;
  const auto first = std::find_if(reads.begin(), reads.end(), [](const auto& it) { return !it.empty(); });
  std::int64_t next = 0;
  for (auto it = first; it != reads.end(); ++it) {
    if (!it->empty() && (it->front() != it - first || it->front() != next++))
      return tensor.takes_over.reset();
  }
  tensor.takes_over->shift = first - reads.begin();
  if (!std::cmp_equal(next, below.rows.size())) tensor.takes_over.reset();
}

}  // namespace

Links::Links(const RowModel& model)
    : writer(model.tensors.size()), readers(model.tensors.size()), taker(model.tensors.size()) {
  for (std::size_t op = 0; op < model.operators.size(); ++op) {
    for (const std::size_t t : model.operators[op].writes) writer[t] = op;
    for (const Access& access : model.operators[op].reads) readers[access.tensor].push_back(op);
    is_awaited.insert(model.operators[op].after.begin(), model.operators[op].after.end());
  }
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    if (model.tensors[t].takes_over) taker[model.tensors[t].takes_over->tensor] = writer[t];
  }
}

bool is_repeatable(const RowModel& model, const Links& links, std::size_t op) {
  const Operator& it = model.operators[op];
  if (!it.source || it.runs_once || it.writing != Writing::row_by_row || it.writes.size() != 1 ||
      !it.again.empty() || it.adds_rows || it.backward || it.carrying != Carrying::sums ||
      links.is_awaited.contains(op))
    return false;
  const Tensor& written = model.tensors[it.writes[0]];
  return !written.stays && !written.leaves;
}

std::size_t narrowest_behind(const RowModel& model, std::size_t reader, Beside beside) {
  const Links links(model);
  std::size_t narrowest = reader;
  for (std::size_t op = reader; model.operators[op].writes.size() == 1;) {
    const std::size_t written = model.operators[op].writes[0];
    const std::size_t least = model.operators[narrowest].writes[0];
    if (model.tensors[written].bytes_per_row < model.tensors[least].bytes_per_row) narrowest = op;
    if (links.readers[written].size() != 1) break;
    const std::size_t next = links.readers[written][0];
    const Operator& it = model.operators[next];
    if (it.writing != Writing::row_by_row || !it.again.empty() || it.backward ||
        it.instances() != model.operators[reader].instances())
      break;
    const auto goes_on = [&](const Access& access) {
      if (access.tensor == written) return access.rows == RowMap{} && access.listed.empty();
      return beside == Beside::wholes && access.rows.scale == 0;
    };
    if (!std::all_of(it.reads.begin(), it.reads.end(), goes_on)) break;
    op = next;
  }
  return narrowest;
}

std::vector<Recomputable> recomputables(const RowModel& model) {
  const Links links(model);
  std::vector<Recomputable> found;
  for (std::size_t op = 0; op < model.operators.size(); ++op) {
    for (const Access& access : model.operators[op].reads) {
      for (Recomputable& chain : chains_in_front(model, links, op, access)) {
        if (auto priced = with_price(model, std::move(chain))) found.push_back(std::move(*priced));
      }
    }
  }
  return found;
}

std::optional<Recomputable> recomputable(const RowModel& model, const Recomputable& like) {
  const Links links(model);
  const std::size_t last = model.operators[like.operators.back()].writes[0];
  for (const Access& access : model.operators[like.reader].reads) {
    if (access.tensor != last) continue;
    for (Recomputable& chain : chains_in_front(model, links, like.reader, access)) {
      chain.together = like.together;
      if (chain.operators == like.operators) return with_price(model, std::move(chain));
    }
  }
  return std::nullopt;
}

RowModel recompute(const RowModel& model, const Recomputable& what) {
  RowModel result = model;
  std::vector<Again> all = rows_of_chain(model, what).value();
  for (std::size_t m = 0; m < all.size(); ++m) {
    const Again& again = all[m];
    Operator& op = result.operators[what.operators[m]];
    op.multiplies = multiplies_of_all(op, again.rows);
    op.again = again.rows;
    op.rounds = again.rounds;
    op.rows = static_cast<std::int64_t>(again.rows.size());
    op.granule = 1;
    op.together = 1;
    Tensor& tensor = result.tensors[op.writes[0]];
    tensor.again = again.rows;
    tensor.rows = op.rows;
    tensor.granule = 1;
    if (m == 0) continue;
    op.reads[0].listed = all[m - 1].reads;
    if (tensor.takes_over) shift_in_place(all[m - 1], tensor);
  }
  const std::size_t last = model.operators[what.operators.back()].writes[0];
  Operator& reader = result.operators[what.reader];
  Again& again = all.back();
  const bool has_rounds =
      std::none_of(again.reads.begin(), again.reads.end(), [](const auto& it) { return it.empty(); });
  if (what.together > 1 && reader.again.empty())
    result.operators[narrowest_behind(model, what.reader, Beside::nothing)].together = what.together;
  const bool has_windows =
      std::any_of(again.reads.begin(), again.reads.end(), [](const auto& it) { return it.size() > 1; });
  if (reader.can_add_rows && reader.again.empty() && has_rounds && has_windows) add_up(again, reader);
  for (Access& access : reader.reads) {
    if (access.tensor == last) access.listed = again.reads;
  }
  return result;
}

std::int64_t multiplies_within(const RowModel& model, double factor) {
  const double most = factor * static_cast<double>(multiplies_of(model));
  return most < static_cast<double>(largest_value) ? static_cast<std::int64_t>(most) : largest_value;
}

std::int64_t multiplies_of(const RowModel& model) {
  std::int64_t sum = 0;
  for (const Operator& op : model.operators)
    sum = std::min(base::checked_add(sum, op.multiplies).value_or(largest_value), largest_value);
  return sum;
}

}  // namespace stowage::stream
