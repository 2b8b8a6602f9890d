// Blocks of an operator are operators of their own to planner and writer. In C they would be as many functions, which
// differ in the names of places and layers. So these places and layers become arrays, and the functions become one:
//
//     f(&layer_7b0, &place_3, y)  and  f(&layer_7b8, &place_5, y)    ->    f(&layers_7[part], &places_3[part], y)
//
// Cost: linear in the texts.

#include "generate/block_functions.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "generate/text.h"

namespace stowage::generate {

using kernels::refuse;

namespace {

class Joining {
 public:
  Joining(Sources& sources, const std::vector<Function*>& blocks, const std::string& name, std::string label)
      : sources_(sources), blocks_(blocks), label_(std::move(label)) {
    for (const Function* const block : blocks) {
      texts_.push_back(words_of(block->text));
      std::ranges::replace(texts_.back(), block->name, name);
    }
  }

  /// The one function; none if they differ in more than names.
  std::optional<Function> join() {
    if (!drop_equal_layers()) return std::nullopt;
    const auto differences = find_differences();
    if (!differences) return std::nullopt;
    const std::vector<std::string>& first = texts_[0];
    Function result = *blocks_[0];
    result.text.clear();
    for (std::size_t i = 0; i < first.size(); ++i) {
      const auto names = differences->find(i);
      result.text += names == differences->end() ? first[i] : array_of(names->second) + "[part]";
    }
    if (has_parts_) {
      constexpr std::string_view memory = "*const *memory";
      result.text.insert(result.text.find(memory) + memory.size(), ", int32_t part");
    }
    for (const auto& [names, array] : arrays_)
      std::erase_if(
          layers_, [&](const LayerConstant& it) { return std::ranges::find(names, it.name) != names.end(); });
    result.layers = std::move(layers_);
    result.tables = std::move(definitions_);
    return result;
  }

  [[nodiscard]] bool has_parts() const { return has_parts_; }

 private:
  using Names = std::vector<std::string>;

  /// The words in which they differ, by their index; none if these are not all names of places and layers.
  std::optional<std::map<std::size_t, Names>> find_differences() const {
    std::map<std::size_t, Names> differences;
    for (const auto& text : texts_)
      if (text.size() != texts_[0].size()) return std::nullopt;
    for (std::size_t i = 0; i < texts_[0].size(); ++i) {
      Names names;
      for (const auto& text : texts_) names.push_back(text[i]);
      if (std::ranges::all_of(names, [&](const std::string& name) { return name == names[0]; })) continue;
      const bool is_address = i > 0 && texts_[0][i - 1] == "&";
      const auto is_known = [&](const std::string& name) {
        return is_layer(names[0]) ? is_layer(name) : name.starts_with("place_");
      };
      if (!is_address || !std::ranges::all_of(names, is_known)) return std::nullopt;
      differences.emplace(i, std::move(names));
    }
    return differences;
  }

  /// Layers that all blocks have alike are kept once.
  bool drop_equal_layers() {
    for (std::size_t i = 0; i < blocks_[0]->layers.size(); ++i) {
      const LayerConstant& first = blocks_[0]->layers[i];
      const bool are_equal = std::ranges::all_of(blocks_, [&](const Function* block) {
        return i < block->layers.size() && block->layers[i].fields == first.fields;
      });
      for (std::size_t b = 0; b < blocks_.size(); ++b) {
        if (blocks_[b]->layers.size() != blocks_[0]->layers.size()) return false;
        LayerConstant own = blocks_[b]->layers[i];
        if (own.type != first.type) return false;
        if (are_equal) {
          const std::string name = i == 0 ? "layer_" + label_ : fmt::format("layer_{}_{}", label_, i);
          std::ranges::replace(texts_[b], own.name, name);
          own.name = name;
        }
        if (b == 0 || !are_equal) layers_.push_back(own);
      }
    }
    return true;
  }

  [[nodiscard]] std::vector<LayerConstant>::const_iterator layer(const std::string& name) const {
    return std::ranges::find(layers_, name, &LayerConstant::name);
  }
  [[nodiscard]] bool is_layer(const std::string& name) const { return layer(name) != layers_.end(); }

  std::string array_of(const Names& names) {
    has_parts_ = true;
    if (is_layer(names[0])) return array_of_layers(names);
    return sources_.array_of_places(names, names[0].substr(names[0].find('_') + 1));
  }

  /// These layers then have no names of their own.
  std::string array_of_layers(const Names& names) {
    const auto [known, is_new] = arrays_.try_emplace(names, "layers_" + label_);
    if (!is_new) return known->second;
    if (arrays_.size() > 1) known->second += fmt::format("_{}", arrays_.size());
    definitions_ +=
        fmt::format("static const {} {}[{}] = {{\n", layer(names[0])->type, known->second, names.size());
    for (std::size_t b = 0; b < names.size(); ++b) {
      definitions_ += fmt::format("    {{{}}},\n", layer(names[b])->fields);
      sources_.refer(names[b], fmt::format("{}[{}]", known->second, b));
    }
    definitions_ += "};\n";
    return known->second;
  }

  Sources& sources_;
  const std::vector<Function*>& blocks_;
  std::string label_;
  std::vector<std::vector<std::string>> texts_{};
  std::vector<LayerConstant> layers_{};
  std::map<Names, std::string> arrays_{};  ///< Of layers.
  bool has_parts_ = false;
  std::string definitions_{};
};

}  // namespace

// What the writer asks of blocks

std::string Sources::label(std::size_t op) const {
  if (blocks_ == nullptr) return std::to_string(op);
  const model::BlockOf& own = blocks_->split_network().operators[op];
  return own.block ? fmt::format("{}b{}", own.of, own.block->begin) : std::to_string(own.of);
}

std::vector<TensorId> Sources::blocks_of(TensorId tensor) const {
  if (blocks_ == nullptr) return {};
  const auto found = blocks_->split_network().blocks.find(tensor);
  return found == blocks_->split_network().blocks.end() ? std::vector<TensorId>{} : found->second;
}

std::string Sources::places_of(const std::vector<TensorId>& blocks, std::size_t axis) {
  std::vector<std::string> names;
  for (const TensorId block : blocks) {
    if (repeats_of(block) != nullptr) refuse("it reads blocks that are computed again");
    names.push_back(place(storage(block).by_rows(axis), block));
  }
  return array_of_places(names, std::to_string(blocks_->whole_of(blocks.at(0))));
}

// One function

void join_blocks(Sources& sources, const std::vector<Function*>& blocks, const std::string& name,
                 const std::string& label) {
  Joining joining(sources, blocks, name, label);
  const auto joined = joining.join();
  if (!joined) return;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    *blocks[b] =
        b == 0 ? *joined : Function{.reads_done = joined->reads_done, .reads_now = joined->reads_now};
    blocks[b]->name = name;
    if (joining.has_parts()) blocks[b]->part = fmt::format(", {}", b);
  }
}

}  // namespace stowage::generate
