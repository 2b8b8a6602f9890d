// A query of an attention reads all keys and values of its head. So heads run one after the other, and what
// all rows give waits until the last head has run. If the rows run in tiles, and keys and values are computed again
// for each of them, only the rows of a tile wait:
//
//     once            head 0: keys, values, rows 0 .. 511    head 1: keys, values, rows 0 .. 511    ..
//     two tiles       head 0: keys, values, rows 0 .. 255    head 1: keys, values, rows 0 .. 255    ..
//                     head 0: keys, values, rows 256 .. 511  head 1: ..
//
// This costs the multiplies of keys and values once more for each further tile.
//
// What is computed again ends with a tensor that one operator reads as a whole for each of its rows. It is all that
// only serves this tensor, row by row: the operators that multiply last, what follows them, and what is in front of
// them without multiplies, such as a norm. In the model they have as many iterations for each copy as before, one copy
// after the other. Readers behind the tile wait for all of it, where its rows are narrowest; else each of their rows
// would ask for a row of every head. Orders and bounds need no change. In the layout each copy is a buffer of its own.
//
// All get the same number of tiles: a head that is not in tiles keeps its keys for all rows.
//
// Cost: an order by regions for each number of tiles.

#include "stream/tiles.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "stream/recompute.h"

namespace stowage::stream {
namespace {

constexpr std::int64_t most_tiles = 8;

/// Operators that are computed again for the tiles of a reader.
struct Again {
  std::set<std::size_t> operators{};
  std::size_t reader = 0;
  std::size_t access = 0;  ///< Of the reader, which reads the last one's tensor as a whole.
};

class Tiling {
 public:
  Tiling(const RowModel& model, std::int64_t tiles) : model_(model), links_(model), tiles_(tiles) {}

  RowModel run() {
    RowModel result = model_;
    for (std::size_t op = 0; op < model_.operators.size(); ++op) {
      for (std::size_t a = 0; a < model_.operators[op].reads.size(); ++a) {
        const auto again = again_before(op, a);
        if (again && are_once(*again, result)) compute_again(*again, result);
      }
    }
    return result;
  }

 private:
  /// Rows of a tile of the reader: whole granules.
  [[nodiscard]] std::int64_t tile_of(const Operator& reader) const {
    return base::align_up((reader.rows + tiles_ - 1) / tiles_, reader.granule);
  }

  [[nodiscard]] std::int64_t copies_for(const Operator& reader) const {
    return (reader.rows + tile_of(reader) - 1) / tile_of(reader);
  }

  /// Whether each of the operator's rows reads all of a tensor.
  [[nodiscard]] bool reads_whole(const Operator& op, const Access& access) const {
    const Tensor& tensor = model_.tensors[access.tensor];
    return op.source && op.writing == Writing::row_by_row && op.again.empty() && !op.backward &&
           access.listed.empty() && access.rows.scale == 0 && access.rows.taps == tensor.rows &&
           tensor.rows > 1 && copies_for(op) > 1 &&
           std::ranges::count(op.reads, access.tensor, &Access::tensor) == 1;
  }

  /// All operators in front of a read whose rows serve nothing else, up to the last ones that multiply.
  [[nodiscard]] std::optional<Again> again_before(std::size_t reader, std::size_t access) const {
    const Access& read = model_.operators[reader].reads[access];
    if (!reads_whole(model_.operators[reader], read)) return std::nullopt;
    const std::optional<std::size_t> last = links_.writer[read.tensor];
    if (!last || links_.readers[read.tensor].size() != 1 || !may_run_again(*last)) return std::nullopt;
    Again again{.operators = {*last}, .reader = reader, .access = access};
    std::set<std::size_t> products;  // operators whose rows go into a product
    if (model_.operators[*last].multiplies > 0) products.insert(*last);
    for (std::size_t op = *last; op-- > 0;) {
      if (!may_run_again(op) || !serves_only(again.operators, op)) continue;
      const std::vector<std::size_t>& readers = links_.readers[model_.operators[op].writes[0]];
      const bool multiplies = model_.operators[op].multiplies > 0;
      const bool is_in_product = std::ranges::any_of(readers, [&](auto it) { return products.contains(it); });
      if (multiplies && is_in_product) continue;
      if (multiplies || is_in_product) products.insert(op);
      again.operators.insert(op);
    }
    return are_inputs_there(again) ? std::optional(again) : std::nullopt;
  }

  [[nodiscard]] bool may_run_again(std::size_t op) const {
    const Operator& it = model_.operators[op];
    return is_repeatable(model_, links_, op) && it.rows % it.granule == 0;
  }

  /// Whether just these operators read the operator's rows, each the row that it computes.
  [[nodiscard]] bool serves_only(const std::set<std::size_t>& operators, std::size_t op) const {
    const std::size_t written = model_.operators[op].writes[0];
    const auto is_served = [&](std::size_t reader) {
      const auto& reads = model_.operators[reader].reads;
      return operators.contains(reader) && std::ranges::all_of(reads, [&](const Access& access) {
               return access.tensor != written || access == Access{written};
             });
    };
    const std::vector<std::size_t>& readers = links_.readers[written];
    return !readers.empty() && std::ranges::all_of(readers, is_served);
  }

  /// Whether what the operators read from others stays until they have run for the last time.
  [[nodiscard]] bool are_inputs_there(const Again& again) const {
    const auto is_own = [&](std::size_t tensor) {
      return links_.writer[tensor] && again.operators.contains(*links_.writer[tensor]);
    };
    return std::ranges::all_of(again.operators, [&](std::size_t op) {
      const auto& taken = model_.tensors[model_.operators[op].writes[0]].takes_over;
      if (taken && !is_own(taken->tensor)) return false;
      return std::ranges::all_of(model_.operators[op].reads, [&](const Access& access) {
        const auto taker = links_.taker[access.tensor];
        return is_own(access.tensor) || !taker || *taker > again.reader;
      });
    });
  }

  /// Whether none of them runs again for another reader, or reads copies: copies of copies are not made. Nor may readers
  /// wait for a round of rows that ends in the next copy, which waits for these readers.
  [[nodiscard]] static bool are_once(const Again& again, const RowModel& result) {
    const auto is_once = [&](std::size_t op) {
      const Operator& it = result.operators[op];
      return it.again.empty() &&
             std::ranges::none_of(it.reads, [](const Access& access) { return access.tile.has_value(); });
    };
    const auto is_in_rounds = [&](std::size_t op) {
      const Operator& it = result.operators[op];
      return it.rows % (it.together * it.granule) == 0;
    };
    return is_once(again.reader) && std::ranges::all_of(again.operators, is_once) &&
           std::ranges::all_of(again.operators, is_in_rounds);
  }

  void compute_again(const Again& again, RowModel& result) const {
    Operator& reader = result.operators[again.reader];
    const std::int64_t copies = copies_for(reader);
    for (const std::size_t o : again.operators) {
      Operator& op = result.operators[o];
      Tensor& tensor = result.tensors[op.writes[0]];
      for (std::int64_t copy = 0; copy < copies; ++copy) {
        for (std::int64_t row = 0; row < tensor.rows; ++row) tensor.again.push_back(row);
      }
      op.again = tensor.again;
      op.rows *= copies;
      op.multiplies *= copies;
      tensor.rows = op.rows;
      tensor.copies = copies;
    }
    reader.reads[again.access].tile = tile_of(reader);
    Operator& narrowest = result.operators[narrowest_behind(model_, again.reader, Beside::wholes)];
    narrowest.together = tile_of(reader) / narrowest.granule;
  }

  const RowModel& model_;
  const Links links_;
  const std::int64_t tiles_;
};

}  // namespace

RowModel in_tiles(const RowModel& model, std::int64_t tiles) { return Tiling(model, tiles).run(); }

RowModel tiles_within(const RowModel& model, double factor, const TrialEffort& effort) {
  const std::int64_t most = multiplies_within(model, factor);
  RowModel best = model;
  std::optional<Bytes> least;
  for (std::int64_t tiles = 2; tiles <= most_tiles && !effort.deadline.is_over(); ++tiles) {
    RowModel tiled = in_tiles(model, tiles);
    if (tiled == model || multiplies_of(tiled) > most) break;
    if (!least) least = least_peak_of(model, effort);
    const Bytes peak = least_peak_of(tiled, effort, *least - 1);
    if (peak >= *least) continue;
    least = peak;
    best = std::move(tiled);
  }
  return best;
}

}  // namespace stowage::stream
