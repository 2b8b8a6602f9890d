#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "schedule/budget.h"
#include "schedule/storage.h"

namespace stowage::schedule {

/// The direction of time. Backward, the first operator to be executed is the last to run.
enum class Direction : std::uint8_t { forward, backward };

/// The effect of executing an operator next.
struct Effect {
  Bytes during = 0;  ///< The bytes that its step needs.
  Bytes after = 0;   ///< The live bytes between it and the next step.
};

/// A set of executed operators, each after those it waits for, and its live bytes. The storage must be
/// normalized and must outlive it. Cost: executing an operator, or computing its effect, takes as many
/// operations as it has operands and overwrites.
class Executed {
 public:
  Executed(const Storage& storage, Direction direction);

  [[nodiscard]] std::size_t operators() const { return missing_.size(); }
  [[nodiscard]] Direction direction() const { return direction_; }
  [[nodiscard]] bool is_complete() const { return sequence_.size() == operators(); }
  /// Live bytes between the last executed operator and the next.
  [[nodiscard]] Bytes live() const { return live_; }
  /// Operators whose predecessors are all executed, in no particular order.
  [[nodiscard]] std::span<const std::size_t> ready() const { return ready_; }
  /// The executed operators in their sequence.
  [[nodiscard]] std::span<const std::size_t> sequence() const { return sequence_; }
  /// The sequence in which they run in time.
  [[nodiscard]] Order order() const;
  /// One bit per operator.
  [[nodiscard]] std::span<const std::uint64_t> bits() const { return bits_; }
  /// Equal for equal sets.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

  [[nodiscard]] Effect effect_of(std::size_t op) const;
  /// Executes an operator, which must be ready.
  void run(std::size_t op);
  /// Undoes the last executed operator.
  void undo();

 private:
  /// A value as seen in the direction of time.
  struct Course {
    Bytes size = 0;
    std::size_t begun = 0;   ///< The number of executed operators that begin it.
    std::size_t to_end = 0;  ///< The number of missing operators until it ends.
    bool is_there = false;   ///< From the first step on.
    bool is_kept = false;    ///< After the last step.
  };
  using ListItem = std::pair<std::size_t, std::size_t>;  ///< Number of a list, and an item of it.
  /// Several lists in one array.
  struct Lists {
    std::vector<std::size_t> first{0};
    std::vector<std::size_t> items;

    /// Appends each item to the list paired with it.
    void assign(std::size_t lists, std::span<const ListItem> list_and_item);
    [[nodiscard]] std::span<const std::size_t> operator[](std::size_t i) const {
      return std::span(items).subspan(first[i], first[i + 1] - first[i]);
    }
  };

  void add_dependences(const Storage& storage);
  void add_values(const Storage& storage);
  void add_overwrites(const Storage& storage);
  [[nodiscard]] Bytes overwritten_by(std::size_t op) const;
  void add_ready(std::size_t op);
  void remove_ready(std::size_t op);

  Direction direction_;
  const Storage* storage_;
  Lists next_;        ///< Per operator: those that wait for it.
  Lists begins_;      ///< Per operator: values that begin with it.
  Lists ends_;        ///< Per operator: values that it is among the last of.
  Lists overwrites_;  ///< Per operator: its overwrites.
  std::vector<Course> courses_;
  std::vector<std::size_t> missing_;  ///< Per operator: the number of operators it still waits for.
  std::vector<std::size_t> place_in_ready_;
  std::vector<std::size_t> ready_;
  std::vector<std::size_t> sequence_;
  std::vector<std::uint64_t> bits_;
  std::uint64_t hash_ = 0;
  Bytes live_ = 0;
};

/// Executes operators as long as this certainly loses nothing: if the set can be completed with no step above
/// `capacity`, so it can be afterwards. Lowers `rejected` to the smallest step above the capacity that it
/// found.
void settle(Executed& executed, Bytes capacity, Bytes& rejected, Budget& budget);

}  // namespace stowage::schedule
