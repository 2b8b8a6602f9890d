#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "pack/ejection_search.h"
#include "pack/meetings.h"
#include "pack/placing.h"
#include "stowage/units.h"

namespace stowage::pack {

/// What searches of a descent read; what it refers to must outlive them.
struct DescentItems {
  std::span<const Movable> movables{};
  std::function<ClashesOf()> clashes{};  ///< For a search of its own.
  const Meetings* meetings = nullptr;
  std::int64_t pairs = 0;  ///< That meet.
  Bytes first_part = 8;    ///< A cap is lowered by 1 / part of the gap, at first.
  /// Neighbours that a search looks at in vain until it begins anew, for each pair; doubled up to eight times as much.
  std::int64_t patience_per_pair = 2'000;
  std::int64_t most_failures = 12;  ///< Of all searches in a row, until the end.
  bool drops = false;               ///< Whether all items of a new placing drop as low as they can.
};

/// Lowers a placing, cap by cap; see descents.cc.
class Descents {
 public:
  /// The offsets are a placing, and no placing is lower than `bound`. Progress is reported as that of `what`.
  Descents(DescentItems items, std::vector<Bytes> offsets, Bytes bound, const Control& control,
           std::string_view what);
  ~Descents();
  Descents(const Descents&) = delete;
  Descents& operator=(const Descents&) = delete;
  Descents(Descents&&) = delete;
  Descents& operator=(Descents&&) = delete;

  /// Searches until the bound is reached, the time is up, or nothing more is found.
  void run();

  [[nodiscard]] const std::vector<Bytes>& offsets() const { return best_; }
  [[nodiscard]] Bytes peak() const { return peak_; }

 private:
  class Descent;

  [[nodiscard]] bool is_done() const;
  void run_slice(std::int64_t work);
  bool take_lowest();
  std::int64_t start_failed_anew();
  [[nodiscard]] Bytes peak_of(std::span<const Bytes> offsets) const;

  const DescentItems items_;
  const Bytes bound_;
  const Control& control_;
  const std::string_view what_;
  std::vector<std::unique_ptr<Descent>> descents_{};
  std::vector<Bytes> best_;
  Bytes peak_ = 0;
};

}  // namespace stowage::pack
