// An operator's iterations are integer points. Its reads and writes are relations between points and
// granules, given by linear constraints. An order maps iterations to times (t, position), compared
// lexicographically:
//
//     iteration --writes--> granule <--reads-- iteration'         times:  a  |   . a   a a   a
//        |                                        |                       b  |       b     b
//        +--> time       must be before       time' <--+                     +-----------------> t
//
//   legal:   the relation of granules that are read at or before their writing time is empty
//   live:    {granule -> time of a step : written <= time, and a reading is not before it}
//   window:  the most granules that live relates to one time; its points are visited one by one
//
// This code shares nothing with the replay, so each tests the other. Only window visits single granules.
//
// Source: the patent on polyhedral scheduling (docs/streaming.md): operators as polyhedra in one reference
// space, orders as affine maps, cost in granules.
// Sets and relations: S. Verdoolaege, "isl: An Integer Set Library for the Polyhedral Model", 2010.
//
// Cost: emptiness is integer programming, bounded by `effort`; in practice linear in the number of accesses.

#include "stream/polyhedra.h"

#include <fmt/format.h>
#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>

namespace stowage::stream {
namespace {

struct Free {
  void operator()(isl_ctx* it) const { isl_ctx_free(it); }
  void operator()(isl_map* it) const { isl_map_free(it); }
  void operator()(isl_set* it) const { isl_set_free(it); }
};

using Context = std::unique_ptr<isl_ctx, Free>;
using Map = std::unique_ptr<isl_map, Free>;
using Set = std::unique_ptr<isl_set, Free>;

// The library takes ownership of its arguments. It returns null once the effort is used up, and for null.

Map inverse(Map map) { return Map(isl_map_reverse(map.release())); }
Map then(Map first, Map second) { return Map(isl_map_apply_range(first.release(), second.release())); }
Map both(Map a, Map b) { return Map(isl_map_intersect(a.release(), b.release())); }
Map either(Map a, Map b) { return Map(isl_map_union(a.release(), b.release())); }
Map copy(const Map& map) { return Map(isl_map_copy(map.get())); }
Map not_after(Map a, Map b) { return Map(isl_map_lex_le_map(a.release(), b.release())); }

using Tally = std::map<std::int64_t, std::map<std::int64_t, std::int64_t>>;

std::int64_t coordinate(isl_point* point, int position) {
  isl_val* const value = isl_point_get_coordinate_val(point, isl_dim_set, position);
  const std::int64_t number = isl_val_get_num_si(value);
  isl_val_free(value);
  return number;
}

/// A point (granule, t, position).
isl_stat count_at_time(isl_point* point, void* user) {
  ++(*static_cast<Tally*>(user))[coordinate(point, 1)][coordinate(point, 2)];
  isl_point_free(point);
  return isl_stat_ok;
}

class Relations {
 public:
  Relations(const RowModel& model, const std::vector<AffineTime>& times, unsigned long effort)
      : model_(model), times_(times), context_(isl_ctx_alloc()) {
    isl_options_set_on_error(context_.get(), ISL_ON_ERROR_CONTINUE);
    isl_ctx_set_max_operations(context_.get(), effort);
    steps_ = steps();
  }

  [[nodiscard]] std::optional<bool> is_legal() const {
    for (std::size_t t = 0; t < model_.tensors.size(); ++t) {
      const Map written = writing_times(t);
      const Map read = reading_times(t);
      if (!written || !read) return std::nullopt;
      // granule -> granule that is written at or after the reading of the first; both must be the same
      Map wrong = not_after(copy(read), copy(written));
      wrong = both(std::move(wrong), parse("{ [g] -> [g] }"));
      const isl_bool is_empty = isl_map_is_empty(wrong.get());
      if (is_empty == isl_bool_error) return std::nullopt;
      if (is_empty == isl_bool_false) return false;
    }
    return comes_after_all();
  }

  [[nodiscard]] std::optional<std::int64_t> window(std::size_t t) const {
    const Map live = live_times(t);
    const Set points(isl_map_wrap(copy(live).release()));
    const Set flat(isl_set_flatten(isl_set_copy(points.get())));
    Tally tally;
    if (!flat || isl_set_foreach_point(flat.get(), count_at_time, &tally) != isl_stat_ok) return std::nullopt;
    std::int64_t most = 0;
    for (const auto& [time, positions] : tally) {
      for (const auto& [position, count] : positions) most = std::max(most, count);
    }
    return most;
  }

 private:
  /// Whether each operator begins when all that it waits for have ended.
  [[nodiscard]] std::optional<bool> comes_after_all() const {
    for (std::size_t o = 0; o < model_.operators.size(); ++o) {
      for (const std::size_t earlier : model_.operators[o].after) {
        const std::int64_t last = model_.operators[earlier].instances() - 1;
        const Map end = then(parse(fmt::format("{{ [0] -> [{}] }}", last)), time_of(earlier));
        const Map begin = then(parse("{ [0] -> [0] }"), time_of(o));
        if (!end || !begin) return std::nullopt;
        const Map wrong = not_after(copy(begin), copy(end));
        const isl_bool is_empty = isl_map_is_empty(wrong.get());
        if (is_empty == isl_bool_error) return std::nullopt;
        if (is_empty == isl_bool_false) return false;
      }
    }
    return true;
  }

  [[nodiscard]] Map parse(const std::string& text) const {
    return Map(isl_map_read_from_str(context_.get(), text.c_str()));
  }

  [[nodiscard]] Map time_of(std::size_t op) const {
    const AffineTime& time = times_[op];
    return parse(fmt::format("{{ [i] -> [t, p] : t = {}i + {} and p = {} and 0 <= i < {} }}", time.scale,
                             time.shift, time.position, model_.operators[op].instances()));
  }

  /// [iteration] -> [granule]
  [[nodiscard]] Map reads(const Operator& op, const Access& access) const {
    const Tensor& tensor = model_.tensors[access.tensor];
    return parse(fmt::format(
        "{{ [i] -> [g] : exists b, r, k, f, x : b = {9} and {0}b <= r < {0}b + {0} and 0 <= r < {1} and 0 <= "
        "k < {2} and "
        "{3}f <= {4}r + {5} < {3}f + {3} and x = f + {6}k and 0 <= x < {7} and {8}g <= x < {8}g + {8} }}",
        op.granule, op.rows, access.rows.taps, access.rows.divisor, access.rows.scale, access.rows.offset,
        access.rows.dilation, tensor.rows, tensor.granule, block_of(op)));
  }

  /// The row block of iteration i.
  static std::string block_of(const Operator& op) {
    return op.backward ? fmt::format("{} - i", op.instances() - 1) : "i";
  }

  [[nodiscard]] Map writes(const Operator& op, std::size_t t) const {
    const Tensor& tensor = model_.tensors[t];
    const std::int64_t granules = (tensor.rows + tensor.granule - 1) / tensor.granule;
    return op.writing_of(t) == Writing::row_by_row
               ? parse(fmt::format("{{ [i] -> [{}] : 0 <= i < {} }}", block_of(op), granules))
               : parse(fmt::format("{{ [{}] -> [g] : 0 <= g < {} }}", op.instances() - 1, granules));
  }

  /// [granule] -> [t, p], like all that follow. Empty if no operator writes the tensor.
  [[nodiscard]] Map writing_times(std::size_t t) const {
    Map all = parse("{ [g] -> [t, p] : false }");
    for (std::size_t o = 0; o < model_.operators.size(); ++o) {
      const auto& written = model_.operators[o].writes;
      if (std::find(written.begin(), written.end(), t) != written.end())
        all = either(std::move(all), then(inverse(writes(model_.operators[o], t)), time_of(o)));
    }
    return all;
  }

  [[nodiscard]] Map reading_times(std::size_t t) const {
    Map all = parse("{ [g] -> [t, p] : false }");
    for (std::size_t o = 0; o < model_.operators.size(); ++o) {
      for (const Access& access : model_.operators[o].reads) {
        if (access.tensor == t)
          all = either(std::move(all), then(inverse(reads(model_.operators[o], access)), time_of(o)));
      }
    }
    return all;
  }

  /// Maps the time of each step to itself.
  [[nodiscard]] Map steps() const {
    Map all = parse("{ [t, p] -> [t, p] : false }");
    for (std::size_t o = 0; o < model_.operators.size(); ++o)
      all = either(std::move(all), then(inverse(time_of(o)), time_of(o)));
    return all;
  }

  [[nodiscard]] bool is_written(std::size_t t) const {
    return std::any_of(model_.operators.begin(), model_.operators.end(), [&](const Operator& op) {
      return std::find(op.writes.begin(), op.writes.end(), t) != op.writes.end();
    });
  }

  [[nodiscard]] Map live_times(std::size_t t) const {
    const Tensor& tensor = model_.tensors[t];
    const std::int64_t granules = (tensor.rows + tensor.granule - 1) / tensor.granule;
    Map begun = is_written(t)
                    ? not_after(writing_times(t), copy(steps_))
                    : then(parse(fmt::format("{{ [g] -> [t, p] : 0 <= g < {} }}", granules)), copy(steps_));
    if (tensor.stays) return begun;
    Map ending = either(writing_times(t), reading_times(t));
    return both(std::move(begun), inverse(not_after(copy(steps_), std::move(ending))));
  }

  const RowModel& model_;
  const std::vector<AffineTime>& times_;
  Context context_;
  Map steps_{};  ///< Freed before its context.
};

}  // namespace

std::optional<bool> is_legal(const RowModel& model, const std::vector<AffineTime>& times,
                             unsigned long effort) {
  return Relations(model, times, effort).is_legal();
}

std::optional<std::vector<std::int64_t>> windows(const RowModel& model, const std::vector<AffineTime>& times,
                                                 unsigned long effort) {
  const Relations relations(model, times, effort);
  std::vector<std::int64_t> all;
  for (std::size_t t = 0; t < model.tensors.size(); ++t) {
    const auto window = relations.window(t);
    if (!window) return std::nullopt;
    all.push_back(*window);
  }
  return all;
}

}  // namespace stowage::stream
