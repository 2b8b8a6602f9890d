/// Networks of signals of any length. Example:
///
///     NetworkOverTime made(7);
///     const Network network = made.at(100);   // throws Error for a length that is too short
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "onnx_models.h"
#include "stowage/graph.h"
#include "stowage/network.h"

namespace stowage::testing {

/// Draws convolutions with strides, dilations and groups, pools, functions of elements, and sums and joins with what is
/// there already, over a signal [1, C, n] or an image [1, C, n, W]; perhaps a mean over time and a layer behind it.
class NetworkOverTime {
 public:
  explicit NetworkOverTime(std::uint64_t seed);

  [[nodiscard]] const std::string& model() const { return model_; }
  [[nodiscard]] Network at(std::int64_t length) const;

 private:
  /// A tensor that is there, and how often it has gone through a stride.
  struct Made {
    std::string name{};
    std::int64_t channels = 1;
    std::int64_t width = 0;  ///< 0: a signal.
    int strides = 0;
    std::int64_t lost = 0;  ///< Rows that windows without padding have taken; not across strides.
  };

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  std::string weights(const Shape& shape);
  void add_window();
  void add_function();
  void join();
  void classify();
  void put(Made made) { made_.push_back(std::move(made)); }
  [[nodiscard]] std::string next() { return "t" + std::to_string(names_++); }

  std::mt19937_64 random_;
  OnnxParts parts_{};
  std::vector<Made> made_{};
  int names_ = 0;
  std::string model_{};
};

}  // namespace stowage::testing
