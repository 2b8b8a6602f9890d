// Where a part of a tensor begins may depend on open extents. It is known where an operator joins whole tensors back to
// back, or cuts one into whole tensors:
//
//     a [32,h,w] ──concat──> c [48,h,w]     a at byte 0 of c, b at byte 4 * 32 * h * w
//     b [16,h,w] ──┘
//     c [48,h,w] ──split──> a, b            the same places in c
//
// The place of a part is the sum of the bytes of all parts before it, and these are products of extents. So places are
// polynomials of open extents, and those of all runs follow from the graph. Extents are at least 0 and at most the
// largest. So a difference of two places is never less than at the largest extents without what is positive in it: an
// order of places that holds by this holds in every run.
//
// The importers keep such copies only if each reading has them, and if sizes are known before a run (open_sizes.cc).

#include "model/motions.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "stowage/error.h"

namespace stowage::model {
namespace {

Bytes checked(std::optional<Bytes> bytes) {
  if (!bytes) throw Error("", "places that move with sizes overflow");
  return *bytes;
}

/// A whole tensor as a part of another one.
struct Part {
  std::size_t copy = 0;  ///< Index in Operator::copies.
  Bytes begin = 0;       ///< In the whole.
  Bytes size = 0;
  TensorId tensor = 0;
};

/// The places of parts that follow each other from the begin of the whole to its end; none if they do not.
std::optional<std::vector<Motion>> places_of(const Graph& graph, std::vector<Part> parts, TensorId whole) {
  std::ranges::sort(parts, {}, &Part::begin);
  std::vector<Motion> places(parts.size());
  Bytes end = 0;
  Motion place;
  for (const Part& part : parts) {
    const auto end_of_part = motion_of_end(graph.tensors[part.tensor]);
    if (part.begin != end || part.size != graph.tensors[part.tensor].bytes || !end_of_part)
      return std::nullopt;
    places[part.copy] = place;
    place = sum_of(place, *end_of_part, 1);
    end += part.size;
  }
  if (end != graph.tensors[whole].bytes) return std::nullopt;
  return places;
}

/// The places of all copies in the only output, if each copies a whole input.
std::optional<std::vector<Motion>> places_in_output(const Graph& graph, const Operator& op) {
  if (op.outputs.size() != 1) return std::nullopt;
  std::vector<Part> parts;
  for (std::size_t c = 0; c < op.copies.size(); ++c) {
    const ByteCopy& copy = op.copies[c];
    if (copy.from != 0) return std::nullopt;
    parts.push_back({c, copy.to, copy.size, *op.inputs[copy.input]});
  }
  return places_of(graph, std::move(parts), *op.outputs[0]);
}

/// The places of all copies in one input, if each copies to a whole output.
std::optional<std::vector<Motion>> places_in_input(const Graph& graph, const Operator& op) {
  std::vector<Part> parts;
  for (std::size_t c = 0; c < op.copies.size(); ++c) {
    const ByteCopy& copy = op.copies[c];
    if (copy.to != 0 || copy.input != op.copies[0].input) return std::nullopt;
    parts.push_back({c, copy.from, copy.size, *op.outputs[copy.output]});
  }
  return places_of(graph, std::move(parts), *op.inputs[op.copies[0].input]);
}

}  // namespace

Motion sum_of(const Motion& a, const Motion& b, Bytes factor) {
  Motion sum;
  auto next = b.begin();
  const auto add_next = [&] {
    sum.push_back({checked(base::checked_multiply(next->bytes, factor)), next->symbols});
    ++next;
  };
  for (const OpenBytes& it : a) {
    while (next != b.end() && next->symbols < it.symbols) add_next();
    if (next == b.end() || next->symbols != it.symbols) {
      sum.push_back(it);
      continue;
    }
    const Bytes more = checked(base::checked_multiply(next->bytes, factor));
    const Bytes bytes = checked(base::checked_add(it.bytes, more));
    if (bytes != 0) sum.push_back({bytes, it.symbols});
    ++next;
  }
  while (next != b.end()) add_next();
  return sum;
}

std::optional<Motion> motion_of_end(const Tensor& tensor) {
  if (!is_open(tensor)) return Motion{};
  const std::optional<int> bits = bits_of(tensor.dtype);
  if (!bits || !tensor.shape) return std::nullopt;
  std::optional<std::int64_t> all = *bits;
  std::optional<std::int64_t> own = *bits;
  OpenBytes term;
  for (std::size_t d = 0; d < tensor.shape->size(); ++d) {
    const std::int64_t extent = (*tensor.shape)[d];
    const auto open = std::ranges::find(tensor.open, d, &OpenExtent::axis);
    if (open != tensor.open.end())
      term.symbols.push_back(open->symbol);
    else
      own = own ? base::checked_multiply(*own, extent) : own;
    all = all ? base::checked_multiply(*all, extent) : all;
  }
  constexpr int bits_of_a_byte = 8;
  if (!all || !own || *own % bits_of_a_byte != 0 || *all / bits_of_a_byte != tensor.bytes)
    return std::nullopt;
  term.bytes = *own / bits_of_a_byte;
  std::ranges::sort(term.symbols);
  return term.bytes == 0 ? Motion{} : Motion{std::move(term)};
}

std::vector<CopyMotion> motions_of_copies(const Graph& graph, const Operator& op) {
  std::vector<CopyMotion> motions(op.copies.size());
  const std::vector<bool> fixed = fixed_copies(graph, op);
  if (std::ranges::find(fixed, false) == fixed.end()) return motions;
  if (auto places = places_in_output(graph, op)) {
    for (std::size_t c = 0; c < motions.size(); ++c) motions[c].to = std::move((*places)[c]);
  } else if (auto of_input = places_in_input(graph, op)) {
    for (std::size_t c = 0; c < motions.size(); ++c) motions[c].from = std::move((*of_input)[c]);
  } else {
    for (std::size_t c = 0; c < motions.size(); ++c) motions[c].is_known = fixed[c];
  }
  return motions;
}

bool has_places_that_move(const Graph& graph, const Operator& op) {
  const std::vector<bool> fixed = fixed_copies(graph, op);
  if (std::ranges::find(fixed, false) == fixed.end()) return false;
  const std::vector<CopyMotion> motions = motions_of_copies(graph, op);
  return std::ranges::all_of(motions, &CopyMotion::is_known);
}

std::string why_moved(const Graph& graph, const Operator& op, const ByteCopy& copy) {
  const bool is_in_output = copy.to != 0;
  const TensorId whole = is_in_output ? *op.outputs[copy.output] : *op.inputs[copy.input];
  const std::vector<OpenExtent>& open = graph.tensors[whole].open;
  const std::string place =
      fmt::format("byte {} of {} {}", is_in_output ? copy.to : copy.from, is_in_output ? "output" : "input",
                  is_in_output ? copy.output : copy.input);
  if (open.empty()) return place + " has another meaning at other sizes";
  return fmt::format("{} lies behind an open extent, of axis {}, and moves with it", place, open.back().axis);
}

std::string text_of_moved(const ByteCopy& copy) {
  return fmt::format(
      "copies byte {} of input {} to byte {} of output {}, expected places that no open extent moves",
      copy.from, copy.input, copy.to, copy.output);
}

void copy_what_moves(const Graph& graph, Operator& op) {
  const std::vector<bool> fixed = fixed_copies(graph, op);
  const auto moved = std::ranges::find(fixed, false);
  if (moved == fixed.end()) return;
  op.must_copy = why_moved(graph, op, op.copies[static_cast<std::size_t>(moved - fixed.begin())]);
  op.copies.clear();
}

void copy_what_moves(Graph& graph) {
  for (Subgraph& subgraph : graph.subgraphs) {
    for (Operator& op : subgraph.operators) copy_what_moves(graph, op);
  }
}

bool has_views_that_move(const Plan& plan) {
  return std::ranges::any_of(plan.tensors, [](const PlannedTensor& it) {
    return std::ranges::any_of(it.views, [](const View& view) { return view.moves.has_value(); });
  });
}

void note_extents(const Tensor& open, const Shape& shape, Extents& extents) {
  for (const OpenExtent& it : open.open) {
    if (it.axis < shape.size()) extents.emplace(it.symbol, shape[it.axis]);
  }
}

Extents largest_extents(const Graph& graph) {
  Extents extents;
  for (const Tensor& tensor : graph.tensors) {
    if (is_open(tensor)) note_extents(tensor, *tensor.shape, extents);
  }
  return extents;
}

std::optional<Bytes> value_of(const Motion& motion, const Extents& extents) {
  std::optional<Bytes> sum = 0;
  for (const OpenBytes& term : motion) {
    std::optional<Bytes> product = term.bytes;
    for (const std::size_t symbol : term.symbols) {
      const auto extent = extents.find(symbol);
      if (extent == extents.end()) return std::nullopt;
      product = product ? base::checked_multiply(*product, extent->second) : product;
    }
    sum = sum && product ? base::checked_add(*sum, *product) : std::nullopt;
  }
  return sum;
}

MotionId Motions::id_of(Motion motion) {
  std::vector<std::pair<std::vector<std::size_t>, Bytes>> key;
  for (const OpenBytes& term : motion) key.emplace_back(term.symbols, term.bytes);
  const auto [it, is_new] = ids_.try_emplace(std::move(key), static_cast<MotionId>(all_.size()));
  if (is_new) all_.push_back(std::move(motion));
  return it->second;
}

MotionId Motions::sum(MotionId a, MotionId b) {
  if (a == 0 || b == 0) return a == 0 ? b : a;
  return id_of(sum_of(all_[a], all_[b], 1));
}

MotionId Motions::difference(MotionId a, MotionId b) {
  if (b == 0) return a;
  return id_of(sum_of(all_[a], all_[b], -1));
}

Bytes Motions::approach(MotionId a, MotionId b) const {
  if (a == b) return 0;
  Motion nearer = sum_of(all_[b], all_[a], -1);
  std::erase_if(nearer, [](const OpenBytes& it) { return it.bytes < 0; });
  return value_of(nearer, largest_).value_or(largest_value);
}

}  // namespace stowage::model
