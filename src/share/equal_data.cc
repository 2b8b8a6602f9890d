// Layers that several models share (a common backbone, the same network twice) are found by content
// alone, since names and places differ from file to file. Constants with known bytes, of one kind and size,
// are distinguished by a hash of their bytes. Those with equal hashes are compared byte for byte with the
// first of each class, so a collision costs a comparison and never merges different data. Bytes that repeat a
// short prefix are compared by that prefix, whether a file stores all of them or only says so. Results of
// folded operators are compared by their recipes: equal if one operation is applied to members of the same
// classes.
//
//     model 0   w1 = [1 2 3 4]   s = Transpose(w1)         w1 and v: class 0
//     model 1   v  = [1 2 3 4]   r = Transpose(v)          s and r: class 1
//
// Cost: sizes are compared first; most are unique, and then no byte is read. Otherwise each byte is read once
// for the hash and once for the comparison. Data at the same bytes of one mapped file is not compared.

#include "share/equal_data.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL  // no library
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
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

/// The shortest prefix that the bytes repeat; none if it would be long, or as long as the bytes.
std::span<const std::byte> period_of(std::span<const std::byte> bytes) {
  constexpr std::size_t longest = 16;  // the largest elements
  std::span<const std::byte> found;
  for (std::size_t size = longest; size > 0; size /= 2) {
    if (size >= bytes.size()) continue;
    if (std::memcmp(bytes.data(), bytes.data() + size, bytes.size() - size) != 0) break;
    found = bytes.first(size);
  }
  return found;
}

bool is_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.data() == b.data() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

/// All constants that can be in a class, in order.
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

/// Gives equal constants the same number.
class Classifier {
 public:
  Classifier(std::span<const Input> inputs, DataHash hash)
      : inputs_(inputs), hash_(hash), constants_(constants_of(inputs)), numbers_(inputs.size()) {
    for (const ConstantRef& ref : constants_) numbers_[ref.model].resize(ref.tensor + 1);
  }

  EqualData classify() {
    for (const ConstantRef& ref : constants_) ++counts_[{tensor_of(inputs_, ref).kind, size_of(ref)}];
    for (const ConstantRef& ref : constants_) {
      if (recipe_of(ref) == nullptr) number_of(ref) = number_by_bytes(ref);
    }
    for (const ConstantRef& ref : constants_) number_with_inputs(ref);
    EqualData classes;
    std::vector<std::optional<std::size_t>> class_of(count_);
    for (const ConstantRef& ref : constants_) {
      auto& index = class_of[*number_of(ref)];
      if (!index) index = classes.size();
      if (*index == classes.size()) classes.emplace_back();
      classes[*index].push_back(ref);
    }
    return classes;
  }

 private:
  using Number = std::optional<std::size_t>;
  using Data = std::span<const std::byte>;

  [[nodiscard]] Number& number_of(const ConstantRef& ref) { return numbers_[ref.model][ref.tensor]; }
  [[nodiscard]] const Constants& known_of(const ConstantRef& ref) const {
    return inputs_[ref.model].constants;
  }
  [[nodiscard]] const Recipe* recipe_of(const ConstantRef& ref) const {
    return known_of(ref).recipe_of(ref.tensor);
  }

  /// The number of known bytes; 0 if none are known.
  [[nodiscard]] std::size_t size_of(const ConstantRef& ref) const {
    const bool is_filled = !known_of(ref).element_of(ref.tensor).empty();
    return is_filled ? static_cast<std::size_t>(tensor_of(inputs_, ref).bytes)
                     : known_of(ref).of(ref.tensor).size();
  }

  std::size_t number_by_bytes(const ConstantRef& ref) {
    const TensorKind kind = tensor_of(inputs_, ref).kind;
    const std::size_t size = size_of(ref);
    if (size == 0 || counts_[{kind, size}] == 1) return count_++;
    const Data element = known_of(ref).element_of(ref.tensor);
    const Data bytes = element.empty() ? known_of(ref).of(ref.tensor) : element;
    Data period = period_of(bytes);
    if (period.empty() && bytes.size() < size) period = element;
    if (!period.empty()) {
      return number_in(filled_, {kind, size, std::vector<std::byte>(period.begin(), period.end())});
    }
    auto& candidates = by_hash_[{kind, size, hash_(bytes)}];
    const auto same = std::ranges::find_if(
        candidates, [&](const auto& candidate) { return is_equal(bytes, candidate.second); });
    if (same != candidates.end()) return same->first;
    candidates.emplace_back(count_, bytes);
    return count_++;
  }

  /// Numbers a result of folding, after all its inputs.
  void number_with_inputs(const ConstantRef& ref) {
    std::vector<TensorId> open{ref.tensor};
    while (!open.empty()) {
      const ConstantRef at{ref.model, open.back()};
      const std::size_t before = open.size();
      if (!number_of(at)) {
        for (const auto& input : recipe_of(at)->inputs) {
          if (input && is_numbered(ref.model, *input) && !number_of({ref.model, *input}))
            open.push_back(*input);
        }
      }
      if (open.size() > before) continue;
      open.pop_back();
      if (!number_of(at)) number_of(at) = number_by_recipe(at);
    }
  }

  std::size_t number_by_recipe(const ConstantRef& ref) {
    const Recipe& recipe = *recipe_of(ref);
    std::vector<Number> inputs;
    for (const auto& input : recipe.inputs) {
      const bool has_bytes = input && is_numbered(ref.model, *input);
      inputs.push_back(has_bytes ? number_of({ref.model, *input}) : Number());
    }
    const Tensor& tensor = tensor_of(inputs_, ref);
    return number_in(computed_, {tensor.kind, tensor.bytes, recipe.operation, std::move(inputs)});
  }

  /// Inputs without bytes get no number: all of one type are equal.
  [[nodiscard]] bool is_numbered(std::size_t model, TensorId tensor) const {
    return tensor_of(inputs_, {model, tensor}).bytes > 0;
  }

  template <typename Key>
  std::size_t number_in(std::map<Key, std::size_t>& numbers, Key key) {
    const auto [it, is_new] = numbers.try_emplace(std::move(key), count_);
    if (is_new) ++count_;
    return it->second;
  }

  std::span<const Input> inputs_;
  DataHash hash_;
  std::vector<ConstantRef> constants_;
  std::vector<std::vector<Number>> numbers_;  ///< Per model, per tensor.
  std::size_t count_ = 0;                     ///< The number of classes so far.
  std::map<std::pair<TensorKind, std::size_t>, std::size_t> counts_;
  std::map<std::tuple<TensorKind, std::size_t, std::vector<std::byte>>, std::size_t> filled_;
  std::map<std::tuple<TensorKind, std::size_t, std::uint64_t>, std::vector<std::pair<std::size_t, Data>>>
      by_hash_;
  std::map<std::tuple<TensorKind, Bytes, std::string, std::vector<Number>>, std::size_t> computed_;
};

/// Marks the tensors that running operators of a subgraph read, or that it hands over at its end.
void mark_read(const Graph& graph, std::size_t subgraph, std::vector<bool>& is_seen,
               std::vector<bool>& is_read) {
  if (is_seen[subgraph]) return;
  is_seen[subgraph] = true;
  for (const TensorId output : graph.subgraphs[subgraph].outputs) is_read[output] = true;
  for (const Operator& op : graph.subgraphs[subgraph].operators) {
    if (op.folded) continue;
    for (const auto& input : op.inputs) {
      if (input) is_read[*input] = true;
    }
    for (const std::size_t body : op.bodies) mark_read(graph, body, is_seen, is_read);
  }
}

}  // namespace

std::uint64_t xxh3(std::span<const std::byte> bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

EqualData equal_data(std::span<const Input> inputs, DataHash hash) {
  return Classifier(inputs, hash).classify();
}

void leave_unread_out(EqualData& classes, std::span<const Input> inputs) {
  std::vector<std::vector<bool>> is_read;
  for (const Input& input : inputs) {
    const Graph* const graph = std::get_if<Graph>(&input.content);
    is_read.emplace_back(graph != nullptr ? graph->tensors.size() : 0, false);
    if (graph == nullptr) continue;
    std::vector<bool> is_seen(graph->subgraphs.size(), false);
    mark_read(*graph, 0, is_seen, is_read.back());
  }
  for (Class& members : classes)
    std::erase_if(members, [&](const ConstantRef& ref) { return !is_read[ref.model][ref.tensor]; });
  std::erase_if(classes, [](const Class& members) { return members.empty(); });
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
    saving.shared += tensor.bytes;  // at most equal to the sum above
  }
  return saving;
}

}  // namespace stowage::share
