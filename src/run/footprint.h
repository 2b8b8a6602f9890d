#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "run/device.h"
#include "stowage/graph.h"

namespace stowage::run {

struct ByteRange {
  const std::byte* begin = nullptr;
  Bytes size = 0;
};

/// The places of an operator's operands; null for omitted ones.
struct OperandPlaces {
  std::vector<const std::byte*> inputs{};
  std::vector<std::byte*> outputs{};
};

/// The bytes that the operator changes: its outputs, except copies whose bytes are already in place. Bytes
/// that several operators copy may share one place for all of their outputs.
[[nodiscard]] std::vector<ByteRange> written_by(const Graph& graph, const Operator& op,
                                                const OperandPlaces& operands);

/// Throws RunFault that names the tensors if the operator would overwrite bytes that it reads or writes as
/// another operand, other than element by element in place.
void expect_apart(const Graph& graph, const Operator& op, const OperandPlaces& operands,
                  const std::string& who);

/// While it exists in a build with AddressSanitizer, touching any other byte of a plan's memories aborts the
/// program with the names of the operator and of the tensor there. In other builds it does nothing.
class OnlyThese {
 public:
  OnlyThese(const Device& device, std::span<const ByteRange> allowed, const std::string& who);
  ~OnlyThese();
  OnlyThese(const OnlyThese&) = delete;
  OnlyThese& operator=(const OnlyThese&) = delete;
  OnlyThese(OnlyThese&&) = delete;
  OnlyThese& operator=(OnlyThese&&) = delete;

 private:
  [[maybe_unused]] const Device& device_;
};

}  // namespace stowage::run
