#include "open_values.h"

#include <algorithm>

#include "open_moves.h"
#include "random.h"

namespace stowage::campaign {
namespace {

Made known(const Shape& shape, std::vector<std::int64_t> numbers, World& world) {
  Made made = computed(Elements::whole, shape, world);
  made.value.numbers = std::move(numbers);
  return made;
}

Made binary(const OpenNode& node, const OpenInputs& inputs, World& world) {
  const OpenValue& one = *inputs[0];
  const OpenValue& other = *inputs[1];
  want(one.elements == other.elements, "other elements");
  const Shape shape = broadcast(one.shape, other.shape);
  const bool is_test = node.type == "Greater" || node.type == "Less";
  Made made = computed(is_test ? Elements::truth : one.elements, shape, world);
  if (!one.numbers || !other.numbers || elements_of(shape) > 64) return made;
  std::vector<std::int64_t> numbers;
  for_each_index(shape, [&](const OpenIndex& index) {
    const std::int64_t a = (*one.numbers)[broadcast_from(one.shape, shape, index)];
    const std::int64_t b = (*other.numbers)[broadcast_from(other.shape, shape, index)];
    numbers.push_back(node.type == "Add"       ? a + b
                      : node.type == "Sub"     ? a - b
                      : node.type == "Mul"     ? a * b
                      : node.type == "Less"    ? a < b
                      : node.type == "Greater" ? a > b
                                               : std::max(a, b));
  });
  made.value.numbers = numbers;
  return made;
}

/// A cast keeps known numbers; they are small.
Made unary(const OpenNode& node, const OpenValue& data, World& world) {
  const bool is_cast = node.type == "Cast";
  Made made = computed(is_cast ? Elements::real : data.elements, data.shape, world);
  if (is_cast) made.value.numbers = data.numbers;
  return made;
}

Made zeros(const Shape& shape, World& world) {
  Made made = computed(Elements::real, shape, world);
  made.value.numbers = std::vector<std::int64_t>(made.value.names.size(), 0);
  return made;
}

std::int64_t different_in(std::vector<std::int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  return std::unique(numbers.begin(), numbers.end()) - numbers.begin();
}

Made renamed(const OpenValue& data, const Shape& shape, const OpenInputs& inputs, World& world) {
  want(elements_of(shape) == elements_of(data.shape), "another number of elements");
  std::size_t next = 0;
  return moved(
      data.elements, shape, inputs,
      [&](const OpenIndex&) {
        return Origin{0, next++};
      },
      world);
}

Shape reshaped(const OpenValue& data, const std::vector<std::int64_t>& wanted) {
  Shape shape = wanted;
  std::int64_t others = 1;
  std::optional<std::size_t> rest;
  for (std::size_t a = 0; a < shape.size(); ++a) {
    want(shape[a] != 0 && shape[a] >= -1, "no extent of 0");
    if (shape[a] == -1) {
      want(!rest, "two free extents");
      rest = a;
    } else {
      others *= shape[a];
    }
  }
  if (rest) {
    want(elements_of(data.shape) % others == 0, "does not divide");
    shape[*rest] = elements_of(data.shape) / others;
  }
  return shape;
}

std::vector<Made> topk(const OpenNode& node, const OpenInputs& inputs, World& world) {
  const OpenValue& data = *inputs[0];
  const std::size_t axis = axis_of(node.numbers[0], data.shape.size());
  const std::int64_t k = numbers_of(*inputs[1]).at(0);
  want(k >= 0 && k <= data.shape[axis], "k is beyond the axis");
  Shape shape = data.shape;
  shape[axis] = k;
  return {computed(data.elements, shape, world), computed(Elements::whole, shape, world)};
}

Made range(const OpenInputs& inputs, World& world) {
  const std::int64_t start = numbers_of(*inputs[0]).at(0);
  const std::int64_t limit = numbers_of(*inputs[1]).at(0);
  const std::int64_t delta = numbers_of(*inputs[2]).at(0);
  want(delta > 0 && limit - start <= 64 * delta, "a long range");
  std::vector<std::int64_t> numbers;
  for (std::int64_t number = start; number < limit; number += delta) numbers.push_back(number);
  return known({static_cast<std::int64_t>(numbers.size())}, numbers, world);
}

Shape with_ones(const OpenNode& node, const Shape& from) {
  Shape shape = from;
  const std::size_t rank = from.size() + node.numbers.size();
  std::vector<std::size_t> axes;
  for (const std::int64_t axis : node.numbers) axes.push_back(axis_of(axis, rank));
  std::sort(axes.begin(), axes.end());
  for (const std::size_t axis : axes) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return shape;
}

Shape without_ones(const OpenNode& node, const Shape& from) {
  std::vector<bool> is_gone(from.size());
  for (const std::int64_t axis : node.numbers) {
    want(from[axis_of(axis, from.size())] == 1, "not 1");
    is_gone[axis_of(axis, from.size())] = true;
  }
  Shape shape;
  for (std::size_t a = 0; a < from.size(); ++a)
    if (!is_gone[a]) shape.push_back(from[a]);
  return shape;
}

Made reduce(const OpenNode& node, const OpenInputs& inputs, World& world) {
  Shape shape = inputs[0]->shape;
  const std::size_t axis = axis_of(node.numbers[0], shape.size());
  want(shape[axis] > 0, "nothing to reduce");
  shape[axis] = 1;
  if (node.numbers[1] == 0) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
  return computed(inputs[0]->elements, shape, world);
}

}  // namespace

std::int64_t elements_of(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::int64_t World::decide(const std::string& name, std::int64_t least, std::int64_t most) const {
  if (is_largest_ || most <= least) return std::max(least, most);
  std::uint64_t seed = seed_;
  for (const char letter : name) seed = seed * 31 + static_cast<unsigned char>(letter);
  for (const std::int64_t round : rounds) seed = seed * 1009 + static_cast<std::uint64_t>(round) + 1;
  Random random(seed);
  if (random.chance(15)) return most;
  if (random.chance(15)) return least;
  return random.between(least, most);
}

void World::record(const std::string& name, const Shape& shape) {
  const auto [it, is_new] = largest.emplace(name, shape);
  std::vector<bool>& varies = varying[name];
  varies.resize(shape.size());
  if (is_new) return;
  want(it->second.size() == shape.size(), "another rank");
  for (std::size_t a = 0; a < shape.size(); ++a) {
    if (it->second[a] != shape[a]) varies[a] = true;
    it->second[a] = std::max(it->second[a], shape[a]);
  }
}

std::vector<Made> evaluate(const OpenNode& node, const OpenInputs& inputs, World& world) {
  const OpenValue& data = *inputs.at(0);
  const Shape& shape = data.shape;
  switch (node.kind) {
    case OpenKind::unary:
      if (node.type == "Identity") return {renamed(data, shape, inputs, world)};
      return {unary(node, data, world)};
    case OpenKind::rows:
      return {computed(data.elements, shape, world)};
    case OpenKind::binary:
      return {binary(node, inputs, world)};
    case OpenKind::concat:
      return {concat(node, inputs, world)};
    case OpenKind::split:
      return split(node, inputs, world);
    case OpenKind::slice:
      return {slice(node, inputs, world)};
    case OpenKind::gather:
      return {gather(node, inputs, world)};
    case OpenKind::reshape:
      return {renamed(data, reshaped(data, numbers_of(*inputs.at(1))), inputs, world)};
    case OpenKind::transpose:
      return {transpose(node, inputs, world)};
    case OpenKind::squeeze:
      return {renamed(data, without_ones(node, shape), inputs, world)};
    case OpenKind::unsqueeze:
      return {renamed(data, with_ones(node, shape), inputs, world)};
    case OpenKind::flatten: {
      const auto axis = shape.begin() + node.numbers[0];
      return {renamed(data, {elements_of({shape.begin(), axis}), elements_of({axis, shape.end()})}, inputs,
                      world)};
    }
    case OpenKind::shape:
      return {known({static_cast<std::int64_t>(shape.size())}, shape, world)};
    case OpenKind::nonzero: {
      const std::int64_t count = data.numbers ? std::count_if(data.numbers->begin(), data.numbers->end(),
                                                              [](auto it) { return it != 0; })
                                              : world.decide(node.outputs[0], 0, elements_of(shape));
      const auto rank = static_cast<std::int64_t>(shape.size());
      const bool is_turned = node.type == "Where";
      if (is_turned) return {computed(Elements::wide, {count, rank}, world)};
      return {computed(Elements::whole, {rank, count}, world)};
    }
    case OpenKind::compress:
      return {compress(node, inputs, world)};
    case OpenKind::unique:
      want(elements_of(shape) > 0, "nothing to choose from");
      return {computed(data.elements,
                       {data.numbers ? different_in(*data.numbers)
                                     : world.decide(node.outputs[0], 1, elements_of(shape))},
                       world),
              computed(Elements::whole, {elements_of(shape)}, world)};
    case OpenKind::topk:
      return topk(node, inputs, world);
    case OpenKind::range:
      return {range(inputs, world)};
    case OpenKind::expand:
      return {expand(inputs, world)};
    case OpenKind::pad:
      return {pad(inputs, world)};
    case OpenKind::tile:
      return {tile(inputs, world)};
    case OpenKind::fill:
      return {zeros(numbers_of(data), world)};
    case OpenKind::reduce:
      return {reduce(node, inputs, world)};
    case OpenKind::multiply: {
      want(!shape.empty() && shape.back() == inputs.at(1)->shape[0], "other matrix");
      Shape product = shape;
      product.back() = inputs[1]->shape[1];
      return {computed(data.elements, product, world)};
    }
    case OpenKind::branch:
    case OpenKind::loop:
    case OpenKind::scan:
    case OpenKind::repeat:
      break;
  }
  throw Misfit("has bodies");
}

}  // namespace stowage::campaign