#pragma once

#include <map>
#include <string>
#include <vector>

#include "open_net.h"
#include "open_values.h"

namespace stowage::campaign {

using OpenValues = std::map<std::string, OpenValue>;

/// What the caller or a file gives: every element is another one.
[[nodiscard]] OpenValue value_of(const OpenConstant& constant, World& world);
[[nodiscard]] OpenValue value_of(const OpenInput& input, World& world);

/// Runs nodes one after the other, each tensor in memory of its own. Throws Misfit.
void run_nodes(const OpenNet& net, const std::vector<OpenNode>& nodes, OpenValues& values, World& world);
/// The value of that name: of `values`, or of a constant, which then is among them.
[[nodiscard]] const OpenValue& find_value(const OpenNet& net, const std::string& name, OpenValues& values,
                                          World& world);
/// Which of its bodies a branch runs; in the largest world the one with the larger results.
[[nodiscard]] std::size_t chosen_body(const OpenNode& node, World& world);
/// How often a loop runs.
[[nodiscard]] std::int64_t rounds_of(const OpenNet& net, const OpenNode& node, OpenValues& values,
                                     World& world);
/// A number as a tensor without axes.
[[nodiscard]] OpenValue single(Elements elements, std::int64_t number, World& world);
/// Row `row` along the first axis; and rows, one after the other, as one tensor.
[[nodiscard]] OpenValue row_of(const OpenValue& value, std::int64_t row);
[[nodiscard]] OpenValue stacked(const std::vector<OpenValue>& rows);

}  // namespace stowage::campaign
