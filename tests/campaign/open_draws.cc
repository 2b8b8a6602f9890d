#include <algorithm>
#include <limits>
#include <numeric>

#include "open_draft.h"

namespace stowage::campaign {

void OpenDraft::activate() {
  static const std::vector<std::string> types{"Relu", "Sigmoid", "Tanh", "Neg", "Exp", "Relu"};
  const Elements number = is_onnx() ? Elements::whole : Elements::wide;
  if (const auto from = pick(number, 1); from && random_.chance(40)) {
    const std::string made = fresh();
    attempt({{.type = "Cast", .inputs = {*from}, .outputs = {made}}}, {made});
    return;
  }
  const auto from = pick(Elements::real);
  if (!from) return;
  const std::string made = fresh();
  if (random_.chance(10) && !at(*from).shape.empty()) {
    attempt({{.kind = OpenKind::rows, .type = "Softmax", .inputs = {*from}, .outputs = {made}}}, {made});
    return;
  }
  attempt({{.type = is_onnx() && random_.chance(10) ? "Identity" : random_.pick(types),
            .inputs = {*from},
            .outputs = {made}}},
          {made});
}

void OpenDraft::combine() {
  static const std::vector<std::string> types{"Add", "Mul", "Sub", "Max"};
  for (int tries = 0; tries < 6; ++tries) {
    const auto one = pick(Elements::real);
    const auto other = pick(Elements::real);
    if (!one || !other) return;
    const std::string made = fresh();
    if (attempt({{.kind = OpenKind::binary,
                  .type = random_.pick(types),
                  .inputs = {*one, *other},
                  .outputs = {made}}},
                {made}))
      return;
  }
}

void OpenDraft::join() {
  for (int tries = 0; tries < 8; ++tries) {
    const auto one = pick(!random_.chance(20) ? Elements::real
                          : is_onnx()         ? Elements::whole
                                              : Elements::wide,
                          1);
    if (!one) continue;
    const std::int64_t axis = axis_of(*one);
    std::vector<std::string> inputs{*one};
    for (std::int64_t more = random_.between(1, 2); more > 0; --more)
      if (const auto other = pick(at(*one).elements, 1);
          other && at(*other).shape.size() == at(*one).shape.size())
        inputs.push_back(*other);
    if (inputs.size() < 2) continue;
    const std::string made = fresh();
    if (attempt({{.kind = OpenKind::concat, .inputs = inputs, .outputs = {made}, .numbers = {axis}}}, {made}))
      return;
  }
}

void OpenDraft::part() {
  for (int tries = 0; tries < 5; ++tries) {
    const auto from = pick(Elements::real, 1);
    if (!from) return;
    const std::int64_t axis = axis_of(*from);
    const std::int64_t most = at(*from).shape[static_cast<std::size_t>(axis)];
    const std::vector<std::string> made{fresh(), fresh()};
    if (random_.chance(40)) {
      if (attempt({{.kind = OpenKind::split, .inputs = {*from}, .outputs = made, .numbers = {axis}}}, made))
        return;
      continue;
    }
    if (!is_onnx() || most < 2) continue;
    const std::int64_t first = random_.between(1, std::max<std::int64_t>(1, least_extent(*from, axis)));
    Nodes nodes;
    if (random_.chance(30)) {
      if (attempt({{.kind = OpenKind::split,
                    .inputs = {*from},
                    .outputs = made,
                    .numbers = {axis, first, most - first}}},
                  made))
        return;
      continue;
    }
    // The rest: sizes that the network computes.
    const std::string extent = extent_nodes(nodes, *from, axis);
    const std::string rest = fresh();
    const std::string sizes = fresh();
    const std::string begin = constant({first});
    nodes.push_back({.kind = OpenKind::binary, .type = "Sub", .inputs = {extent, begin}, .outputs = {rest}});
    nodes.push_back({.kind = OpenKind::concat, .inputs = {begin, rest}, .outputs = {sizes}, .numbers = {0}});
    nodes.push_back({.kind = OpenKind::split, .inputs = {*from, sizes}, .outputs = made, .numbers = {axis}});
    if (attempt(nodes, made)) return;
  }
}

void OpenDraft::cut() {
  for (int tries = 0; tries < 5; ++tries) {
    const auto from = pick(Elements::real, 1);
    if (!from) return;
    const auto rank = static_cast<std::int64_t>(at(*from).shape.size());
    const std::int64_t axis = axis_of(*from);
    const std::int64_t least = least_extent(*from, axis);
    const std::int64_t step = random_.chance(20) ? 2 : 1;
    const std::int64_t far = is_onnx() && random_.chance(60) ? std::numeric_limits<std::int64_t>::max()
                                                             : std::numeric_limits<std::int32_t>::max();
    const std::int64_t begin =
        random_.chance(50) ? 0 : random_.between(-2, std::max<std::int64_t>(0, least - 1));
    const std::int64_t end = random_.pick(Numbers{far, far, -1, std::max<std::int64_t>(1, least), -2});
    const std::string made = fresh();
    Numbers axes{axis}, begins{begin}, ends{end}, steps{step};
    if (!is_onnx() || random_.chance(15)) {  // All axes.
      axes.resize(static_cast<std::size_t>(rank));
      std::iota(axes.begin(), axes.end(), 0);
      begins.assign(axes.size(), 0);
      ends.assign(axes.size(), far);
      steps.assign(axes.size(), 1);
      begins[static_cast<std::size_t>(axis)] = begin;
      ends[static_cast<std::size_t>(axis)] = end;
      steps[static_cast<std::size_t>(axis)] = step;
    }
    Numbers numbers = axes;
    numbers.insert(numbers.end(), steps.begin(), steps.end());
    Nodes nodes;
    std::string until = constant(ends);
    if (axes.size() == 1 && random_.chance(35))
      if (const auto other = pick(Elements::real, 1)) until = extent_nodes(nodes, *other, axis_of(*other));
    nodes.push_back({.kind = OpenKind::slice,
                     .inputs = {*from, constant(begins), until},
                     .outputs = {made},
                     .numbers = numbers});
    if (attempt(nodes, {made})) return;
  }
}

void OpenDraft::pick_rows() {
  const auto from = pick(Elements::real, 1);
  if (!from) return;
  const std::int64_t axis = axis_of(*from);
  const std::int64_t least = std::max<std::int64_t>(1, least_extent(*from, axis));
  const bool is_single = random_.chance(50);
  Numbers indices{is_onnx() && random_.chance(30) ? -1 : random_.between(0, least - 1)};
  if (!is_single && random_.chance(50)) indices.push_back(random_.between(0, least - 1));
  const std::string made = fresh();
  attempt({{.kind = OpenKind::gather,
            .inputs = {*from, constant(indices, is_single)},
            .outputs = {made},
            .numbers = {axis}}},
          {made});
}

void OpenDraft::refold() {
  for (int tries = 0; tries < 4; ++tries) {
    const auto from = pick(random_.chance(15) ? Elements::whole : Elements::real, 1);
    if (!from) continue;
    const Shape& shape = at(*from).shape;
    const std::string made = fresh();
    Nodes nodes;
    if (is_onnx() && random_.chance(15)) {
      nodes.push_back({.kind = OpenKind::flatten,
                       .inputs = {*from},
                       .outputs = {made},
                       .numbers = {static_cast<std::int64_t>(random_.index(shape.size() + 1))}});
    } else if (random_.chance(30)) {
      const std::string extent = extent_nodes(nodes, *from, axis_of(*from));
      const std::string wanted = fresh();
      const std::string rest = constant({-1});
      nodes.push_back({.kind = OpenKind::concat,
                       .inputs = random_.chance(50) ? std::vector<std::string>{extent, rest}
                                                    : std::vector<std::string>{rest, extent},
                       .outputs = {wanted},
                       .numbers = {0}});
      nodes.push_back({.kind = OpenKind::reshape, .inputs = {*from, wanted}, .outputs = {made}});
    } else {
      static const std::vector<Numbers> forms{{-1},    {-1, 1},    {1, -1},   {-1, 2},
                                              {2, -1}, {-1, 1, 2}, {1, -1, 1}};
      Numbers wanted = random_.pick(forms);
      if (random_.chance(30)) wanted = {-1, shape.back()};
      nodes.push_back({.kind = OpenKind::reshape, .inputs = {*from, constant(wanted)}, .outputs = {made}});
    }
    if (attempt(nodes, {made})) return;
  }
}

void OpenDraft::turn() {
  const auto from = pick(Elements::real, 2);
  if (!from) return;
  Numbers order(at(*from).shape.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random_.index(i)]);
  const std::string made = fresh();
  attempt({{.kind = OpenKind::transpose, .inputs = {*from}, .outputs = {made}, .numbers = order}}, {made});
}

void OpenDraft::ones() {
  const auto from = pick(Elements::real);
  if (!from || at(*from).shape.size() > 3) return;
  const std::string made = fresh();
  const auto rank = static_cast<std::int64_t>(at(*from).shape.size());
  const bool is_more = rank == 0 || !is_onnx() || random_.chance(50);
  attempt({{.kind = is_more ? OpenKind::unsqueeze : OpenKind::squeeze,
            .inputs = {*from},
            .outputs = {made},
            .numbers = {random_.between(0, is_more ? rank : rank - 1)}}},
          {made});
}

/// What data decides.
void OpenDraft::choose() {
  const auto from = pick(Elements::real, 1);
  if (!from) return;
  const std::string made = fresh();
  if (is_onnx() && random_.chance(35)) {
    // A condition of as many numbers as the first axis has at all sizes.
    std::vector<std::string> shaped;
    for (const OpenInput& input : net_.main.inputs)
      if (input.elements == Elements::real && !input.dims.empty()) shaped.push_back(input.name);
    const OpenInput like = *std::find_if(
        net_.main.inputs.begin(), net_.main.inputs.end(),
        [&, name = random_.pick(shaped)](const OpenInput& input) { return input.name == name; });
    OpenInput condition{.name = "m" + std::to_string(names_++), .elements = Elements::truth};
    condition.dims = {like.dims[0].is_named || like.dims[0].symbol.empty() ? like.dims[0]
                                                                           : OpenDim{.size = 2}};
    add_input(condition);
    attempt({{.kind = OpenKind::compress,
              .inputs = {random_.chance(70) ? like.name : *from, condition.name},
              .outputs = {made},
              .numbers = {0}}},
            {made});
    return;
  }
  if (random_.chance(40) && (is_onnx() || at(*from).shape.size() == 1)) {
    std::vector<std::string> outputs{made};
    if (!is_onnx()) outputs.push_back(fresh());
    attempt({{.kind = OpenKind::unique, .inputs = {*from}, .outputs = outputs}}, {made});
    return;
  }
  if (is_onnx()) {
    attempt({{.kind = OpenKind::nonzero, .type = "NonZero", .inputs = {*from}, .outputs = {made}}}, {made});
    return;
  }
  const std::string test = fresh();
  attempt({{.kind = OpenKind::binary, .type = "Greater", .inputs = {*from, *from}, .outputs = {test}},
           {.kind = OpenKind::nonzero, .type = "Where", .inputs = {test}, .outputs = {made}}},
          {made});
}

void OpenDraft::draw_topk() {
  const auto from = pick(Elements::real, 1);
  if (!from) return;
  const auto last = static_cast<std::int64_t>(at(*from).shape.size()) - 1;
  const std::int64_t axis = is_onnx() ? axis_of(*from) : last;
  const std::int64_t most = least_extent(*from, axis);
  if (most < 1) return;
  OpenInput k{.name = "k" + std::to_string(names_++), .elements = Elements::whole, .most = most};
  if (is_onnx()) k.dims = {{.size = 1}};
  add_input(k);
  const std::string best = fresh();
  const std::string places = fresh();
  attempt({{.kind = OpenKind::topk, .inputs = {*from, k.name}, .outputs = {best, places}, .numbers = {axis}}},
          {best, places});
}

void OpenDraft::draw_range() {
  OpenInput limit{
      .name = "l" + std::to_string(names_++), .elements = Elements::whole, .most = random_.between(2, 8)};
  add_input(limit);
  const std::string numbers = fresh();
  const std::string made = fresh();
  const auto number = [&](std::int64_t n) { return constant({n}, true); };
  attempt({{.kind = OpenKind::range,
            .inputs = {number(0), limit.name, number(random_.between(1, 2))},
            .outputs = {numbers}},
           {.type = "Cast", .inputs = {numbers}, .outputs = {made}}},
          {made});
}

/// To the shape of another tensor.
void OpenDraft::grow() {
  for (int tries = 0; tries < 5; ++tries) {
    const auto from = pick(Elements::real);
    const auto like = pick(Elements::real, 1);
    if (!from || !like) return;
    const std::string shape = fresh();
    const std::string made = fresh();
    if (attempt({{.kind = OpenKind::shape, .inputs = {*like}, .outputs = {shape}},
                 {.kind = OpenKind::expand, .inputs = {*from, shape}, .outputs = {made}}},
                {made}))
      return;
  }
}

void OpenDraft::surround() {
  const auto from = pick(Elements::real, 1);
  if (!from) return;
  const std::size_t rank = at(*from).shape.size();
  Numbers pads(2 * rank, 0);
  for (std::int64_t& number : pads)
    if (random_.chance(40)) number = random_.between(0, 2);
  const std::string made = fresh();
  const std::string given = constant(pads);
  if (!is_onnx()) net_.constants[given].shape = {static_cast<std::int64_t>(rank), 2};
  Nodes nodes;
  std::string wanted = given;
  if (is_onnx() && rank == 1 && random_.chance(50)) {
    const std::string behind = extent_nodes(nodes, *from, 0);
    wanted = fresh();
    nodes.push_back(
        {.kind = OpenKind::concat, .inputs = {constant({0}), behind}, .outputs = {wanted}, .numbers = {0}});
  }
  nodes.push_back({.kind = OpenKind::pad, .inputs = {*from, wanted}, .outputs = {made}});
  attempt(nodes, {made});
}

void OpenDraft::draw_tile() {
  const auto from = pick(Elements::real, 1);
  if (!from) return;
  Numbers repeats(at(*from).shape.size(), 1);
  repeats[random_.index(repeats.size())] = 2;
  const std::string made = fresh();
  attempt({{.kind = OpenKind::tile, .inputs = {*from, constant(repeats)}, .outputs = {made}}}, {made});
}

void OpenDraft::fill_up() {
  const auto like = pick(Elements::real, 1);
  if (!like) return;
  const std::string shape = fresh();
  const std::string made = fresh();
  attempt({{.kind = OpenKind::shape, .inputs = {*like}, .outputs = {shape}},
           {.kind = OpenKind::fill, .inputs = {shape}, .outputs = {made}}},
          {made});
}

void OpenDraft::draw_reduce() {
  const auto from = pick(Elements::real, 1);
  if (!from) return;
  const std::string made = fresh();
  attempt({{.kind = OpenKind::reduce,
            .inputs = {*from},
            .outputs = {made},
            .numbers = {axis_of(*from), is_onnx() ? random_.between(0, 1) : 0}}},
          {made});
}

void OpenDraft::draw_multiply() {
  const auto from = pick(Elements::real, 2);
  if (!from || !is_onnx()) return;
  const std::string made = fresh();
  const std::int64_t columns = random_.between(1, 4);
  attempt({{.kind = OpenKind::multiply,
            .inputs = {*from, matrix(at(*from).shape.back(), columns)},
            .outputs = {made}}},
          {made});
}

}  // namespace stowage::campaign
