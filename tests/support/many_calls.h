/// Calls of single operators as C: many of them in a few networks. Example:
///
///     ManyCalls wholes(false);
///     EXPECT_TRUE(wholes.add({.type = "Relu", .data = {{3, 4}}, .output = {3, 4}}));
///     wholes.add_to(packages);
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "c_packages.h"
#include "stowage/network.h"
#include "stowage/options.h"
#include "stream_run_calls.h"

namespace stowage::testing {

/// The network in its own order, planned in a moment. Throws Error if no C is generated of it.
[[nodiscard]] Package package_of(Network network, const std::string& name, bool by_rows = false);

[[nodiscard]] bool is_generated(const Network& network, bool by_rows = false);

class ManyCalls {
 public:
  explicit ManyCalls(bool by_rows) : by_rows_(by_rows) {}

  /// Whether C is generated of it.
  bool add(const Call& call);
  bool add(Network network);

  void add_to(Packages& packages) const;

  [[nodiscard]] std::size_t count() const { return count_; }

 private:
  bool by_rows_;
  std::vector<std::vector<Network>> groups_ = std::vector<std::vector<Network>>(3);  // one for each compiler
  std::size_t count_ = 0;
};

}  // namespace stowage::testing
