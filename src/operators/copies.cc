// Reshape, concat, split and slice all ask one question: which part of one tensor, the whole, are the
// elements of another? A part can stay in place only if it is one run of bytes. Elements are stored with the
// last dimension fastest. So a part is one run iff there is a dimension that it may take partly, while it
// takes all later dimensions completely and only one element of each earlier dimension:
//
//     whole [1,3,2]   part at 1 of extents [1,2,2]     whole [2,3], part at 1 of extents [2,2]
//     a b | c d | e f                                  a b c | d e f
//           ^^^^^^^^^                                    ^^^     ^^^     concat on axis 1 behind
//           one run: bytes from 1 * 2 elements on                        dimension 0 of 2
//
// A concat lays its inputs out in its output, a split its outputs in its input; a slice has one part. A file
// may contradict itself: then the operator must copy, and never gets a copy outside of its tensors.
//
// Cost: operands * dimensions. Source: the document of docs/free-list.md, paragraphs 150 to 165. The document
// lets a concat or a split share "on the highest dimension or the first that is not 1", which is the same
// condition for parts that are not empty. It does not mention the rest: other operators that move nothing
// follow the same rule, and parts that begin or end within a byte must copy.

#include "operators/copies.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "stowage/error.h"

namespace stowage::operators {
namespace {

constexpr std::int64_t bits_per_byte = 8;
/// Networks have a handful; this limits the cost of malicious files.
constexpr std::size_t most_copied_dimensions = 64;

/// The last dimension of which the region takes only a part, and an earlier one of which it takes several
/// elements: these split the region into pieces.
std::optional<std::pair<std::size_t, std::size_t>> break_of(const Shape& whole, const Region& region) {
  std::size_t axis = whole.size();
  while (axis > 0 && region.extent[axis - 1] == whole[axis - 1]) --axis;
  if (axis == 0) return std::nullopt;
  for (std::size_t d = axis - 1; d-- > 0;) {
    if (region.extent[d] > 1) return std::pair{axis - 1, d};
  }
  return std::nullopt;
}

Shape with_one_at(Shape shape, std::size_t axis) {
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(std::min(axis, shape.size())), 1);
  return shape;
}

bool is_inside(const Shape& whole, const Region& region) {
  if (region.start.size() != whole.size() || region.extent.size() != whole.size()) return false;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    if (region.start[d] < 0 || region.extent[d] < 0 || region.extent[d] > whole[d] ||
        region.start[d] > whole[d] - region.extent[d])
      return false;
  }
  return true;
}

/// The number of elements before the region, and in it.
std::pair<std::int64_t, std::int64_t> elements_of(const Shape& whole, const Region& region) {
  std::int64_t offset = 0;
  std::int64_t count = 1;
  for (std::size_t d = 0; d < whole.size(); ++d) {
    offset = offset * whole[d] + region.start[d];
    count *= region.extent[d];
  }
  return {offset, count};
}

}  // namespace

CopyFinder::CopyFinder(const Graph& graph, Operator& op, std::string name, Objection objection)
    : graph_(graph), op_(op), name_(std::move(name)), objection_(std::move(objection)) {}

void CopyFinder::refuse(const std::string& why) {
  const auto has_bytes = [&](const auto& output) { return output && graph_.tensors[*output].bytes > 0; };
  if (std::ranges::none_of(op_.outputs, has_bytes)) return;  // nothing is copied
  op_.must_copy = why;
}

/// One operand must be copied; the others need not be.
void CopyFinder::note(const std::string& why) {
  if (op_.copies.empty() && op_.must_copy.empty()) op_.must_copy = why;
}

const Tensor* CopyFinder::operand(Side side, std::size_t index) const {
  const auto& operands = side == Side::input ? op_.inputs : op_.outputs;
  return index < operands.size() && operands[index] ? &graph_.tensors[*operands[index]] : nullptr;
}

std::string CopyFinder::describe_operand(Side side, std::size_t index) const {
  if (side == Side::input) return fmt::format("input {}", index);
  return op_.outputs.size() == 1 ? "the output" : fmt::format("output {}", index);
}

std::optional<Shape> CopyFinder::shape_of(Side side, std::size_t index) {
  const Tensor* const tensor = operand(side, index);
  std::string problem;
  if (tensor == nullptr) {
    problem = "is left out";
  } else if (!tensor->shape) {
    problem = "has no known shape";
  } else if (!bits_of(tensor->dtype)) {
    problem = fmt::format("has elements of type {}, which have no fixed size", name_of(tensor->dtype));
  } else if (tensor->shape->size() > most_copied_dimensions) {
    problem = fmt::format("has {} dimensions, more than {}", tensor->shape->size(), most_copied_dimensions);
  } else {
    return tensor->shape;
  }
  refuse(fmt::format("{} {}", describe_operand(side, index), problem));
  return std::nullopt;
}

std::optional<Shape> CopyFinder::input_shape(std::size_t input) { return shape_of(Side::input, input); }

std::optional<Shape> CopyFinder::output_shape(std::size_t output) { return shape_of(Side::output, output); }

std::optional<std::size_t> CopyFinder::axis_of(std::int64_t axis, std::size_t rank) {
  const auto dimensions = static_cast<std::int64_t>(rank);
  if (axis < -dimensions || axis >= dimensions) {
    refuse(fmt::format("{} on axis {} of {} dimensions", name_, axis, rank));
    return std::nullopt;
  }
  return static_cast<std::size_t>(axis < 0 ? axis + dimensions : axis);
}

void CopyFinder::pass_whole() {
  const Tensor* const input = operand(Side::input, 0);
  const Tensor* const output = operand(Side::output, 0);
  if (input == nullptr || output == nullptr) return;
  if (input->bytes != output->bytes) {
    refuse(fmt::format("input 0 has {} bytes, {} {}", input->bytes, describe_operand(Side::output, 0),
                       output->bytes));
    return;
  }
  add_run({.size = input->bytes});
}

void CopyFinder::pass_if_equal() {
  const auto from = input_shape(0);
  const auto to = output_shape(0);
  if (!from || !to) return;
  // Such operators only repeat elements, and add leading dimensions of 1.
  const auto is_not_one = [](std::int64_t dimension) { return dimension != 1; };
  const auto first = std::ranges::find_if(*to, is_not_one);
  if (std::equal(std::ranges::find_if(*from, is_not_one), from->end(), first, to->end())) {
    pass_whole();
  } else {
    refuse(fmt::format("{} of [{}] to [{}]", name_, fmt::join(*from, ","), fmt::join(*to, ",")));
  }
}

void CopyFinder::transpose(const Shape& order) {
  const auto shape = input_shape(0);
  if (!shape) return;
  Shape sorted = order;
  std::ranges::sort(sorted);
  Shape every(shape->size());
  std::iota(every.begin(), every.end(), 0);
  if (sorted != every) {
    refuse(fmt::format("{} to an order that does not have each of {} dimensions once", name_, every.size()));
    return;
  }
  std::optional<std::int64_t> last;  // of the dimensions that are not 1
  for (const std::int64_t dimension : order) {
    const std::int64_t extent = (*shape)[static_cast<std::size_t>(dimension)];
    if (extent == 1) continue;
    if (last && *last > dimension) {
      refuse(fmt::format("{} puts dimension {} of {} before dimension {} of {}", name_, *last,
                         (*shape)[static_cast<std::size_t>(*last)], dimension, extent));
      return;
    }
    last = dimension;
  }
  pass_whole();
}

/// Output 0 contains all inputs along an axis, which the inputs have too unless it is new.
void CopyFinder::join(std::int64_t axis, bool is_new) {
  const auto whole = output_shape(0);
  const auto at = whole ? axis_of(axis, whole->size()) : std::nullopt;
  if (!at) return;
  std::vector<Part> parts;
  for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
    const auto shape = input_shape(i);
    if (!shape) return;
    parts.push_back({i, is_new ? with_one_at(*shape, *at) : *shape});
  }
  lay_out(Side::output, 0, parts, *at);
}

void CopyFinder::concatenate(std::int64_t axis) { join(axis, false); }

void CopyFinder::stack(std::int64_t axis) { join(axis, true); }

/// The outputs divide an input along an axis, which they have too unless they lack it.
void CopyFinder::part(std::size_t input, std::int64_t axis, const std::optional<Shape>& sizes,
                      bool is_lacking) {
  const auto whole = input_shape(input);
  const auto at = whole ? axis_of(axis, whole->size()) : std::nullopt;
  if (!at) return;
  if (sizes && sizes->size() != op_.outputs.size()) {
    refuse(fmt::format("{} into {} parts but {} outputs", name_, sizes->size(), op_.outputs.size()));
    return;
  }
  std::vector<Part> parts;
  for (std::size_t o = 0; o < op_.outputs.size(); ++o) {
    if (!op_.outputs[o] && sizes) {
      parts.push_back({std::nullopt, *whole});
      parts.back().shape[*at] = (*sizes)[o];
      continue;
    }
    const auto shape = output_shape(o);
    if (!shape) return;
    parts.push_back({o, is_lacking ? with_one_at(*shape, *at) : *shape});
    const Shape& own = parts.back().shape;
    if (sizes && *at < own.size() && own[*at] != (*sizes)[o]) {
      refuse(fmt::format("output {} is {} on axis {}, {} by the sizes given", o, own[*at], *at, (*sizes)[o]));
      return;
    }
  }
  lay_out(Side::input, input, parts, *at);
}

void CopyFinder::split(std::size_t input, std::int64_t axis, const std::optional<Shape>& sizes) {
  part(input, axis, sizes, false);
}

void CopyFinder::unstack(std::int64_t axis) { part(0, axis, Shape(op_.outputs.size(), 1), true); }

void CopyFinder::take(const Region& region) {
  const auto whole = input_shape(0);
  if (!whole || !output_shape(0)) return;
  if (is_inside(*whole, region)) {
    add(Side::input, 0, 0, region);
  } else {
    refuse(fmt::format("{} of [{}] at [{}] from [{}]", name_, fmt::join(region.extent, ","),
                       fmt::join(region.start, ","), fmt::join(*whole, ",")));
  }
}

void CopyFinder::take_index(std::int64_t axis, std::int64_t index) {
  const auto whole = input_shape(0);
  const auto at = whole ? axis_of(axis, whole->size()) : std::nullopt;
  if (!at) return;
  Region region{.start = Shape(whole->size(), 0), .extent = *whole};
  region.start[*at] = index;
  region.extent[*at] = 1;
  take(region);
}

/// Lays the parts one after the other along an axis of the whole, an input or an output. They must fill it.
void CopyFinder::lay_out(Side side, std::size_t whole, const std::vector<Part>& parts, std::size_t axis) {
  const Shape& shape = *operand(side, whole)->shape;
  const Side other = side == Side::input ? Side::output : Side::input;
  Region region{.start = Shape(shape.size(), 0), .extent = shape};
  std::vector<Region> regions;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    region.extent = shape;
    if (parts[p].shape.size() == shape.size()) region.extent[axis] = parts[p].shape[axis];
    if (parts[p].shape != region.extent || !is_inside(shape, region)) {
      refuse(fmt::format("{} of [{}] does not fit at {} on axis {} of [{}]", describe_operand(other, p),
                         fmt::join(parts[p].shape, ","), region.start[axis], axis, fmt::join(shape, ",")));
      return;
    }
    regions.push_back(region);
    region.start[axis] += region.extent[axis];
  }
  if (region.start[axis] != shape[axis]) {
    refuse(fmt::format("{} of parts that are {} on axis {}, which is {}", name_, region.start[axis], axis,
                       shape[axis]));
    return;
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].operand) add(side, whole, *parts[p].operand, regions[p]);
  }
}

/// One operand is a region of the other, the whole; `side` is the side of the whole.
void CopyFinder::add(Side side, std::size_t whole, std::size_t part, const Region& region) {
  const Side other = side == Side::input ? Side::output : Side::input;
  const Tensor& tensor = *operand(side, whole);
  if (std::ranges::find(region.extent, 0) != region.extent.end()) return;
  if (const auto at = break_of(*tensor.shape, region)) {
    note(fmt::format("{} on axis {} behind dimension {} of {}", name_, at->first, at->second,
                     region.extent[at->second]));
    return;
  }
  const std::int64_t bits = *bits_of(tensor.dtype);
  const auto [offset, count] = elements_of(*tensor.shape, region);
  const bool is_on_bytes = offset * bits % bits_per_byte == 0 && count * bits % bits_per_byte == 0;
  if (!is_on_bytes && region.extent != *tensor.shape) {
    note(fmt::format("{} of {} elements of {} bits at {}: not on whole bytes", name_, count, bits, offset));
    return;
  }
  const Bytes begin = offset * bits / bits_per_byte;
  const Bytes size = (count * bits + bits_per_byte - 1) / bits_per_byte;
  if (size != operand(other, part)->bytes) {
    note(fmt::format("{} of {} bytes, but {} has {}", name_, size, describe_operand(other, part),
                     operand(other, part)->bytes));
    return;
  }
  add_run(side == Side::input ? ByteCopy{.input = whole, .output = part, .from = begin, .size = size}
                              : ByteCopy{.input = part, .output = whole, .to = begin, .size = size});
}

/// Adds a run of bytes that both tensors contain, unless its meaning differs between them.
void CopyFinder::add_run(const ByteCopy& copy) {
  if (copy.size == 0) return;
  const DType from = operand(Side::input, copy.input)->dtype;
  const DType to = operand(Side::output, copy.output)->dtype;
  std::string why;
  if (from != to) {
    why = fmt::format("input {} has elements of type {}, {} of {}", copy.input, name_of(from),
                      describe_operand(Side::output, copy.output), name_of(to));
  } else if (objection_) {
    why = objection_(copy.input, copy.output);
  }
  if (!why.empty()) {
    note(why);
    return;
  }
  op_.copies.push_back(copy);
  op_.must_copy.clear();
}

}  // namespace stowage::operators
