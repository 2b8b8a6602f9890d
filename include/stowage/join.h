/// Example: two networks become one. The second reads what the first writes.
///
///     using namespace stowage;
///     const auto relu = [](const std::string& name) {
///       Network network;
///       Graph graph;
///       graph.tensors = {{.name = "x", .kind = TensorKind::input, .dtype = DType::float32,
///                         .shape = Shape{1, 8}, .bytes = 32},
///                        {.name = "y", .kind = TensorKind::output, .dtype = DType::float32,
///                         .shape = Shape{1, 8}, .bytes = 32}};
///       graph.subgraphs = {{.name = "main", .inputs = {0}, .outputs = {1}, .operators = {
///                            {.name = "relu", .type = "Relu", .inputs = {0}, .outputs = {1}}}}};
///       network.input.info.name = name;
///       network.input.content = graph;
///       network.details = {{{}}};
///       network.quantizations.resize(2);
///       return network;
///     };
///     const std::vector<FeedNames> joins{{"a.y", "b.x"}};
///     const std::vector<Network> joined = join_networks({relu("a"), relu("b")}, joins);
///     return joined.size() == 1 && joined[0].input.info.name == "a+b" && joined[0].graph().tensors.size() == 3 ? 0 : 1;
#pragma once

#include <span>
#include <vector>

#include "stowage/network.h"
#include "stowage/options.h"

namespace stowage {

/// Makes one network of those whose outputs are inputs of others, so that rows flow through all of them. It stands where
/// the first of them stood. Its name is their names with `+` between them; names of its tensors and operators begin with
/// that of their network and a dot. An output that is joined is no output any more, nor is its input an input.
/// Throws UsageError unless each names an output of one network and an input of another, with one element type, shape and
/// quantization, neither of them state nor constant; no input is joined twice; networks join in no circle; and all that
/// become one are of one format.
[[nodiscard]] std::vector<Network> join_networks(std::vector<Network> networks,
                                                 std::span<const FeedNames> joins);

}  // namespace stowage
