#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pack/ejection_search.h"
#include "pack/placing.h"
#include "pack/random.h"

namespace stowage::pack::relations {

/// Lowers placings by other orders in which items drop into the lowest gap; see orders.cc.
class OrderSearch {
 public:
  /// `met` lists what each item meets. Both are referred to. No placing is lower than `bound`.
  OrderSearch(std::span<const Movable> movables, std::span<const std::vector<std::uint32_t>> met, Bytes bound,
              std::uint64_t seed);

  /// Searches from a placing on until the bound is reached or the time is up, at most for so many steps.
  void run(std::span<const Bytes> offsets, const Control& control);

  /// The lowest placing so far.
  [[nodiscard]] const std::vector<Bytes>& offsets() const { return best_; }
  [[nodiscard]] Bytes peak() const { return best_peak_; }

 private:
  /// An item of the placing.
  struct Placed {
    Bytes begin = 0;
    Bytes end = 0;
    std::uint32_t item = 0;
  };

  void begin(std::span<const Bytes> offsets);
  void step(double temperature);
  [[nodiscard]] std::uint32_t critical();
  [[nodiscard]] bool place(std::size_t first, std::size_t last, std::span<const std::uint32_t> moved,
                           Bytes limit);
  [[nodiscard]] Bytes lowest(std::uint32_t item, std::size_t position);
  void move(std::uint32_t item, Bytes offset);
  void flip(std::uint32_t item) { changed_[item / 64] ^= std::uint64_t{1} << item % 64; }
  void number(std::size_t first, std::size_t last);
  void keep();

  std::span<const Movable> movables_;
  std::span<const std::vector<std::uint32_t>> met_;
  const Bytes bound_;
  Random random_;
  std::size_t pins_ = 0;  ///< Pinned items are the first of all orders.
  std::size_t words_;     ///< Of a row of bits.
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint64_t> changed_{};  ///< A bit for each item that an order has moved elsewhere.
  std::vector<std::uint32_t> order_{};
  std::vector<std::uint32_t> position_;  ///< In the order.
  std::vector<Placed> row_{};            ///< All items by rising begin.
  std::vector<Bytes> offsets_;
  std::vector<std::uint32_t> kept_order_{};  ///< As accepted last.
  std::vector<Placed> kept_row_{};
  std::vector<Bytes> kept_offsets_{};
  Bytes peak_ = 0;
  std::vector<Bytes> best_{};
  Bytes best_peak_ = 0;
  std::int64_t work_ = 0;
};

}  // namespace stowage::pack::relations
