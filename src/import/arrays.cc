#include <fmt/format.h>

#include "base/file.h"
#include "base/text.h"
#include "import/npy.h"
#include "stowage/error.h"
#include "stowage/network.h"

namespace stowage {
namespace {

[[nodiscard]] Array parse_array(std::string_view bytes, const std::string& extension) {
  if (extension == ".npy" || import::looks_like_npy(bytes)) return import::parse_npy(bytes);
  throw Error("", "is of no known format, expected an array as .npy");
}

}  // namespace

Array read_array(const std::filesystem::path& file) {
  const base::InputFile input(file);
  try {
    return parse_array(input.bytes(), file.extension().string());
  } catch (const Error& error) {
    throw error.in_file(file.string());
  }
}

}  // namespace stowage
