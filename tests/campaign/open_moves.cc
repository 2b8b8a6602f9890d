#include "open_moves.h"

#include <algorithm>

namespace stowage::campaign {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::size_t flat(const Shape& shape, const OpenIndex& index) {
  std::int64_t place = 0;
  for (std::size_t a = 0; a < shape.size(); ++a) place = place * shape[a] + index[a];
  return at(place);
}

}  // namespace

void want(bool is_right, const char* what) {
  if (!is_right) throw Misfit(what);
}

const std::vector<std::int64_t>& numbers_of(const OpenValue& value) {
  want(value.numbers.has_value(), "a size is not known");
  return *value.numbers;
}

std::size_t axis_of(std::int64_t axis, std::size_t rank) {
  const auto whole = static_cast<std::int64_t>(rank);
  want(axis >= -whole && axis < whole, "no such axis");
  return at(axis < 0 ? axis + whole : axis);
}

/// The tensor whose elements come from where `source` says.
Made moved(Elements elements, const Shape& shape, const OpenInputs& inputs,
           const std::function<Origin(const OpenIndex&)>& source, World& world) {
  for (const std::int64_t extent : shape) want(extent >= 0, "negative extent");
  want(elements_of(shape) <= most_elements, "too large");
  Made made{.value = {.elements = elements, .shape = shape}};
  std::vector<std::int64_t> numbers;
  bool is_known = elements == Elements::whole && elements_of(shape) <= 64;
  for_each_index(shape, [&](const OpenIndex& index) {
    const Origin origin = source(index);
    made.sources.push_back(origin);
    if (!origin.input) {
      made.value.names.push_back(world.fresh());
      is_known = false;
      return;
    }
    const OpenValue& from = *inputs[*origin.input];
    want(origin.element < from.names.size(), "beyond the end");
    made.value.names.push_back(from.names[origin.element]);
    is_known = is_known && from.numbers.has_value();
    if (is_known) numbers.push_back((*from.numbers)[origin.element]);
  });
  if (is_known) made.value.numbers = numbers;
  return made;
}

Made computed(Elements elements, const Shape& shape, World& world) {
  return moved(
      elements, shape, {}, [](const OpenIndex&) { return Origin(); }, world);
}

Shape broadcast(const Shape& one, const Shape& other) {
  const std::size_t rank = std::max(one.size(), other.size());
  Shape shape(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t a = i < one.size() ? one[one.size() - 1 - i] : 1;
    const std::int64_t b = i < other.size() ? other[other.size() - 1 - i] : 1;
    want(a == b || a == 1 || b == 1, "cannot be broadcast");
    shape[rank - 1 - i] = a == 1 ? b : a;
  }
  return shape;
}

std::size_t broadcast_from(const Shape& from, const Shape& to, const OpenIndex& index) {
  OpenIndex own(from.size());
  for (std::size_t a = 0; a < from.size(); ++a)
    own[a] = from[a] == 1 ? 0 : index[a + to.size() - from.size()];
  return flat(from, own);
}

std::vector<Made> split(const OpenNode& node, const OpenInputs& inputs, World& world) {
  const OpenValue& data = *inputs[0];
  const std::size_t axis = axis_of(node.numbers[0], data.shape.size());
  const std::size_t count = node.outputs.size();
  std::vector<std::int64_t> extents(node.numbers.begin() + 1, node.numbers.end());
  if (inputs.size() > 1) extents = numbers_of(*inputs[1]);
  if (extents.empty()) {
    const auto parts = static_cast<std::int64_t>(count);
    want(data.shape[axis] % parts == 0, "cannot be split");
    extents.assign(count, data.shape[axis] / parts);
  }
  std::vector<Made> made;
  std::int64_t begin = 0;
  for (const std::int64_t extent : extents) {
    Shape shape = data.shape;
    shape[axis] = extent;
    made.push_back(moved(
        data.elements, shape, inputs,
        [&](OpenIndex index) {
          index[axis] += begin;
          return Origin{0, flat(data.shape, index)};
        },
        world));
    begin += extent;
  }
  want(begin == data.shape[axis] && made.size() == count, "parts do not add up");
  return made;
}

Made concat(const OpenNode& node, const OpenInputs& inputs, World& world) {
  Shape shape = inputs[0]->shape;
  const std::size_t axis = axis_of(node.numbers[0], shape.size());
  shape[axis] = 0;
  for (const OpenValue* input : inputs) {
    want(input->shape.size() == shape.size() && input->elements == inputs[0]->elements, "other rank");
    for (std::size_t a = 0; a < shape.size(); ++a)
      want(a == axis || input->shape[a] == shape[a], "other extent");
    shape[axis] += input->shape[axis];
  }
  return moved(
      inputs[0]->elements, shape, inputs,
      [&](OpenIndex index) {
        std::size_t input = 0;
        while (index[axis] >= inputs[input]->shape[axis]) index[axis] -= inputs[input++]->shape[axis];
        return Origin{input, flat(inputs[input]->shape, index)};
      },
      world);
}

Made slice(const OpenNode& node, const OpenInputs& inputs, World& world) {
  const OpenValue& data = *inputs[0];
  const std::vector<std::int64_t>& starts = numbers_of(*inputs[1]);
  const std::vector<std::int64_t>& ends = numbers_of(*inputs[2]);
  const std::size_t count = node.numbers.size() / 2;
  want(starts.size() == count && ends.size() == count, "as many starts as axes");
  Shape shape = data.shape;
  OpenIndex begins(shape.size(), 0);
  OpenIndex steps(shape.size(), 1);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t axis = axis_of(node.numbers[i], shape.size());
    const std::int64_t step = node.numbers[count + i];
    const std::int64_t extent = data.shape[axis];
    const auto place = [&](std::int64_t number) {
      return std::clamp<std::int64_t>(number < 0 ? number + extent : number, 0, extent);
    };
    begins[axis] = place(starts[i]);
    steps[axis] = step;
    shape[axis] = std::max<std::int64_t>(0, (place(ends[i]) - begins[axis] + step - 1) / step);
  }
  return moved(
      data.elements, shape, inputs,
      [&](OpenIndex index) {
        for (std::size_t a = 0; a < index.size(); ++a) index[a] = begins[a] + index[a] * steps[a];
        return Origin{0, flat(data.shape, index)};
      },
      world);
}

Made gather(const OpenNode& node, const OpenInputs& inputs, World& world) {
  const OpenValue& data = *inputs[0];
  const OpenValue& indices = *inputs[1];
  const std::size_t axis = axis_of(node.numbers[0], data.shape.size());
  Shape shape = data.shape;
  shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), indices.shape.begin(), indices.shape.end());
  if (!indices.numbers) return computed(data.elements, shape, world);
  return moved(
      data.elements, shape, inputs,
      [&](const OpenIndex& index) {
        const auto begin = index.begin() + static_cast<std::ptrdiff_t>(axis);
        const auto end = begin + static_cast<std::ptrdiff_t>(indices.shape.size());
        const std::int64_t number = (*indices.numbers)[flat(indices.shape, OpenIndex(begin, end))];
        OpenIndex from(index.begin(), begin);
        from.push_back(number < 0 ? number + data.shape[axis] : number);
        from.insert(from.end(), end, index.end());
        want(from[axis] >= 0 && from[axis] < data.shape[axis], "index beyond the end");
        return Origin{0, flat(data.shape, from)};
      },
      world);
}

/// The same elements in the same order.
Made pad(const OpenInputs& inputs, World& world) {
  const OpenValue& data = *inputs[0];
  const std::vector<std::int64_t>& pads = numbers_of(*inputs[1]);
  const std::size_t rank = data.shape.size();
  want(pads.size() == 2 * rank, "two pads for each axis");
  const bool is_paired = inputs[1]->shape.size() == 2;
  Shape shape = data.shape;
  OpenIndex before(rank);
  for (std::size_t a = 0; a < rank; ++a) {
    before[a] = pads[is_paired ? 2 * a : a];
    const std::int64_t behind = pads[is_paired ? 2 * a + 1 : a + rank];
    want(before[a] >= 0 && behind >= 0, "negative pads");
    shape[a] += before[a] + behind;
  }
  return moved(
      data.elements, shape, inputs,
      [&](OpenIndex index) {
        for (std::size_t a = 0; a < rank; ++a) {
          index[a] -= before[a];
          if (index[a] < 0 || index[a] >= data.shape[a]) return Origin();
        }
        return Origin{0, flat(data.shape, index)};
      },
      world);
}

Made compress(const OpenNode& node, const OpenInputs& inputs, World& world) {
  const OpenValue& data = *inputs[0];
  const std::size_t axis = axis_of(node.numbers[0], data.shape.size());
  want(inputs[1]->shape.size() == 1 && inputs[1]->shape[0] <= data.shape[axis], "condition is too long");
  const std::int64_t most = inputs[1]->shape[0];
  const std::int64_t count = world.decide(node.outputs[0], 0, most);
  const std::int64_t skipped = world.decide(node.outputs[0] + "#", 0, most - count);
  Shape shape = data.shape;
  shape[axis] = count;
  return moved(
      data.elements, shape, inputs,
      [&](OpenIndex index) {
        index[axis] += most == count ? 0 : skipped;
        return Origin{0, flat(data.shape, index)};
      },
      world);
}

Made transpose(const OpenNode& node, const OpenInputs& inputs, World& world) {
  const OpenValue& data = *inputs[0];
  want(node.numbers.size() == data.shape.size(), "other rank");
  Shape shape(data.shape.size());
  for (std::size_t a = 0; a < shape.size(); ++a) shape[a] = data.shape[at(node.numbers[a])];
  return moved(
      data.elements, shape, inputs,
      [&](const OpenIndex& index) {
        OpenIndex from(index.size());
        for (std::size_t a = 0; a < index.size(); ++a) from[at(node.numbers[a])] = index[a];
        return Origin{0, flat(data.shape, from)};
      },
      world);
}

Made tile(const OpenInputs& inputs, World& world) {
  const OpenValue& data = *inputs[0];
  const std::vector<std::int64_t>& repeats = numbers_of(*inputs[1]);
  want(repeats.size() == data.shape.size(), "other rank");
  Shape shape = data.shape;
  for (std::size_t a = 0; a < shape.size(); ++a) shape[a] *= repeats[a];
  return moved(
      data.elements, shape, inputs,
      [&](OpenIndex index) {
        for (std::size_t a = 0; a < index.size(); ++a) index[a] %= data.shape[a];
        return Origin{0, flat(data.shape, index)};
      },
      world);
}

Made expand(const OpenInputs& inputs, World& world) {
  const OpenValue& data = *inputs[0];
  const Shape to = broadcast(data.shape, numbers_of(*inputs.at(1)));
  return moved(
      data.elements, to, inputs,
      [&](const OpenIndex& index) {
        return Origin{0, broadcast_from(data.shape, to, index)};
      },
      world);
}

}  // namespace stowage::campaign
