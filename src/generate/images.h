#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "generate/windows.h"
#include "kernels/onnx/product.h"
#include "kernels/onnx/window.h"

/// Images of ONNX, [batch, channels, height, width], as wholes, by rows, or by columns: then height and width change
/// places. Those of three dimensions have one line. All that throw throw kernels::Unsupported.
namespace stowage::generate {

inline constexpr std::size_t axis_of_height = 2;

/// The shape of a window, and what its channels are apart.
struct ImageWindows {
  Windows windows{};
  std::int64_t in_plane = 0;
  Channel out{};
};

/// The axis of an image along which the operator reads and writes rows; 0 if each row is an image.
[[nodiscard]] std::size_t axis_of_lines(const Writer& writer);

/// Refuses other tensors than one image each of four dimensions, and rows along other axes than height and width.
void expect_images_of_onnx(const Writer& writer);
/// Refuses other tensors than images, and rows of channels: what windows move over.
void expect_windows_of_onnx(const Writer& writer);
/// The same, and other types than float32.
void expect_real_images(const Writer& writer);
/// A constant input of float32, or NULL if it is left out.
[[nodiscard]] std::string real_constant(Writer& writer, std::size_t i);

[[nodiscard]] ImageWindows image_windows(Writer& writer, const kernels::onnx_ops::Window& window,
                                         std::int64_t in_channels, std::int64_t out_channels);

/// Elements of a window with those in its padding, if these count; 0 if they do not.
[[nodiscard]] std::int64_t counted_elements(const kernels::Signature& signature,
                                            const kernels::onnx_ops::Window& window);

/// A call of a kernel for a row of the output.
struct ImageCall {
  std::string_view kernel{};
  std::string layer{};
  std::string arguments{};  ///< Behind the rows: "y, ".
  std::string_view cast{};  ///< Before the output.
  std::string first{};      ///< A C expression: the first row under the window.
  kernels::Window window{};
};

void call_on_image(Writer& writer, const ImageWindows& it, const ImageCall& call);

/// Calls a kernel with the rows under the window of each row. `cast` is put before the output.
void call_on_image(Writer& writer, const ImageWindows& it, std::string_view kernel, const std::string& layer,
                   std::string_view cast = "");

/// Where matrices are: C expressions.
struct MatrixPlaces {
  std::string a{};
  std::string b{};
  std::string out{};
};

/// Calls a kernel for each pair of matrices, along whose dimensions in front inputs may be repeated. `call` is the begin
/// of the call, without these three arguments.
void call_for_matrices(Writer& writer, const kernels::onnx_ops::MatrixProducts& products,
                       const std::string& call, MatrixPlaces at);

/// Of a transposed window, the rows of the input that row y of the output is made of: `phase` is the tap of the first
/// of them, and each tap further on is `stride` less.
struct TransposedRows {
  std::string first{};
  std::string phase{};
  kernels::Window window{};
};

/// `height` is that of the convolution, with `in` and `out` of this operator; `y` names its row.
[[nodiscard]] TransposedRows transposed_rows(const kernels::Window& height, std::string_view y);

/// Refuses all but int8 and uint8, which kernels take as bytes.
void expect_byte(const kernels::Argument& argument);
inline constexpr std::string_view byte_out = "(uint8_t *)";

/// MaxPool of int8 and uint8.
void emit_byte_max_pool(Writer& writer);

}  // namespace stowage::generate
