// Functions of offsets hold for all sizes if what they say of who lies above whom does: at each time, the live buffers,
// from below to above, must be linked one by one. Then any two of them are on one way upwards, and the upper one begins
// no lower than the lower one ends, whatever the sizes are. Sizes are checked at the largest values of the symbols, and
// by the form of their terms: that they are multiples of alignments, and that nothing overflows.

#include "stowage/offset_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/text.h"
#include "model/size_terms.h"

namespace stowage {
namespace {

using Kind = SizeTerm::Kind;

template <typename... Values>
Fault fault(FaultKind kind, fmt::format_string<Values...> text, Values&&... values) {
  return {kind, fmt::format(text, std::forward<Values>(values)...)};
}

/// What makes evaluation impossible.
std::optional<Fault> find_wrong_form(const Plan& plan, const OffsetFunctions& functions) {
  for (const SizeSymbol& it : functions.symbols) {
    if (it.least < 0 || it.most < it.least || it.step < 1 || (it.most - it.least) % it.step != 0)
      return fault(FaultKind::format, "symbol {} has the range {}..{} in steps of {}", base::quoted(it.name),
                   it.least, it.most, it.step);
  }
  for (std::size_t t = 0; t < functions.terms.size(); ++t) {
    const SizeTerm& term = functions.terms[t];
    const bool is_symbol = term.kind == Kind::symbol;
    const bool has_one = is_symbol || term.kind == Kind::quotient;
    const std::size_t known = is_symbol ? functions.symbols.size() : t;
    const auto is_known = [&](const SizeTerm::Part& part) { return part.term < known; };
    if (!std::ranges::all_of(term.parts, is_known) || (has_one && term.parts.size() != 1) ||
        (term.kind == Kind::quotient && term.number < 1))
      return fault(FaultKind::format, "term {} is not made of earlier terms", t);
  }
  const auto are_terms = [&](const std::vector<std::size_t>& them) {
    return std::ranges::all_of(them, [&](std::size_t it) { return it < functions.terms.size(); });
  };
  if (functions.sizes.size() != plan.buffers.size() || !are_terms(functions.sizes))
    return fault(FaultKind::format, "{} sizes for {} buffers", functions.sizes.size(), plan.buffers.size());
  for (const Relation& relation : functions.relations) {
    const auto are_buffers = [&](const std::vector<std::size_t>& below) {
      return std::ranges::all_of(below, [&](std::size_t it) { return it < plan.buffers.size(); });
    };
    if (relation.size() != plan.buffers.size() || !std::ranges::all_of(relation, are_buffers))
      return fault(FaultKind::format, "a relation is not of the {} buffers", plan.buffers.size());
  }
  return std::nullopt;
}

/// Buffers in an order in which each follows all below it; fewer than there are if some lie above themselves.
std::vector<std::size_t> upwards(const Relation& relation) {
  std::vector<std::vector<std::size_t>> above(relation.size());
  std::vector<std::size_t> waits(relation.size());
  for (std::size_t b = 0; b < relation.size(); ++b) {
    waits[b] = relation[b].size();
    for (const std::size_t it : relation[b]) above[it].push_back(b);
  }
  std::vector<std::size_t> order;
  for (std::size_t b = 0; b < relation.size(); ++b)
    if (waits[b] == 0) order.push_back(b);
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::size_t it : above[order[i]])
      if (--waits[it] == 0) order.push_back(it);
  }
  return order;
}

/// Live buffers at each time, from below to above in a given order; neighbours must be linked.
class LinkCheck {
 public:
  LinkCheck(const Plan& plan, const Relation& relation, const std::vector<std::size_t>& order)
      : plan_(plan), relation_(relation), height_(order.size()) {
    for (std::size_t i = 0; i < order.size(); ++i) height_[order[i]] = i;
  }

  Faults run() {
    std::map<Position, std::vector<std::size_t>> begins, ends;
    for (std::size_t b = 0; b < plan_.buffers.size(); ++b) {
      std::optional<Lifetime> life;  // from the first piece to the last: functions reserve no gaps
      for (const Piece& piece : plan_.buffers[b].pieces) {
        if (!piece.is_ever_alive()) continue;
        if (!life) life = piece.life;
        life = Lifetime{std::min(life->lower, piece.life.lower), std::max(life->upper, piece.life.upper)};
      }
      if (!life) continue;
      begins[life->lower].push_back(b);
      ends[life->upper].push_back(b);
      begins[life->upper];  // a time at which something changes
    }
    for (const auto& [at, beginning] : begins) {
      const std::vector<std::size_t>& ending = ends[at];
      for (const std::size_t b : ending) live_.erase(height_[b]);
      for (const std::size_t b : beginning) live_.emplace(height_[b], b);
      for (const auto* changed : {&ending, &beginning}) {
        for (const std::size_t b : *changed) check_around(height_[b]);
      }
    }
    return std::move(faults_);
  }

 private:
  /// What is below a height, at it, and above it.
  void check_around(std::size_t height) {
    const auto at = live_.lower_bound(height);
    if (at == live_.end()) return;
    if (at != live_.begin()) expect_link(std::prev(at)->second, at->second);
    if (std::next(at) != live_.end()) expect_link(at->second, std::next(at)->second);
  }

  void expect_link(std::size_t lower, std::size_t upper) {
    if (std::ranges::find(relation_[upper], lower) != relation_[upper].end()) return;
    faults_.push_back(fault(FaultKind::overlap,
                            "buffers {} and {} live at the same time, and no order is given",
                            base::quoted(plan_.buffers[lower].id), base::quoted(plan_.buffers[upper].id)));
  }

  const Plan& plan_;
  const Relation& relation_;
  std::vector<std::size_t> height_;
  std::map<std::size_t, std::size_t> live_{};  ///< Buffers by height.
  Faults faults_{};
};

Faults check_sizes(const Plan& plan, const OffsetFunctions& functions) {
  Faults faults;
  std::vector<model::TermRange> ranges;
  for (std::size_t t = 0; t < functions.terms.size(); ++t) {
    const auto range = model::range_of(functions.terms[t], ranges, functions.symbols);
    if (!range) return {fault(FaultKind::claim, "term {} may overflow", t)};
    ranges.push_back(*range);
  }
  std::vector<std::int64_t> largest;
  for (const SizeSymbol& it : functions.symbols) largest.push_back(it.most);
  const std::vector<std::int64_t> results = model::results_of(functions.terms, largest);
  const std::vector<std::int64_t> divisors = model::divisors_of(functions.terms, functions.symbols);
  std::set<Bytes> alignments;
  for (const Buffer& buffer : plan.buffers) alignments.insert(buffer.alignment);
  for (std::size_t b = 0; b < plan.buffers.size(); ++b) {
    const std::size_t size = functions.sizes[b];
    const std::string id = base::quoted(plan.buffers[b].id);
    if (ranges[size].first < 0)
      faults.push_back(fault(FaultKind::claim, "the size of buffer {} may be negative", id));
    for (const Bytes alignment : alignments) {
      if (divisors[size] % alignment != 0)
        faults.push_back(
            fault(FaultKind::alignment, "the size of buffer {} may be no multiple of {}", id, alignment));
    }
  }
  for (const PlannedTensor& it : plan.tensors) {
    for (const View& view : it.views) {
      const Bytes size = results[functions.sizes[view.buffer]];
      if (view.offset + it.tensor.bytes > size)
        faults.push_back(fault(FaultKind::accounting, "tensor {} does not fit the {} bytes of buffer {}",
                               base::quoted(it.tensor.name), size,
                               base::quoted(plan.buffers[view.buffer].id)));
    }
  }
  return faults;
}

}  // namespace

Faults check_offset_functions(const Plan& plan, const OffsetFunctions& functions) {
  if (const auto wrong = find_wrong_form(plan, functions)) return {*wrong};
  Faults faults = check_sizes(plan, functions);
  for (const Relation& relation : functions.relations) {
    const std::vector<std::size_t> order = upwards(relation);
    if (order.size() < relation.size()) {
      faults.push_back(fault(FaultKind::overlap, "buffers lie above themselves"));
      continue;
    }
    Faults more = LinkCheck(plan, relation, order).run();
    faults.insert(faults.end(), more.begin(), more.end());
  }
  return faults;
}

}  // namespace stowage
