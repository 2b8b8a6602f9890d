#include "import/operations_csv.h"

#include <fmt/format.h>

#include <array>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "import/csv.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

constexpr std::array<std::string_view, 4> operation_columns{"op", "name", "size", "alignment"};

/// What is known of a name: its buffer while it is allocated, and how often it has been.
struct Name {
  std::optional<std::size_t> buffer;
  int allocations = 0;
};

class Sequence {
 public:
  void allocate(const CsvReader& csv, Position at) {
    const std::string_view name = csv.text("name");
    Name& entry = names_[std::string(name)];
    if (entry.buffer) throw Error(csv.place(), fmt::format("{} is allocated already", base::quoted(name)));
    const Bytes size = csv.required_number("size");
    if (size < 0) throw Error(csv.place(), fmt::format("size is {}, expected at least 0", size));
    entry.buffer = problem_.buffers.size();
    ++entry.allocations;
    if (entry.allocations > 1) again_.emplace_back(problem_.buffers.size(), entry.allocations);
    problem_.buffers.push_back({.id = std::string(name),
                                .size = size,
                                .alignment = csv.number("alignment").value_or(1),
                                .pieces = {{0, size, {at, at}}}});
  }

  void free(const CsvReader& csv, Position at) {
    const std::string_view name = csv.text("name");
    Name& entry = names_[std::string(name)];
    if (!entry.buffer)
      throw Error(csv.place(), fmt::format("{} is freed but not allocated", base::quoted(name)));
    Buffer& buffer = problem_.buffers[*entry.buffer];
    const auto size = csv.number("size");
    if (size && *size != buffer.size) {
      throw Error(csv.place(), fmt::format("{} is freed with size {}, expected {} as allocated",
                                           base::quoted(name), *size, buffer.size));
    }
    buffer.pieces[0].life.upper = at;
    entry.buffer.reset();
  }

  Problem take(Position end) {
    for (const auto& [name, entry] : names_) {
      if (entry.buffer) problem_.buffers[*entry.buffer].pieces[0].life.upper = end;
    }
    for (const auto& [buffer, allocation] : again_) {
      std::string& id = problem_.buffers[buffer].id;
      id += fmt::format("#{}", allocation);
      while (names_.contains(id)) id += "#";  // somebody is called so
    }
    return std::move(problem_);
  }

 private:
  Problem problem_{{}, {{.name = "arena"}}};
  std::unordered_map<std::string, Name> names_;
  std::vector<std::pair<std::size_t, int>> again_;  ///< Buffers that are a later allocation of their name.
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
