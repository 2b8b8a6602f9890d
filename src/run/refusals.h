#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "stowage/graph.h"

namespace stowage::run {

/// Operators that cannot be had, and why. The same reason of one type is said once.
class Refusals {
 public:
  void add(const Graph& graph, std::size_t subgraph, std::size_t op, const std::string& reason);
  /// A function of the user's can take the place of a kernel for such operators, if C has their operands.
  void allow_function(const Graph& graph, const Operator& op);

  [[nodiscard]] bool is_empty() const { return refused_.empty(); }
  /// "has 2 operators WHAT:", a line for each reason, and one with the option for functions of the user's.
  [[nodiscard]] std::string words(std::string_view what, std::string_view command) const;

 private:
  struct Reason {
    std::string type{};
    std::string text{};
    std::string first{};  ///< The first operator with it.
    std::size_t operators = 0;
  };
  std::vector<Reason> reasons_{};
  std::set<std::pair<std::size_t, std::size_t>> refused_{};  ///< Each once, however often it is added.
  std::set<std::string> types_with_functions_{};
};

}  // namespace stowage::run
