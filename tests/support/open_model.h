/// A model as text, with sizes that are open, and what it is at some of them. Example:
///
///     const OpenModel model{bytes, {{"seq", 1, 64}}};
///     const Input all = model.whole_range();
///     const Graph there = model.read_at(std::vector<std::int64_t>{7});
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stowage/import.h"
#include "stowage/network.h"
#include "stowage/offset_functions.h"
#include "stowage/plan.h"

namespace stowage::testing {

struct OpenModel {
  std::string content;
  std::vector<SizeSymbol> symbols;

  [[nodiscard]] ImportOptions options_for(const std::vector<GivenSize>& sizes) const {
    ImportOptions options;
    for (std::size_t s = 0; s < symbols.size(); ++s) options.dims.emplace(symbols[s].name, sizes[s]);
    return options;
  }
  [[nodiscard]] Input read(const std::vector<GivenSize>& sizes) const {
    return parse_input(content, "net.onnx", options_for(sizes));
  }
  [[nodiscard]] std::vector<GivenSize> all_sizes() const {
    std::vector<GivenSize> sizes;
    for (const SizeSymbol& it : symbols) sizes.emplace_back(it.least, it.most, it.step);
    return sizes;
  }
  [[nodiscard]] Input whole_range() const { return read(all_sizes()); }
  /// With weights: the network of the whole range at some sizes, and what was read at these.
  [[nodiscard]] std::pair<Network, Network> networks_at(std::span<const std::int64_t> values) const {
    Network range = parse_network(content, "net.onnx", options_for(all_sizes()));
    Network exact = parse_network(content, "net.onnx", options_for(exactly(values)));
    range.input.content = graph_at(range.graph(), exact.graph());
    return {std::move(range), std::move(exact)};
  }
  [[nodiscard]] Graph read_at(std::span<const std::int64_t> values) const {
    return std::get<Graph>(read(exactly(values)).content);
  }

  static std::vector<GivenSize> exactly(std::span<const std::int64_t> values) {
    std::vector<GivenSize> sizes;
    for (const std::int64_t it : values) sizes.emplace_back(it, it);
    return sizes;
  }

  [[nodiscard]] std::vector<std::int64_t> drawn_values(std::mt19937_64& random) const {
    std::vector<std::int64_t> values;
    for (const SizeSymbol& it : symbols) {
      const auto steps = static_cast<std::uint64_t>((it.most - it.least) / it.step + 1);
      values.push_back(it.least + static_cast<std::int64_t>(random() % steps) * it.step);
    }
    return values;
  }
};

}  // namespace stowage::testing
