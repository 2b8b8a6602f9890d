#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "run/contents.h"
#include "run/device.h"
#include "run/reference.h"
#include "run/row_places.h"
#include "stowage/run.h"

namespace stowage::run {

/// The memory of a streamed plan: where rows are, and whether they are still there.
class RowMemory {
 public:
  /// With `check`, tensors must be what they are in the reference.
  RowMemory(Device& device, Reference* check);

  void move_to(Position at);
  /// What the next step is, for messages. What is written before the first is the caller's.
  void begin_step(const std::string& what) { steps_.push_back(what); }

  /// The part, which `who` reads now. Throws RunFault unless all of it is there.
  [[nodiscard]] PlacedPart read(const Part& part, const std::string& who);
  /// The same without comparing it.
  [[nodiscard]] PlacedPart find_written(const Part& part, const std::string& who);
  /// Where `who` is to write the part.
  [[nodiscard]] PlacedPart room_for(const Part& part, const std::string& who) {
    return places_.find(part, who);
  }
  /// The part has been written there by `who`.
  void wrote(const Part& part, const PlacedPart& at, const std::string& who);

  /// The place of an operator's sums.
  [[nodiscard]] PlacedPart find_sums(const Sums& sums, Bytes size, const std::string& who) const;
  /// Throws RunFault unless they are still there.
  void expect_sums(std::size_t op, const PlacedPart& sums, const std::string& who) const;
  void added(std::size_t op, const PlacedPart& sums);

  /// Throws RunFault unless the part is what it is in the reference.
  void compare(const Part& part, const PlacedPart& at, Reference& reference, const std::string& who);

  [[nodiscard]] const RowPlaces& places() const { return places_; }

 private:
  /// Values below are tensors.
  [[nodiscard]] std::size_t value_of_sums(std::size_t op) const {
    return device_.graph_of(0).tensors.size() + op;
  }
  [[nodiscard]] Position step() const { return static_cast<Position>(steps_.size()) - 1; }
  /// The first byte that is not that of the value.
  [[nodiscard]] std::optional<Contents::Other> first_other(const PlacedPart& part, std::size_t value) const;
  [[noreturn]] void refuse(const Contents::Other& other, const std::string& name,
                           const std::string& who) const;
  /// Who wrote what over it.
  [[nodiscard]] std::string describe(const Contents::Held& held) const;

  Device& device_;
  RowPlaces places_;
  Contents contents_{};
  Reference* check_;
  std::vector<std::string> steps_{};  ///< By position, up to now.
};

}  // namespace stowage::run
