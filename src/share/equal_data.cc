// Idea. Layers that several models have in common (a shared backbone, the same network twice) are found by
// their bytes alone, since names and places differ from file to file. Constants of one kind and size are told
// apart by a hash of their bytes; those with one hash are compared byte for byte with the first of each
// class, so that a collision costs a comparison and never merges different data.
//
// Cost: sizes first, since most are unlike all others and then no byte is read; else each byte is read once
// for the hash and once for the comparison. Data that is the same bytes of one mapped file is not compared.

#include "share/equal_data.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <variant>

#include "base/checked.h"
#include "stowage/error.h"

namespace stowage::share {
namespace {

using Class = std::vector<ConstantRef>;

const Tensor& tensor_of(std::span<const Input> inputs, const ConstantRef& ref) {
  return std::get<Graph>(inputs[ref.model].content).tensors[ref.tensor];
}

std::span<const std::byte> data_of(std::span<const Input> inputs, const ConstantRef& ref) {
  return inputs[ref.model].constants.of(ref.tensor);
}

bool is_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.data() == b.data() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// All that can be in a class, in order.
std::vector<ConstantRef> constants_of(std::span<const Input> inputs) {
  std::vector<ConstantRef> constants;
  for (std::size_t m = 0; m < inputs.size(); ++m) {
    const Graph* const graph = std::get_if<Graph>(&inputs[m].content);
    for (TensorId t = 0; graph != nullptr && t < graph->tensors.size(); ++t) {
      const Tensor& tensor = graph->tensors[t];
      if (is_constant(tensor.kind) && tensor.bytes > 0) constants.push_back({m, t});
    }
  }
  return constants;
}

}  // namespace

std::uint64_t xxh3(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

EqualData equal_data(std::span<const Input> inputs, DataHash hash) {
  const std::vector<ConstantRef> constants = constants_of(inputs);
  const auto size_of = [&](const ConstantRef& ref) {
    return std::pair(tensor_of(inputs, ref).kind, data_of(inputs, ref).size());
  };
  std::map<std::pair<TensorKind, std::size_t>, std::size_t> counts;
  for (const ConstantRef& ref : constants) ++counts[size_of(ref)];
  EqualData classes;
  std::map<std::tuple<TensorKind, std::size_t, std::uint64_t>, std::vector<std::size_t>> known;  // classes
  for (const ConstantRef& ref : constants) {
    const auto [kind, size] = size_of(ref);
    if (size == 0 || counts[{kind, size}] == 1) {
      classes.push_back({ref});
      continue;
    }
    const std::span<const std::byte> data = data_of(inputs, ref);
    std::vector<std::size_t>& candidates = known[{kind, size, hash(data)}];
    const auto same = std::ranges::find_if(candidates, [&](std::size_t candidate) {
      return is_equal(data, data_of(inputs, classes[candidate].front()));
    });
    if (same != candidates.end()) {
      classes[*same].push_back(ref);
    } else {
      candidates.push_back(classes.size());
      classes.push_back({ref});
    }
  }
  return classes;
}

Saving saving_of(const EqualData& classes, std::span<const Input> inputs, TensorKind kind) {
  Saving saving;
  for (const Class& members : classes) {
    const Tensor& tensor = tensor_of(inputs, members.front());
    if (tensor.kind != kind) continue;
    const auto all = base::checked_multiply(tensor.bytes, static_cast<Bytes>(members.size()));
    const auto sum = all ? base::checked_add(saving.separate, *all) : std::nullopt;
    if (!sum || *sum > largest_value)
      throw Error("", fmt::format("the data of kind {} of all models overflows, expected at most {} bytes",
                                  name_of(kind), largest_value));
    saving.separate = *sum;
    saving.shared += tensor.bytes;  // at most the same
  }
  return saving;
}

}  // namespace stowage::share
