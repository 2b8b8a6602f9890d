/// A directory for one test that is gone afterwards.
///
///     const TemporaryDirectory directory;
///     directory.write("list.csv", "id,lower,upper,size\na,0,2,64\n");
///     return directory.names() == std::vector<std::string>{"list.csv"} ? 0 : 1;
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace stowage::testing {

class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  TemporaryDirectory(TemporaryDirectory&&) = delete;
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

  void write(std::string_view name, std::string_view content) const;
  [[nodiscard]] std::string read(std::string_view name) const;

  /// What is in it, sorted: what a program has left behind.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::filesystem::path path_;
};

}  // namespace stowage::testing
