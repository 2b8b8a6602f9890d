// Unrolls a model into iterations and granules.
//
// Tensors that take each other over share the granules of the last taker, which gives their size. A granule
// then lives from the first writing to the last reading of any of them; from the start, if the first of them is there
// from the start.
//
// Recomputed rows wait until their former copies have been read. Only this makes an operator need a later
// one.
//
// Cost: the number of (iteration, row it reads) pairs, and memory for the (iteration, granule) pairs.

#include "stream/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/checked.h"
#include "stowage/error.h"

namespace stowage::stream {
namespace {

[[noreturn]] void reject(const std::string& place, std::string problem) {
  throw Error(place, std::move(problem));
}

/// The operator that writes a tensor; none if it is there from the start.
using Writer = std::optional<std::size_t>;

class Unrolling {
 public:
  Unrolling(const RowModel& model, const UnrollOptions& options)
      : model_(model), options_(options), left_(options.limit) {}

  RowProgram run() {
    options_.deadline.spend(work_of_operator * std::ssize(model_.operators));
    note_written();
    find_places();
    for (std::size_t t = 0; t < model_.tensors.size(); ++t) check_extent(model_.tensors[t]);
    for (std::size_t t = 0; t < model_.tensors.size(); ++t) {
      if (places_[t].tensor == t) add_granules(t);
    }
    for (std::size_t t = 0; t < model_.tensors.size(); ++t) ranges_[t] = range_of(t);
    is_given_.resize(program_.granules.size(), false);
    for (std::size_t t = 0; t < model_.tensors.size(); ++t) {
      if (!writers_[t]) note_given(ranges_[t]);
    }
    program_.first.push_back(0);
    for (std::size_t op = 0; op < model_.operators.size() && !is_too_late_; ++op) add_instances(op);
    if (is_too_late_) return {};
    for (std::size_t op = 0; op < model_.operators.size(); ++op) {
      add_releases(op);
      await_former_rows(op);
    }
    for (const Granule& granule : program_.granules) {
      if (granule.writer && is_unread(granule))
        program_.instances[*granule.writer].bytes_dropped += granule.bytes;
    }
    for (std::size_t t = 0; t < model_.tensors.size(); ++t) {
      if (places_[t].tensor == t) count_given(t);
    }
    program_.ranges = std::move(ranges_);
    return std::move(program_);
  }

 private:
  /// The last taker of a tensor, and the shift of the tensor's rows in it.
  struct Place {
    std::size_t tensor = 0;
    std::int64_t shift = 0;
  };

  void find_places() {
    const std::size_t count = model_.tensors.size();
    takers_.resize(count);
    for (std::size_t t = 0; t < count; ++t) {
      const auto& taken = model_.tensors[t].takes_over;
      if (!taken) continue;
      const std::string place = "tensor '" + model_.tensors[t].name + "'";
      const std::size_t of = taken->tensor;
      if (of >= count || takers_[of] || !writers_[t] || model_.tensors[of].stays ||
          taken->shift % model_.tensors[t].granule != 0)
        reject(place, fmt::format("takes over tensor {}, shifted by {} rows", of, taken->shift));
      takers_[of] = t;
    }
    for (std::size_t t = 0; t < count; ++t) {
      Place place{t, 0};
      for (std::size_t steps = 0; takers_[place.tensor]; ++steps) {
        if (steps > count) reject("tensor '" + model_.tensors[t].name + "'", "takes itself over");
        place = {*takers_[place.tensor],
                 place.shift + model_.tensors[*takers_[place.tensor]].takes_over->shift};
      }
      places_.push_back(place);
    }
    ranges_.resize(count);
  }

  static void check_extent(const Tensor& tensor) {
    if (tensor.rows < 1 || tensor.granule < 1 || tensor.bytes_per_row < 0)
      reject("tensor '" + tensor.name + "'",
             fmt::format("has {} rows of {} bytes in granules of {}, expected some", tensor.rows,
                         tensor.bytes_per_row, tensor.granule));
  }

  /// Whether this tensor, or one that it takes over, is whole in every layout.
  [[nodiscard]] bool is_in_one_place(std::size_t t) const {
    const Tensor& tensor = model_.tensors[t];
    return tensor.is_whole || (tensor.takes_over && is_in_one_place(tensor.takes_over->tensor));
  }

  void add_granules(std::size_t t) {
    const Tensor& tensor = model_.tensors[t];
    const Bytes alignment = is_in_one_place(t) ? 1 : options_.alignment;
    const std::int64_t count = (tensor.rows + tensor.granule - 1) / tensor.granule;
    spend(count, "tensor '" + tensor.name + "'");
    ranges_[t] = {static_cast<GranuleId>(program_.granules.size()), count};
    for (std::int64_t g = 0; g < count; ++g) {
      const std::int64_t rows = std::min(tensor.granule, tensor.rows - g * tensor.granule);
      program_.granules.push_back({.bytes = base::align_up(rows * tensor.bytes_per_row, alignment),
                                   .tensor = t,
                                   .stays = tensor.stays});
    }
    if (count > 1 && !is_in_one_place(t)) return;
    Bytes missing = base::align_up(tensor.rows * tensor.bytes_per_row, options_.alignment_of_wholes);
    for (GranuleId g = ranges_[t].first; g < program_.granules.size(); ++g)
      missing -= program_.granules[g].bytes;
    program_.granules.back().bytes += std::max<Bytes>(missing, 0);
  }

  [[nodiscard]] static bool is_unread(const Granule& granule) {
    return granule.last_readers.empty() && !granule.stays;
  }

  /// Counts the bytes of a tensor that are there from the start. One that nobody reads lies in one place.
  void count_given(std::size_t t) {
    Bytes unread = 0;
    Bytes all = 0;
    for (std::int64_t g = 0; g < ranges_[t].count; ++g) {
      const Granule& granule = program_.granules[ranges_[t].first + static_cast<GranuleId>(g)];
      if (granule.writer) continue;
      all += granule.bytes;
      unread += is_unread(granule) ? granule.bytes : 0;
    }
    program_.resident += all - unread;
    program_.unread += unread == all ? base::align_up(unread, options_.alignment_of_wholes) : unread;
  }

  [[nodiscard]] GranuleRange range_of(std::size_t t) const {
    const Tensor& tensor = model_.tensors[t];
    const Place& place = places_[t];
    if (place.tensor == t) return ranges_[t];
    const std::int64_t first = place.shift / tensor.granule;
    const std::int64_t count = (tensor.rows + tensor.granule - 1) / tensor.granule;
    if (place.shift < 0 || first + count > ranges_[place.tensor].count ||
        tensor.granule != model_.tensors[place.tensor].granule)
      reject("tensor '" + tensor.name + "'", fmt::format("does not fit into '{}', shifted by {} rows",
                                                         model_.tensors[place.tensor].name, place.shift));
    return {ranges_[place.tensor].first + static_cast<GranuleId>(first), count};
  }

  void note_given(const GranuleRange& range) {
    const auto first = is_given_.begin() + range.first;
    std::fill(first, first + range.count, true);
  }

  void note_written() {
    writers_.resize(model_.tensors.size());
    for (std::size_t o = 0; o < model_.operators.size(); ++o) {
      const Operator& op = model_.operators[o];
      for (const std::size_t t : op.writes) {
        if (t >= writers_.size())
          reject("operator '" + op.name + "'", fmt::format("writes tensor {}, which there is not", t));
        if (writers_[t])
          reject("operator '" + op.name + "'",
                 fmt::format("writes '{}', which another one has written", model_.tensors[t].name));
        writers_[t] = o;
      }
    }
  }

  void add_instances(std::size_t id) {
    const Operator& op = model_.operators[id];
    const std::string place = "operator '" + op.name + "'";
    if (op.rows < 1 || op.granule < 1)
      reject(place, fmt::format("has {} rows in granules of {}, expected some", op.rows, op.granule));
    for (std::int64_t i = 0; i < op.instances(); ++i) {
      is_too_late_ = is_too_late_ || (i % instances_between_looks == 0 && options_.deadline.is_over());
      if (is_too_late_) return;
      Iteration instance{.op = id, .index = i};
      if (i == 0) {
        for (const std::size_t earlier : op.after)
          add_need({earlier, model_.operators[earlier].instances()}, instance);
      }
      add_reads(op, place, instance);
      add_writes(op, place, instance);
      program_.instances.push_back(std::move(instance));
    }
    program_.first.push_back(static_cast<IterationId>(program_.instances.size()));
    accumulators_.push_back(op.keeps_accumulator() ? std::optional(add_accumulator(op)) : std::nullopt);
    if (op.carrying == Carrying::second_pass) use_sums(op, place);
  }

  void add_reads(const Operator& op, const std::string& place, Iteration& instance) {
    for (const Access& access : op.reads) {
      if (access.tensor >= model_.tensors.size() || access.rows.divisor < 1 || access.rows.dilation < 1 ||
          access.rows.taps < 0)
        reject(place, fmt::format("reads tensor {} with divisor {} and dilation {}", access.tensor,
                                  access.rows.divisor, access.rows.dilation));
      const Tensor& tensor = model_.tensors[access.tensor];
      if (const auto taker = takers_[access.tensor]; taker && *writers_[*taker] < instance.op)
        reject(place, "reads '" + tensor.name + "', which is written over in front of it");
      std::optional<std::int64_t> last;  // of the granules that it reads, the one that is written last
      const bool is_backward = writers_[access.tensor] && model_.operators[*writers_[access.tensor]].backward;
      const auto note = [&](std::int64_t row) {
        const std::int64_t granule = row / tensor.granule;
        last = is_backward ? std::min(last.value_or(granule), granule) : std::max(last.value_or(0), granule);
      };
      const auto read = [&](std::int64_t row) {
        note(row);
        instance.reads.push_back(ranges_[access.tensor].first + static_cast<GranuleId>(row / tensor.granule));
      };
      if (reads_all_rows(access, tensor)) {
        spend(ranges_[access.tensor].count, place);
        for (std::int64_t row = 0; row < tensor.rows; row += tensor.granule) read(row);
      } else {
        const std::int64_t different = access.rows.scale == 0 ? 1 : op.granule;
        spend(different * std::min(access.rows.taps, std::int64_t{1} << 32), place);
        for_each_read(model_, op, access, instance.index, read);
      }
      if (const std::size_t end = end_of_round(op, instance.index); tensor.again.empty()) {
        for (auto i = instance.index + 1; std::cmp_less(i, end); ++i)
          for_each_read(model_, op, access, i, note);
      }
      if (last) need_granule(place, access.tensor, *last, instance);
    }
    std::sort(instance.reads.begin(), instance.reads.end());
    instance.reads.erase(std::unique(instance.reads.begin(), instance.reads.end()), instance.reads.end());
    for (const GranuleId g : instance.reads) note_reader(instance, program_.granules[g]);
    for (const std::size_t read : op.may_overwrite) {
      for_each_read(model_, op, op.reads[read], instance.index, [&](std::int64_t row) {
        const Tensor& tensor = model_.tensors[op.reads[read].tensor];
        const GranuleId g =
            ranges_[op.reads[read].tensor].first + static_cast<GranuleId>(row / tensor.granule);
        if (instance.may_overwrite.empty() || instance.may_overwrite.back() != g)
          instance.may_overwrite.push_back(g);
      });
    }
  }

  /// In every iteration, so that one row of each granule stands for it.
  static bool reads_all_rows(const Access& access, const Tensor& tensor) {
    return access.listed.empty() && !access.tile && tensor.again.empty() &&
           access.rows == RowMap{.scale = 0, .taps = tensor.rows};
  }

  /// The end of the round that begins with an iteration; 0 if none does.
  static std::size_t end_of_round(const Operator& op, std::int64_t index) {
    const auto begin = std::lower_bound(op.rounds.begin(), op.rounds.end(), static_cast<std::size_t>(index));
    const bool is_begin = begin != op.rounds.end() && std::cmp_equal(*begin, index);
    const auto end = is_begin ? std::upper_bound(begin, op.rounds.end(), *begin) : op.rounds.end();
    return end == op.rounds.end() ? 0 : *end;
  }

  /// A granule that is written row by row needs its writer only as far as that.
  void need_granule(const std::string& place, std::size_t tensor, std::int64_t granule, Iteration& instance) {
    if (!writers_[tensor]) return;
    const std::size_t op = *writers_[tensor];
    if (op >= instance.op)
      reject(place, "reads '" + model_.tensors[tensor].name + "', which is written behind it");
    const Operator& writer = model_.operators[op];
    const bool is_by_row = writer.writing_of(tensor) == Writing::row_by_row;
    const std::int64_t before = writer.backward ? ranges_[tensor].count - 1 - granule : granule;
    const std::int64_t round = std::min(ranges_[tensor].count, base::align_up(before + 1, writer.together));
    add_need({op, is_by_row ? writer.instances_for(round) : writer.instances()}, instance);
  }

  static void add_need(const Dependence& need, Iteration& instance) {
    const auto same = std::find_if(instance.needs.begin(), instance.needs.end(),
                                   [&](const Dependence& it) { return it.op == need.op; });
    if (same == instance.needs.end()) {
      instance.needs.push_back(need);
    } else {
      same->count = std::max(same->count, need.count);
    }
  }

  static void note_reader(const Iteration& instance, Granule& granule) {
    if (granule.last_readers.empty() || granule.last_readers.back().op != instance.op)
      granule.last_readers.push_back({instance.op, 0});
    granule.last_readers.back().index = instance.index;
  }

  void add_writes(const Operator& op, const std::string& place, Iteration& instance) {
    const auto id = static_cast<IterationId>(program_.instances.size());
    for (const std::size_t t : op.writes) {
      const Tensor& tensor = model_.tensors[t];
      const bool is_by_row = op.writing_of(t) == Writing::row_by_row;
      if (is_by_row && !op.adds_rows && (tensor.rows != op.rows || tensor.granule != op.granule))
        reject(place,
               fmt::format("writes '{}' of {} rows, expected its own {}", tensor.name, tensor.rows, op.rows));
      if (!is_by_row && instance.index + 1 < op.instances()) continue;
      const std::int64_t begin = is_by_row ? op.granule_of(instance.index) : 0;
      if (is_by_row && op.adds_rows && op.instances_for(begin) != instance.index) continue;
      const std::int64_t end = is_by_row ? begin + 1 : ranges_[t].count;
      for (std::int64_t g = begin; g < end; ++g) {
        const GranuleId granule = ranges_[t].first + static_cast<GranuleId>(g);
        if (is_given_[granule] || program_.granules[granule].writer) {  // it is taken over
          await_readers(program_.granules[granule], instance);
          continue;
        }
        program_.granules[granule].writer = id;
        instance.writes.push_back(granule);
        instance.bytes_written += program_.granules[granule].bytes;
      }
    }
  }

  /// Waits until the other readers of a granule have read it.
  static void await_readers(const Granule& granule, Iteration& instance) {
    for (const LastReader& reader : granule.last_readers) {
      if (reader.op != instance.op) add_need({reader.op, reader.index + 1}, instance);
    }
  }

  /// A recomputed row is in one place at a time, so its former copy must have been read.
  void await_former_rows(std::size_t op) {
    const auto& again = model_.operators[op].again;
    const auto granule = static_cast<std::size_t>(model_.operators[op].granule);
    std::map<std::int64_t, std::size_t> former;
    for (std::size_t i = 0; i * granule < again.size(); ++i) {
      const auto [it, is_first] = former.emplace(again[i * granule], i);
      const std::size_t last = std::exchange(it->second, i);
      if (is_first) continue;
      Iteration& instance = program_.instances[program_.at(op, static_cast<std::int64_t>(i))];
      for (const std::size_t t : model_.operators[op].writes)
        await_readers(program_.granules[ranges_[t].first + static_cast<GranuleId>(last)], instance);
    }
  }

  /// The first iteration writes it, and the last one reads it.
  GranuleId add_accumulator(const Operator& op) {
    const auto id = static_cast<GranuleId>(program_.granules.size());
    const IterationId first = program_.first[program_.first.size() - 2];
    Iteration& start = program_.instances[first];
    Iteration& end = program_.instances.back();
    program_.granules.push_back(
        {.bytes = op.accumulator, .writer = first, .last_readers = {{end.op, end.index}}});
    start.writes.push_back(id);
    start.bytes_written += op.accumulator;
    end.reads.push_back(id);
    return id;
  }

  /// The last iteration reads the sums of the first pass, too.
  void use_sums(const Operator& op, const std::string& place) {
    if (op.passed + 1 >= accumulators_.size() || model_.operators[op.passed].carrying != Carrying::first_pass)
      reject(place, fmt::format("needs the sums of operator {}, which keeps none", op.passed));
    const auto sums = accumulators_[op.passed];
    if (!sums) return;  // they are not counted
    Iteration& end = program_.instances.back();
    program_.granules[*sums].last_readers.push_back({end.op, end.index});
    end.reads.push_back(*sums);
  }

  void add_releases(std::size_t op) {
    for (IterationId i = program_.first[op]; i < program_.first[op + 1]; ++i) {
      Iteration& instance = program_.instances[i];
      for (const GranuleId g : instance.reads) {
        const Granule& granule = program_.granules[g];
        const bool is_last =
            std::any_of(granule.last_readers.begin(), granule.last_readers.end(),
                        [&](const LastReader& it) { return it.op == op && it.index == instance.index; });
        if (is_last && !granule.stays) instance.releases.push_back(g);
      }
    }
  }

  void spend(std::int64_t work, const std::string& place) {
    if (work > left_)
      throw TooLarge(place, "is too large to be streamed, expected fewer rows or larger granules");
    left_ -= work;
    options_.deadline.spend(work_of_read * (1 + work));
  }

  static constexpr std::int64_t instances_between_looks = 256;
  static constexpr std::int64_t work_of_operator = 4000;  ///< With the model that is made for this, mostly.
  static constexpr std::int64_t work_of_read =
      50;  ///< In the units of deadlines, with all that follows from it.

  const RowModel& model_;
  const UnrollOptions& options_;
  std::int64_t left_;
  bool is_too_late_ = false;
  RowProgram program_;
  std::vector<Writer> writers_;
  std::vector<std::optional<GranuleId>> accumulators_;  ///< Of the operators so far.
  std::vector<std::optional<std::size_t>> takers_;
  std::vector<Place> places_;
  std::vector<GranuleRange> ranges_;
  std::vector<bool> is_given_;  ///< Of the granules of tensors: there from the start.
};

}  // namespace

RowProgram unroll(const RowModel& model, const UnrollOptions& options) {
  return Unrolling(model, options).run();
}

State::State(const RowProgram& program, std::size_t operators, Bytes live) : State(program) {
  for (std::size_t op = 0; op < operators; ++op) done_[op] = static_cast<std::int32_t>(program.count(op));
  live_ = live;
}

Bytes State::live_after(std::size_t op) const {
  const Iteration& instance = next(op);
  Bytes live = live_ + instance.bytes_written - instance.bytes_dropped;
  for (const GranuleId g : instance.releases) {
    const Granule& granule = program_->granules[g];
    const bool is_read_by_others =
        granule.last_readers.size() > 1 &&
        std::any_of(granule.last_readers.begin(), granule.last_readers.end(),
                    [&](const LastReader& it) { return it.op != op && done_[it.op] <= it.index; });
    if (!is_read_by_others) live -= granule.bytes;
  }
  return live;
}

}  // namespace stowage::stream
