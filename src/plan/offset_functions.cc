// Offsets as functions of open sizes, for a plan that holds for a range of them:
//
//     read       the model at about a hundred sizes                          size_samples.cc
//     sizes      open extents as terms of the symbols, buffers of extents    size_fitting.cc
//     relation   what lies above what, for all sizes at once                 relation_search.cc
//     hold       the plan at other sizes against the model read at these
//
// The relation is right whatever the sizes are: buffers that live at the same time are on one way upwards, and each
// begins where what is below it ends. So a wrong term would give a buffer a wrong size, and nothing else; terms are held
// against readings that they were not made from.
//
// Cost: the readings, and then the search, which takes the time that it is given.

#include "stowage/offset_functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "base/checked.h"
#include "base/text.h"
#include "model/motions.h"
#include "model/size_terms.h"
#include "model/ties.h"
#include "pack/life.h"
#include "pack/placing.h"
#include "plan/draft.h"
#include "plan/limit_parts.h"
#include "plan/relation_search.h"
#include "plan/size_fitting.h"
#include "plan/size_samples.h"
#include "stowage/error.h"

namespace stowage {
namespace {

using Kind = SizeTerm::Kind;
using plan::Results;
using plan::SizeValues;

constexpr std::size_t others_to_try = 20;      // readings
constexpr std::size_t others_to_search = 200;  // for the relation; those that are tried come first
constexpr std::size_t fewest_readings = 2;
constexpr std::size_t most_at_rises = 96;  // readings
constexpr int bits_of_a_byte = 8;

void expect_plan_of_one(const Plan& plan) {
  const auto reject = [](std::string_view what) {
    throw UsageError(
        fmt::format("--offsets symbolic is for one model that runs whole operators in one memory; "
                    "this plan has {}",
                    what));
  };
  if (plan.models.size() != 1 || plan.tensors.empty()) reject("no model, or several");
  if (plan.memories.size() != 1) reject("several memories");
  if (plan.clocks.size() != 1) reject("branches");
  if (is_streamed(plan)) reject("rows");
  if (model::has_views_that_move(plan)) reject("tensors that move within their buffers");
  if (!plan.slots.empty()) reject("a pool of slots, whose places are multiples of one size");
  const bool has_pins =
      std::ranges::any_of(plan.buffers, [](const Buffer& it) { return it.pinned.has_value(); });
  if (has_pins) reject("tensors whose offsets are given");
}

/// The next run may have other sizes, and begins with the state of this one.
void expect_state_stays(const Graph& graph) {
  for (const StateTie& tie : graph.ties) {
    if (!is_open(graph.tensors[tie.output]) && !is_open(graph.tensors[tie.input])) continue;
    if (!model::is_copied(graph, tie) && are_open_alike(graph.tensors[tie.output], graph.tensors[tie.input]))
      continue;
    throw UsageError(fmt::format(
        "--offsets symbolic: {} is state that grows (--state), and would lie elsewhere in the next run; "
        "plan the range without --offsets symbolic, which gives it one place",
        describe(graph, tie.input)));
  }
}

/// What is closed for the ranges is the same at each of their sizes.
void expect_planned(const Graph& range, const Graph& exact, TensorId t) {
  const Tensor& planned = range.tensors[t];
  const Tensor& read = exact.tensors[t];
  const bool is_of_kind = planned.kind == read.kind || is_constant(read.kind);
  if (is_of_kind && planned.dtype == read.dtype &&
      (!planned.shape || (planned.shape == read.shape && planned.bytes == read.bytes)))
    return;
  const auto in_words = [](const Tensor& it) {
    return fmt::format("{} {}{}", name_of(it.kind), name_of(it.dtype),
                       it.shape ? fmt::format("[{}]", fmt::join(*it.shape, ",")) : "");
  };
  throw Error(
      describe(range, t),
      fmt::format("is {} at all sizes that were read for the plan, but {} here; plan a smaller range, or "
                  "read each size of it: --every-size",
                  in_words(planned), in_words(read)));
}

[[noreturn]] void reject_other_tensors() {
  throw UsageError(
      "at exact sizes the model has other tensors or operators than for the range: a branch that sizes "
      "decide, "
      "or another model");
}

/// An open axis: a tensor, and the axis.
using Axis = std::pair<std::size_t, std::size_t>;

/// The graphs of a model at sizes that it accepts.
class Readings {
 public:
  Readings(const Plan& plan, std::span<const SizeSymbol> symbols, const ReadAtSizes& read)
      : plan_(plan), read_(read), samples_(plan::size_samples(symbols)) {
    for (const SizeValues& values : samples_.values) add(values);
    if (!samples_.is_every_size) read_at_rises(symbols);
    if (values_.size() < fewest_readings)
      throw Error("", fmt::format("the model accepts {} of {} sizes in the ranges, expected several: {}",
                                  values_.size(), samples_.values.size(), rejected_));
  }

  [[nodiscard]] const std::map<Axis, Results>& extents() const { return extents_; }
  [[nodiscard]] const std::vector<SizeValues>& values() const { return values_; }
  [[nodiscard]] const plan::SizeSamples& samples() const { return samples_; }
  [[nodiscard]] bool are_all_accepted() const { return values_.size() == samples_.values.size(); }

 private:
  void add(const SizeValues& values) {
    try {
      const Graph graph = read_(values);
      note_extents(graph, values);
      values_.push_back(values);
    } catch (const UsageError&) {
      throw;
    } catch (const Error& error) {
      if (rejected_.empty()) rejected_ = fmt::format("at {}: {}", fmt::join(values, ","), error.what());
    }
  }

  /// Reads the model where an extent first and where it last changes along a symbol, while all others are at their
  /// largest: the quotient of a large divisor rises seldom, and this tells at which size.
  void read_at_rises(std::span<const SizeSymbol> symbols) {
    std::size_t left = most_at_rises;
    for (std::size_t s = 0; s < symbols.size(); ++s) {
      for (const bool is_last : {false, true}) {
        while (left > 0) {
          const auto between = between_unlike(symbols, s, is_last);
          if (!between) break;
          --left;
          samples_.values.push_back(*between);
          const std::size_t accepted = values_.size();
          add(*between);
          if (values_.size() == accepted) break;
        }
      }
    }
  }

  /// Sizes between two readings next to each other along a symbol, between which an extent changes first, or last.
  [[nodiscard]] std::optional<SizeValues> between_unlike(std::span<const SizeSymbol> symbols, std::size_t s,
                                                         bool is_last) const {
    std::vector<std::size_t> along;
    for (std::size_t r = 0; r < values_.size(); ++r) {
      SizeValues others = values_[r];
      others[s] = symbols[s].most;
      if (others == samples_.values[0]) along.push_back(r);
    }
    std::ranges::sort(along, {}, [&](std::size_t r) { return values_[r][s]; });
    if (is_last) std::ranges::reverse(along);
    for (const auto& [axis, results] : extents_) {
      const auto differ = [&results](std::size_t a, std::size_t b) { return results[a] != results[b]; };
      const auto pair = std::ranges::adjacent_find(along, differ);
      if (pair == along.end()) continue;
      const auto [low, high] = std::minmax(values_[*pair][s], values_[*std::next(pair)][s]);
      const std::int64_t steps = (high - low) / symbols[s].step;
      if (steps <= 1) continue;
      SizeValues between = samples_.values[0];
      between[s] = low + steps / 2 * symbols[s].step;
      return between;
    }
    return std::nullopt;
  }

  void note_extents(const Graph& graph, const SizeValues& values) {
    if (graph.tensors.size() != plan_.tensors.size()) reject_other_tensors();
    std::vector<std::pair<Axis, std::int64_t>> found;
    for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
      const Tensor& planned = plan_.tensors[t].tensor;
      const Tensor& read = graph.tensors[t];
      if (!is_open(planned)) continue;
      if (is_open(read) || !read.shape || read.shape->size() != planned.shape->size())
        throw UsageError(
            fmt::format("--offsets symbolic: {} has another rank, or a size that a run decides, at {}",
                        describe(graph, t), fmt::join(values, ",")));
      for (const OpenExtent& open : planned.open)
        found.emplace_back(Axis(t, open.axis), (*read.shape)[open.axis]);
    }
    for (const auto& [axis, extent] : found) extents_[axis].push_back(extent);
  }

  const Plan& plan_;
  const ReadAtSizes& read_;
  plan::SizeSamples samples_;
  std::vector<SizeValues> values_{};
  std::map<Axis, Results> extents_{};
  std::string rejected_{};
};

/// Terms of all sizes of a plan.
class SizeTerms {
 public:
  SizeTerms(const Plan& plan, const std::vector<SizeSymbol>& symbols, const Readings& readings)
      : plan_(plan), symbols_(symbols), fitting_(symbols, readings.values()) {
    std::set<Results> different;
    for (const auto& [axis, results] : readings.extents()) different.insert(results);
    fitting_.fit({different.begin(), different.end()});
    for (const auto& [axis, results] : readings.extents()) {
      const auto term = fitting_.find(results);
      if (!term) reject(axis, readings);
      extents_.emplace(axis, *term);
    }
    for (const Buffer& buffer : plan.buffers) alignment_ = std::lcm(alignment_, buffer.alignment);
    find_sizes();
  }

  [[nodiscard]] OffsetFunctions functions(std::vector<SizeSymbol> symbols) && {
    return {std::move(symbols), fitting_.terms(), std::move(sizes_), {}};
  }

 private:
  [[noreturn]] void reject(const Axis& axis, const Readings& readings) const {
    constexpr std::size_t shown = 6;
    const Results& results = readings.extents().at(axis);
    std::string at;
    for (std::size_t r = 0; r < std::min(shown, results.size()); ++r)
      at += fmt::format("{} at {}, ", results[r], fmt::join(readings.values()[r], ","));
    throw Error(
        fmt::format("tensor {}", base::quoted(plan_.tensors[axis.first].tensor.name)),
        fmt::format(
            "axis {} follows no function of the sizes that is known: {}...; give a plan for the whole "
            "range, without --offsets symbolic",
            axis.second, at));
  }

  std::size_t add(SizeTerm term) {
    const auto added = fitting_.add(std::move(term));
    if (!added) throw Error("", "sizes overflow");
    return *added;
  }

  void find_sizes() {
    std::vector<std::vector<SizeTerm::Part>> ends(plan_.buffers.size());
    for (std::size_t t = 0; t < plan_.tensors.size(); ++t) {
      for (const View& view : plan_.tensors[t].views) {
        std::size_t term = bytes_of(t);
        if (view.offset != 0) term = add({.kind = Kind::sum, .parts = {{term}}, .number = view.offset});
        auto& parts = ends[view.buffer];
        if (std::ranges::find(parts, SizeTerm::Part{term}) == parts.end()) parts.push_back({term});
      }
    }
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      if (ends[b].empty()) {  // scratch memory
        sizes_.push_back(aligned(add({.number = plan_.buffers[b].size})));
      } else if (ends[b].size() == 1) {
        sizes_.push_back(aligned(ends[b][0].term));
      } else {
        sizes_.push_back(aligned(add({.kind = Kind::greatest, .parts = std::move(ends[b]), .number = 0})));
      }
    }
  }

  /// The bytes of a tensor.
  std::size_t bytes_of(std::size_t t) {
    const Tensor& tensor = plan_.tensors[t].tensor;
    if (!is_open(tensor)) return add({.number = tensor.bytes});
    std::int64_t bits = bits_of(tensor.dtype).value_or(bits_of_a_byte);
    SizeTerm term{.kind = Kind::product};
    for (std::size_t d = 0; d < tensor.shape->size(); ++d) {
      const auto open = extents_.find({t, d});
      if (open != extents_.end()) {
        term.parts.push_back({open->second});
      } else {
        const auto product = base::checked_multiply(bits, (*tensor.shape)[d]);
        if (!product) throw Error("", "sizes overflow");
        bits = *product;
      }
    }
    if (bits % bits_of_a_byte == 0) {
      term.number = bits / bits_of_a_byte;
      return add(std::move(term));
    }
    term.number = bits;
    return rounded_up(add(std::move(term)), bits_of_a_byte);
  }

  /// term / divisor, rounded up
  std::size_t rounded_up(std::size_t term, std::int64_t divisor) {
    const std::size_t sum = add({.kind = Kind::sum, .parts = {{term}}, .number = divisor - 1});
    return add({.kind = Kind::quotient, .parts = {{sum}}, .number = divisor});
  }

  std::size_t aligned(std::size_t term) {
    if (model::divisors_of(fitting_.terms(), symbols_)[term] % alignment_ == 0) return term;
    const auto [at, is_new] = aligned_.try_emplace(term, 0);
    if (is_new) {
      const std::size_t blocks = rounded_up(term, alignment_);
      at->second = fitting_.append({.kind = Kind::product, .parts = {{blocks}}, .number = alignment_});
    }
    return at->second;
  }

  const Plan& plan_;
  const std::vector<SizeSymbol>& symbols_;
  plan::SizeFitting fitting_;
  std::map<Axis, std::size_t> extents_{};
  std::vector<std::size_t> sizes_{};
  std::map<std::size_t, std::size_t> aligned_{};  ///< Terms, and these rounded up.
  Bytes alignment_ = 1;
};

std::vector<Bytes> sizes_at(const OffsetFunctions& functions, std::span<const std::int64_t> values) {
  const std::vector<std::int64_t> results = model::results_of(functions.terms, values);
  std::vector<Bytes> sizes;
  for (const std::size_t term : functions.sizes) sizes.push_back(results[term]);
  return sizes;
}

/// Buffers from below to above in a packing for these sizes alone.
plan::Stacking stacking_of(const Plan& plan, std::span<const Bytes> sizes, const SolveOptions& options) {
  Problem problem{.memories = {{.name = "arena"}}};
  for (std::size_t b = 0; b < sizes.size(); ++b) {
    const Lifetime life = pack::life_of(plan.buffers[b]);
    problem.buffers.push_back({.id = plan.buffers[b].id, .size = sizes[b], .pieces = {{0, sizes[b], life}}});
  }
  const Solution solution = solve(problem, options);
  plan::Stacking stacking(sizes.size());
  std::iota(stacking.begin(), stacking.end(), std::size_t{0});
  std::ranges::stable_sort(stacking, {}, [&](std::size_t b) { return solution.places[b].offset; });
  return stacking;
}

plan::StackedLives lives_of(const Plan& plan) {
  std::vector<Lifetime> lives;
  for (const Buffer& buffer : plan.buffers) lives.push_back(pack::life_of(buffer));
  return plan::StackedLives(std::move(lives));
}

std::vector<Relation> relations_of(const Plan& plan, std::span<const plan::Scenario> scenarios,
                                   const SolveOptions& options) {
  constexpr double part_of_starts = 0.25;
  constexpr double starts = 32;
  SolveOptions for_one = plan::with_part(options, part_of_starts / starts);
  for_one.progress = {};
  const auto stack = [&](const plan::Scenario& scenario) {
    return stacking_of(plan, scenario.sizes, for_one);
  };
  const base::Deadline deadline = pack::deadline_of(plan::with_part(options, 1 - part_of_starts));
  const plan::StackedLives lives = lives_of(plan);
  std::vector<Relation> relations;
  for (const plan::Stacking& it : plan::search_stackings(lives, scenarios, stack, deadline))
    relations.push_back(lives.relation_of(it));
  return relations;
}

void note_worst(const OffsetFunctions& functions, const plan::StackedLives& lives, const SizeValues& values,
                OffsetFunctionsReport& report) {
  const OffsetsAt at = offsets_at(functions, values);
  const Bytes load = lives.scenario_of(at.sizes).load;
  const double ratio = load == 0 ? 1 : static_cast<double>(at.peak) / static_cast<double>(load);
  ++report.tried;
  if (ratio <= report.worst && !report.worst_at.empty()) return;
  report.worst = ratio;
  report.worst_at = values;
}

/// Whether both tensors have the bytes of the copy at one place.
bool is_removed(const Plan& plan, const Operator& op, const ByteCopy& copy) {
  const std::vector<View>& from = plan.tensors[*op.inputs[copy.input]].views;
  const std::vector<View>& to = plan.tensors[*op.outputs[copy.output]].views;
  return !from.empty() && !to.empty() && from[0].buffer == to[0].buffer &&
         from[0].offset + copy.from == to[0].offset + copy.to;
}

/// Counts the bytes of copies again.
void count_copies(const Graph& graph, Plan& plan) {
  plan.copies_removed = {};
  for (KeptCopy& it : plan.copies_kept) it.bytes = 0;
  for (std::size_t s = 0; s < graph.subgraphs.size(); ++s) {
    for (std::size_t o = 0; o < graph.subgraphs[s].operators.size(); ++o) {
      const Operator& op = graph.subgraphs[s].operators[o];
      if (op.folded) continue;
      const auto kept = std::ranges::find_if(
          plan.copies_kept, [&](const KeptCopy& it) { return it.subgraph == s && it.op == o; });
      for (const ByteCopy& copy : op.copies) {
        if (is_removed(plan, op, copy)) {
          ++plan.copies_removed.count;
          plan.copies_removed.bytes += copy.size;
        } else if (kept != plan.copies_kept.end()) {
          kept->bytes += copy.size;
        }
      }
    }
  }
}

Graph graph_at_values(const Graph& range, const Graph& exact, const std::vector<SizeSymbol>& symbols,
                      const SizeValues& values) {
  try {
    return graph_at(range, exact);
  } catch (const Error& error) {
    std::vector<std::string> words;
    for (std::size_t s = 0; s < symbols.size(); ++s)
      words.push_back(fmt::format("{}={}", symbols[s].name, values[s]));
    throw Error(fmt::format("at {}: {}", fmt::join(words, " "), error.place()), error.problem());
  }
}

/// Holds the plan at sizes that no term was made from against the model read at these.
void hold_against_others(const Plan& plan, const Graph& range, const OffsetFunctions& functions,
                         const std::vector<SizeValues>& others, const ReadAtSizes& read,
                         const plan::StackedLives& lives, OffsetFunctionsReport& report) {
  for (const SizeValues& values : others) {
    std::optional<Graph> exact;
    try {
      exact = read(values);
    } catch (const Error&) {
      continue;
    }
    const Graph graph = graph_at_values(range, *exact, functions.symbols, values);
    Faults faults = check_plan(plan_at(plan, functions, values, graph), {&graph, 1});
    std::erase_if(faults,
                  [](const Fault& it) { return it.kind == FaultKind::capacity; });  // smaller sizes fit
    if (!faults.empty())
      throw Error("",
                  fmt::format("sizes follow no function that is known: at {}, {}; give a plan for the whole "
                              "range, without --offsets symbolic",
                              fmt::join(values, ","), faults[0].what));
    ++report.readings;
    note_worst(functions, lives, values, report);
  }
}

}  // namespace

OffsetsAt offsets_at(const OffsetFunctions& functions, std::span<const std::int64_t> values) {
  model::expect_in_range(functions.symbols, values);
  OffsetsAt best{.sizes = sizes_at(functions, values)};
  for (std::size_t r = 0; r < functions.relations.size(); ++r) {
    const Relation& relation = functions.relations[r];
    std::vector<std::optional<Bytes>> offsets(relation.size());
    Bytes peak = 0;
    std::vector<std::size_t> way;
    for (std::size_t root = 0; root < relation.size(); ++root) {
      way.push_back(root);
      while (!way.empty()) {  // what is below first
        const std::size_t b = way.back();
        const auto open = std::ranges::find_if(relation[b], [&](std::size_t it) { return !offsets[it]; });
        if (!offsets[b] && open != relation[b].end()) {
          way.push_back(*open);
          if (way.size() > relation.size()) throw Error("", "buffers lie above themselves");
          continue;
        }
        way.pop_back();
        Bytes offset = 0;
        for (const std::size_t it : relation[b]) offset = std::max(offset, *offsets[it] + best.sizes[it]);
        offsets[b] = offset;
        peak = std::max(peak, offset + best.sizes[b]);
      }
    }
    if (r > 0 && peak >= best.peak) continue;
    best.relation = r;
    best.peak = peak;
    best.offsets.clear();
    for (const auto& it : offsets) best.offsets.push_back(*it);
  }
  return best;
}

FoundFunctions find_offset_functions(const Plan& plan, const Graph& range, std::vector<SizeSymbol> symbols,
                                     const ReadAtSizes& read, const SolveOptions& options,
                                     HeldAgainst held_against) {
  expect_plan_of_one(plan);
  expect_state_stays(range);
  if (symbols.empty())
    throw UsageError("--offsets symbolic needs a range of sizes, for instance --dim n=1..512");
  const bool is_each = held_against == HeldAgainst::each;
  if (is_each && !plan::may_try_each(symbols))
    throw UsageError(
        "the ranges have more than 65536 sizes, too many to try each: give smaller ranges or larger steps");
  const Readings readings(plan, symbols, read);
  FoundFunctions found;
  found.functions = SizeTerms(plan, symbols, readings).functions(symbols);
  const plan::StackedLives lives = lives_of(plan);
  std::vector<plan::Scenario> scenarios;
  std::vector<SizeValues> tried = readings.values();
  if (readings.are_all_accepted())
    std::ranges::copy(plan::other_samples(symbols, readings.samples().values, others_to_search),
                      std::back_inserter(tried));
  for (const SizeValues& values : tried)
    scenarios.push_back(lives.scenario_of(sizes_at(found.functions, values)));
  found.functions.relations = relations_of(plan, scenarios, options);
  found.report.readings = static_cast<std::int64_t>(readings.values().size());
  found.report.is_every_size = is_each || readings.samples().is_every_size;
  for (const SizeValues& values : readings.values()) note_worst(found.functions, lives, values, found.report);
  const std::vector<SizeValues>& samples = readings.samples().values;
  hold_against_others(
      plan, range, found.functions,
      is_each ? plan::all_others(symbols, samples) : plan::other_samples(symbols, samples, others_to_try),
      read, lives, found.report);
  return found;
}

void keep_in_place(Graph& range) { model::copy_what_moves(range); }

Graph graph_at(Graph range, const Graph& exact) {
  const auto has_as_many = [](const Subgraph& a, const Subgraph& b) {
    return a.operators.size() == b.operators.size();
  };
  if (range.tensors.size() != exact.tensors.size() ||
      !std::ranges::equal(range.subgraphs, exact.subgraphs, has_as_many))
    reject_other_tensors();
  std::vector<std::pair<Operator*, const Operator*>> moving;
  for (std::size_t s = 0; s < range.subgraphs.size(); ++s) {
    std::vector<Operator>& operators = range.subgraphs[s].operators;
    for (std::size_t o = 0; o < operators.size(); ++o) {
      if (model::has_places_that_move(range, operators[o]))
        moving.emplace_back(&operators[o], &exact.subgraphs[s].operators[o]);
    }
  }
  for (std::size_t t = 0; t < range.tensors.size(); ++t) {
    Tensor& tensor = range.tensors[t];
    if (!is_open(tensor)) {
      expect_planned(range, exact, t);
      continue;
    }
    tensor.shape = exact.tensors[t].shape;
    tensor.bytes = exact.tensors[t].bytes;
    tensor.open.clear();
  }
  for (Subgraph& subgraph : range.subgraphs) {
    for (Operator& op : subgraph.operators) {
      for (ByteCopy& copy : op.copies) {
        const Bytes from = range.tensors[*op.inputs[copy.input]].bytes - copy.from;
        const Bytes to = range.tensors[*op.outputs[copy.output]].bytes - copy.to;
        copy.size = std::min({copy.size, from, to});
      }
      std::erase_if(op.copies, [](const ByteCopy& it) { return it.size <= 0; });
    }
  }
  for (const auto& [op, at_size] : moving)
    op->copies = at_size->copies;  // the places are what the reading says
  return range;
}

namespace {

/// Puts views that move where they are when the tensors of the only model are those of `at`.
void move_views(Plan& plan, const Graph& at) {
  model::Extents largest;
  model::Extents own;
  for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
    const Tensor& tensor = plan.tensors[t].tensor;
    if (!is_open(tensor) || !tensor.shape || !at.tensors[t].shape) continue;
    model::note_extents(tensor, *tensor.shape, largest);
    model::note_extents(tensor, *at.tensors[t].shape, own);
  }
  for (PlannedTensor& tensor : plan.tensors) {
    for (View& view : tensor.views) {
      if (!view.moves) continue;
      const auto before = model::value_of(*view.moves, largest);
      const auto now = model::value_of(*view.moves, own);
      if (!before || !now)
        throw Error("", fmt::format("tensor {} moves too far", base::quoted(tensor.tensor.name)));
      view.offset += *now - *before;
      view.moves.reset();
    }
  }
}

/// The plan with the tensors of the network at some sizes. Buffers and offsets are those of `draft`.
Plan finished_at(plan::Draft draft, const Graph& at) {
  Plan& own = draft.plan;
  if (at.tensors.size() != own.tensors.size()) reject_other_tensors();
  std::vector<Memory> memories;
  for (const PlannedMemory& it : own.memories) memories.push_back(it.memory);
  const double seconds = own.summary.seconds;
  draft.order = own.summary.order;
  draft.placement.strategy = own.summary.strategy;
  draft.alignments.assign(own.models.size(), memories[0].alignment);
  own.memories.clear();
  own.claims.clear();
  own.order_searches.clear();
  own.order_profile.reset();
  own.savings.reset();
  move_views(own, at);
  for (std::size_t t = 0; t < own.tensors.size(); ++t) own.tensors[t].tensor = at.tensors[t];
  count_copies(at, own);
  Plan finished = plan::finish(std::move(draft), memories);
  finished.summary.seconds = seconds;
  return finished;
}

}  // namespace

Plan plan_at(const Plan& plan, const OffsetFunctions& functions, std::span<const std::int64_t> values,
             const Graph& at) {
  const OffsetsAt offsets = offsets_at(functions, values);
  plan::Draft draft{.plan = plan};
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    Buffer& buffer = draft.plan.buffers[b];
    const Lifetime life = pack::life_of(buffer);
    buffer.size = offsets.sizes[b];
    buffer.pieces = {{0, buffer.size, life}};
    draft.placement.places.push_back({0, offsets.offsets[b]});
  }
  return finished_at(std::move(draft), at);
}

Plan plan_at(const Plan& plan, const Graph& at) {
  const auto has_weights = [](const PlannedMemory& it) { return it.memory.role == MemoryRole::weights; };
  if (plan.models.size() != 1 || is_streamed(plan) || !plan.slots.empty() ||
      std::ranges::any_of(plan.memories, has_weights))
    throw UsageError(
        "a plan of several models, by rows, in slots or with weights runs at the largest of its sizes only: "
        "give its ranges");
  plan::Draft draft{.plan = plan};
  draft.placement.places = plan.places;
  return finished_at(std::move(draft), at);
}

std::string text_of(const OffsetFunctions& functions, std::size_t term) {
  std::vector<std::string> texts;
  for (std::size_t t = 0; t <= term; ++t)
    texts.push_back(model::text_of(functions.terms[t], texts, functions.symbols));
  return texts.back();
}

}  // namespace stowage
