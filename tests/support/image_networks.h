/// ONNX networks of small images, drawn at random. Example:
///
///     Random random(7);
///     const Network network = random_images(random);
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "stowage/network.h"

namespace stowage::testing {

using Random = std::mt19937_64;

/// One of [low, high].
[[nodiscard]] std::int64_t pick(Random& random, std::int64_t low, std::int64_t high);

/// A network written down operator by operator; images are [1, channels, height, width] of float32.
class ImageMaker {
 public:
  using Settings = std::vector<std::pair<std::string, Attributes::Value>>;

  explicit ImageMaker(Random& random);

  TensorId add_tensor(TensorKind kind, const Shape& shape, DType dtype = DType::float32);
  /// Constants, drawn at random.
  TensorId weight(const Shape& shape);
  TensorId apply(const std::string& type, const std::vector<TensorId>& inputs, const Shape& shape,
                 const Settings& settings = {});
  /// A convolution or pool of any stride, padding and dilation; the image itself if it is too small.
  TensorId window(const std::string& type, TensorId x);
  /// So many rows and columns of zeros in front of an image and behind it.
  TensorId pad(TensorId x, std::int64_t rows, std::int64_t columns);
  /// A wide convolution, windows over each of its channels, and a narrow one.
  TensorId expand(TensorId x);
  /// Channels in another order; the image itself if it has an odd number of them.
  TensorId shuffle(TensorId x);
  /// One of several operators on tensors that are there.
  TensorId any(const std::vector<TensorId>& values);

  [[nodiscard]] const Shape& shape(TensorId t) const { return *graph_.tensors[t].shape; }

  /// What nobody reads is an output, and so many percent of all else.
  Network take(std::int64_t percent = 10);

 private:
  TensorId numbers(const std::vector<std::int64_t>& values);
  TensorId join(TensorId x, const std::vector<TensorId>& values);
  TensorId reshape(TensorId x, const Shape& shape);
  TensorId constant(TensorId t, std::vector<std::byte> bytes);

  Random& random_;
  Graph graph_{};
  Network network_{};
};

/// `input` is the shape of its only input; if it is none, it is drawn, too.
[[nodiscard]] Network random_images(Random& random, const Shape& input = {});

/// Early layers have many rows and few weights, late ones few rows and many weights.
[[nodiscard]] Network narrowing_images(Random& random);

}  // namespace stowage::testing
