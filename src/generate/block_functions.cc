// Blocks of an operator are operators of their own to planner and writer. In C they would be as many functions, which
// differ in the names of places and layers. So these names become tables, and the functions become one:
//
//     f(&layer_7b0, &place_3, y)  and  f(&layer_7b8, &place_5, y)    ->    f(parts_7_0[part], parts_7_1[part], y)
//
// Cost: linear in the texts.

#include "generate/block_functions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace stowage::generate {

using kernels::refuse;

namespace {

/// Words, and single characters between them.
std::vector<std::string> words_of(const std::string& text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::vector<std::string> words;
  bool in_word = false;
  for (const char c : text) {
    if (in_word && is_letter(c)) {
      words.back() += c;
    } else {
      words.emplace_back(1, c);
    }
    in_word = is_letter(c);
  }
  return words;
}

class Joining {
 public:
  Joining(const std::vector<Function*>& blocks, const std::string& name, std::string label)
      : blocks_(blocks), label_(std::move(label)) {
    for (const Function* const block : blocks) {
      texts_.push_back(words_of(block->text));
      for (std::size_t i = 0; i < texts_.back().size(); ++i) {
        if (texts_.back()[i] == block->name) texts_.back()[i] = name;
      }
    }
  }

  /// The one function; none if they differ in more than names.
  std::optional<Function> join() {
    if (!drop_equal_layers()) return std::nullopt;
    const std::vector<std::string>& first = texts_[0];
    Function result = *blocks_[0];
    result.text.clear();
    for (std::size_t i = 0; i < first.size(); ++i) {
      std::vector<std::string> names;
      for (const auto& text : texts_) {
        if (text.size() != first.size()) return std::nullopt;
        names.push_back(text[i]);
      }
      if (std::ranges::all_of(names, [&](const std::string& name) { return name == names[0]; })) {
        result.text += names[0];
        continue;
      }
      const auto type = type_of(names[0]);
      if (!type || !result.text.ends_with('&')) return std::nullopt;
      result.text.pop_back();
      result.text += table(*type, names) + "[part]";
    }
    if (!tables_.empty()) {
      constexpr std::string_view memory = "*const *memory";
      result.text.insert(result.text.find(memory) + memory.size(), ", int32_t part");
    }
    result.layers = std::move(layers_);
    result.tables = definitions_;
    return result;
  }

  [[nodiscard]] bool has_tables() const { return !tables_.empty(); }
  [[nodiscard]] std::size_t tables() const { return tables_.size(); }

 private:
  /// Layers that all blocks have alike are kept once.
  bool drop_equal_layers() {
    for (std::size_t i = 0; i < blocks_[0]->layers.size(); ++i) {
      const LayerConstant& first = blocks_[0]->layers[i];
      const bool are_equal = std::ranges::all_of(blocks_, [&](const Function* block) {
        return i < block->layers.size() && block->layers[i].fields == first.fields;
      });
      for (std::size_t b = 0; b < blocks_.size(); ++b) {
        if (blocks_[b]->layers.size() != blocks_[0]->layers.size()) return false;
        const LayerConstant& own = blocks_[b]->layers[i];
        if (own.type != first.type) return false;
        if (b == 0 || !are_equal) layers_.push_back(own);
        if (are_equal) std::ranges::replace(texts_[b], own.name, first.name);
      }
    }
    return true;
  }

  /// What a table of such names has.
  [[nodiscard]] std::optional<std::string> type_of(const std::string& name) const {
    if (name.starts_with("place_")) return "stowage_place";
    const auto layer = std::ranges::find(layers_, name, &LayerConstant::name);
    return layer == layers_.end() ? std::nullopt : std::optional(layer->type);
  }

  std::string table(const std::string& type, const std::vector<std::string>& names) {
    const auto [known, is_new] =
        tables_.try_emplace(names, fmt::format("parts_{}_{}", label_, tables_.size()));
    if (is_new)
      definitions_ += fmt::format("static const {} *const {}[{}] = {{&{}}};\n", type, known->second,
                                  names.size(), fmt::join(names, ", &"));
    return known->second;
  }

  const std::vector<Function*>& blocks_;
  std::string label_;
  std::vector<std::vector<std::string>> texts_{};
  std::vector<LayerConstant> layers_{};
  std::map<std::vector<std::string>, std::string> tables_{};
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
  constexpr std::size_t bytes_of_a_pointer = 4;
  std::string list;
  for (const TensorId block : blocks) {
    if (repeats_of(block) != nullptr) refuse("it reads blocks that are computed again");
    list += fmt::format("{}&{}", list.empty() ? "" : ", ", place(storage(block).by_rows(axis), block));
  }
  std::string name = fmt::format("places_{}", blocks_->whole_of(blocks.at(0)));
  for (int i = 2; !used_names_.insert(name).second; ++i)
    name = fmt::format("places_{}_{}", blocks_->whole_of(blocks[0]), i);
  places_ += fmt::format("static const stowage_place *const {}[{}] = {{{}}};\n", name, blocks.size(), list);
  add_control(static_cast<Bytes>(blocks.size() * bytes_of_a_pointer));
  return name;
}

// One function

void join_blocks(Sources& sources, const std::vector<Function*>& blocks, const std::string& name,
                 const std::string& label) {
  constexpr std::size_t bytes_of_a_pointer = 4;
  Joining joining(blocks, name, label);
  const auto joined = joining.join();
  if (!joined) return;
  sources.add_control(static_cast<Bytes>(joining.tables() * blocks.size() * bytes_of_a_pointer));
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    *blocks[b] = b == 0 ? *joined : Function{.reads_done = joined->reads_done};
    blocks[b]->name = name;
    if (joining.has_tables()) blocks[b]->part = fmt::format(", {}", b);
  }
}

}  // namespace stowage::generate
