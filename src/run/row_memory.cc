#include "run/row_memory.h"

#include <fmt/format.h>

namespace stowage::run {

RowMemory::RowMemory(Device& device, Reference* check) : device_(device), places_(device), check_(check) {}

void RowMemory::move_to(Position at) {
  for (const Arena::GivenBack& back : device_.move_to(0, at)) {
    const Arena& arena = device_.arenas()[device_.plan().places[back.buffer].memory];
    contents_.remove(arena.bytes() + back.begin, back.end - back.begin);
  }
}

PlacedPart RowMemory::find_written(const Part& part, const std::string& who) {
  PlacedPart found = places_.find(part, who);
  if (const auto other = first_other(found, part.tensor)) refuse(*other, places_.describe(part), who);
  return found;
}

PlacedPart RowMemory::read(const Part& part, const std::string& who) {
  PlacedPart found = find_written(part, who);
  if (check_ != nullptr) compare(part, found, *check_, "read by " + who);
  return found;
}

void RowMemory::wrote(const Part& part, const PlacedPart& at, const std::string& who) {
  for (const PlacedBytes& bytes : at)
    contents_.put(bytes.at, bytes.size, {.value = part.tensor, .offset = bytes.offset, .written = step()});
  if (check_ != nullptr) compare(part, at, *check_, "written by " + who);
}

PlacedPart RowMemory::find_sums(const Sums& sums, Bytes size, const std::string& who) const {
  return {{.at = places_.find(sums.buffer, sums.offset, size, "the sums of " + who), .size = size}};
}

void RowMemory::expect_sums(std::size_t op, const PlacedPart& sums, const std::string& who) const {
  if (const auto other = first_other(sums, value_of_sums(op))) refuse(*other, "its sums", who);
}

void RowMemory::added(std::size_t op, const PlacedPart& sums) {
  for (const PlacedBytes& bytes : sums)
    contents_.put(bytes.at, bytes.size,
                  {.value = value_of_sums(op), .offset = bytes.offset, .written = step()});
}

void RowMemory::compare(const Part& part, const PlacedPart& at, Reference& reference,
                        const std::string& who) {
  if (const auto element = reference.first_difference(part.tensor, at))
    throw RunFault{fmt::format("{} differs from an unstreamed run, first in element {} of its tensor, {}",
                               places_.describe(part), *element, who)};
}

std::optional<Contents::Other> RowMemory::first_other(const PlacedPart& part, std::size_t value) const {
  for (const PlacedBytes& bytes : part) {
    if (const auto other = contents_.first_other(bytes.at, bytes.size, value, bytes.offset)) return other;
  }
  return std::nullopt;
}

void RowMemory::refuse(const Contents::Other& other, const std::string& name, const std::string& who) const {
  const std::string byte = places_.describe_byte(other.at);
  throw RunFault{other.held ? fmt::format("{} reads {}, but {} is of {}, where it should be", who, name, byte,
                                          describe(*other.held))
                            : fmt::format("{} reads {}, but nothing was written to {}, where it should be",
                                          who, name, byte)};
}

std::string RowMemory::describe(const Contents::Held& held) const {
  const Graph& graph = device_.graph_of(0);
  const std::string writer =
      held.written < 0
          ? "the caller"
          : fmt::format("{} at position {}", steps_[static_cast<std::size_t>(held.written)], held.written);
  if (held.value >= graph.tensors.size())
    return fmt::format("the sums of {}, written by {}",
                       stowage::describe(graph, 0, held.value - graph.tensors.size()), writer);
  return fmt::format("{}, written by {}", places_.describe_at(held.value, held.offset), writer);
}

}  // namespace stowage::run
