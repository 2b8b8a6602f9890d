#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <limits>
#include <string_view>

#include "base/file.h"
#include "import/npy.h"
#include "import/onnx_arrays.h"
#include "stowage/error.h"
#include "stowage/network.h"

namespace stowage {
namespace {

[[nodiscard]] Array parse_tensor(std::string_view bytes, const std::filesystem::path& folder) {
  onnx::TensorProto tensor;
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()) ||
      !tensor.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    throw Error("", "is not an ONNX TensorProto, or cut short, or larger than 2 GiB");
  return import::array_of(tensor, folder);
}

[[nodiscard]] Array parse_array(std::string_view bytes, const std::filesystem::path& file) {
  if (file.extension() == ".npy" || import::looks_like_npy(bytes)) return import::parse_npy(bytes);
  if (file.extension() == ".pb") return parse_tensor(bytes, file.parent_path());
  throw Error("", "is of no known format, expected an array as .npy or .pb");
}

}  // namespace

Array read_array(const std::filesystem::path& file) {
  const base::InputFile input(file);
  try {
    return parse_array(input.bytes(), file);
  } catch (const Error& error) {
    throw error.in_file(file.string());
  }
}

}  // namespace stowage
