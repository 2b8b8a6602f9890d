/// A network of two operators on an image of float32, 1x6x5x3. Example:
///
///     const Network network = pool_and("RELU");
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "stowage/network.h"

namespace stowage::testing {

/// An image, a pool of 3 x 3 places, and what `last` makes of it.
inline Network pool_and(const std::string& last) {
  constexpr std::int64_t height = 6;
  constexpr std::int64_t width = 5;
  constexpr std::int64_t channels = 3;
  Network network;
  Graph graph;
  graph.subgraphs.resize(1);
  network.details.resize(1);
  for (const char* const name : {"x", "pooled", "y"}) {
    const Shape shape{1, height, width, channels};
    graph.tensors.push_back({.name = name,
                             .kind = TensorKind::temporary,
                             .dtype = DType::float32,
                             .shape = shape,
                             .bytes = height * width * channels * 4});
    network.quantizations.emplace_back();
  }
  graph.tensors[0].kind = TensorKind::input;
  graph.tensors[2].kind = TensorKind::output;
  graph.subgraphs[0].inputs = {0};
  graph.subgraphs[0].outputs = {2};
  graph.subgraphs[0].operators = {{.name = "pool", .type = "MAX_POOL_2D", .inputs = {0}, .outputs = {1}},
                                  {.name = "last", .type = last, .inputs = {1}, .outputs = {2}}};
  network.details[0].resize(2);
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::int64_t>>{
           {"padding", 0}, {"stride_h", 1}, {"stride_w", 1}, {"filter_height", 3}, {"filter_width", 3}})
    network.details[0][0].attributes.set(name, value);
  network.input.content = graph;
  network.input.info.name = "pooled";
  add_rows(network);
  return network;
}

}  // namespace stowage::testing
