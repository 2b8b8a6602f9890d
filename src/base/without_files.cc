// Stands for base/file.cc where there are no files: in the page that plans.

#include "base/file.h"
#include "stowage/error.h"

namespace stowage::base {

InputFile::InputFile(const std::filesystem::path& file) {
  throw Error("", "cannot be read: there is no file but the one that was given").in_file(file.string());
}

InputFile::~InputFile() = default;

std::string_view InputFile::bytes() const { return content_; }

}  // namespace stowage::base
