#include "import/operations_csv.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/unique_names.h"
#include "import/csv.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

constexpr std::array<std::string_view, 4> operation_columns{"op", "name", "size", "alignment"};

class Sequence {
 public:
  void allocate(const CsvReader& csv, Position at) {
    const std::string_view name = csv.text("name");
    const auto [entry, is_first] = allocated_.try_emplace(std::string(name));
    if (entry->second) throw Error(csv.place(), fmt::format("{} is allocated already", base::quoted(name)));
    const Bytes size = csv.required_number("size");
    if (size < 0) throw Error(csv.place(), fmt::format("size is {}, expected at least 0", size));
    entry->second = problem_.buffers.size();
    if (!is_first) again_.push_back(problem_.buffers.size());
    problem_.buffers.push_back({.id = std::string(name),
                                .size = size,
                                .alignment = csv.number("alignment").value_or(1),
                                .pieces = {{0, size, {at, at}}}});
  }

  void free(const CsvReader& csv, Position at) {
    const std::string_view name = csv.text("name");
    std::optional<std::size_t>& allocated = allocated_[std::string(name)];
    if (!allocated)
      throw Error(csv.place(), fmt::format("{} is freed but not allocated", base::quoted(name)));
    Buffer& buffer = problem_.buffers[*allocated];
    const auto size = csv.number("size");
    if (size && *size != buffer.size) {
      throw Error(csv.place(), fmt::format("{} is freed with size {}, expected {} as allocated",
                                           base::quoted(name), *size, buffer.size));
    }
    buffer.pieces[0].life.upper = at;
    allocated.reset();
  }

  Problem take(Position end) {
    base::UniqueNames ids;
    for (const auto& [name, buffer] : allocated_) {
      ids.reserve(name);
      if (buffer) problem_.buffers[*buffer].pieces[0].life.upper = end;
    }
    for (const std::size_t buffer : again_) {
      std::string& id = problem_.buffers[buffer].id;
      id = ids.unique(std::move(id));
    }
    return std::move(problem_);
  }

 private:
  Problem problem_{{}, {{.name = "arena"}}};
  /// By name: the buffer, while it is allocated.
  std::unordered_map<std::string, std::optional<std::size_t>> allocated_;
  std::vector<std::size_t> again_;  ///< Buffers that are a later allocation of their name.
};

}  // namespace

Problem read_operations_csv(std::string_view text) {
  CsvReader csv(text, operation_columns);
  for (const std::string_view column : {"op", "name", "size"}) {
    if (!csv.has_column(column)) throw Error(csv.place(), fmt::format("column '{}' is missing", column));
  }
  Sequence sequence;
  Position at = 0;
  for (; csv.next(); ++at) {
    if (csv.text("name").empty()) throw Error(csv.place(), "name is missing");
    if (csv.text("op") == "alloc") {
      sequence.allocate(csv, at);
    } else if (csv.text("op") == "free") {
      sequence.free(csv, at);
    } else {
      throw Error(csv.place(), fmt::format("op is {}, expected alloc or free", base::quoted(csv.text("op"))));
    }
  }
  Problem problem = sequence.take(at);
  validate(problem);
  return problem;
}

}  // namespace stowage::import
