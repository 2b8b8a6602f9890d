// Unrolling a model into instances and granules.
//
// Cost: the number of (instance, row it reads) pairs, and as much memory for those of (instance, granule).

#include "stream/program.h"

#include <fmt/format.h>

#include <algorithm>

#include "stowage/error.h"

namespace stowage::stream {
namespace {

[[noreturn]] void reject(const std::string& place, std::string problem) {
  throw Error(place, std::move(problem));
}

/// The granules of a tensor are consecutive.
struct Range {
  GranuleId first = 0;
  std::int64_t count = 0;
};

class Unrolling {
 public:
  Unrolling(const Model& model, std::int64_t limit) : model_(model), left_(limit) {}

  Program run() {
    for (const Tensor& tensor : model_.tensors) add_granules(tensor);
    note_written();
    program_.first.push_back(0);
    for (std::size_t op = 0; op < model_.operators.size(); ++op) add_instances(op);
    for (std::size_t op = 0; op < model_.operators.size(); ++op) add_releases(op);
    for (Granule& granule : program_.granules) {
      if (!granule.writer) {
        program_.resident += granule.last_readers.empty() && !granule.stays ? 0 : granule.bytes;
      } else if (granule.last_readers.empty() && !granule.stays) {
        program_.instances[*granule.writer].bytes_dropped += granule.bytes;
      }
    }
    return std::move(program_);
  }

 private:
  void add_granules(const Tensor& tensor) {
    if (tensor.rows < 1 || tensor.granule < 1 || tensor.bytes_per_row < 0)
      reject("tensor '" + tensor.name + "'",
             fmt::format("has {} rows of {} bytes in granules of {}, expected some", tensor.rows,
                         tensor.bytes_per_row, tensor.granule));
    const std::int64_t count = (tensor.rows + tensor.granule - 1) / tensor.granule;
    spend(count, "tensor '" + tensor.name + "'");
    ranges_.push_back({static_cast<GranuleId>(program_.granules.size()), count});
    for (std::int64_t g = 0; g < count; ++g) {
      const std::int64_t rows = std::min(tensor.granule, tensor.rows - g * tensor.granule);
      program_.granules.push_back(
          {.bytes = rows * tensor.bytes_per_row, .tensor = ranges_.size() - 1, .stays = tensor.stays});
    }
  }

  void note_written() {
    is_written_.resize(model_.tensors.size());
    for (const Operator& op : model_.operators) {
      for (const std::size_t t : op.writes) {
        if (t >= is_written_.size())
          reject("operator '" + op.name + "'", fmt::format("writes tensor {}, which there is not", t));
        is_written_[t] = true;
      }
    }
  }

  void add_instances(std::size_t id) {
    const Operator& op = model_.operators[id];
    const std::string place = "operator '" + op.name + "'";
    if (op.rows < 1 || op.granule < 1)
      reject(place, fmt::format("has {} rows in granules of {}, expected some", op.rows, op.granule));
    for (std::int64_t i = 0; i < op.instances(); ++i) {
      Instance instance{.op = id, .index = i};
      add_reads(op, place, instance);
      add_writes(op, place, instance);
      program_.instances.push_back(std::move(instance));
    }
    program_.first.push_back(static_cast<InstanceId>(program_.instances.size()));
    if (op.accumulator > 0 && op.instances() > 1) add_accumulator(op);
  }

  void add_reads(const Operator& op, const std::string& place, Instance& instance) {
    for (const Access& access : op.reads) {
      if (access.tensor >= model_.tensors.size() || access.rows.divisor < 1 || access.rows.dilation < 1 ||
          access.rows.taps < 0)
        reject(place, fmt::format("reads tensor {} with divisor {} and dilation {}", access.tensor,
                                  access.rows.divisor, access.rows.dilation));
      const Tensor& tensor = model_.tensors[access.tensor];
      const std::int64_t end = std::min(op.rows, (instance.index + 1) * op.granule);
      for (std::int64_t r = instance.index * op.granule; r < end; ++r) {
        spend(std::min(access.rows.taps, std::int64_t{1} << 32), place);
        for_each_row(access.rows, tensor.rows, r, [&](std::int64_t row) {
          instance.reads.push_back(ranges_[access.tensor].first +
                                   static_cast<GranuleId>(row / tensor.granule));
        });
      }
    }
    std::sort(instance.reads.begin(), instance.reads.end());
    instance.reads.erase(std::unique(instance.reads.begin(), instance.reads.end()), instance.reads.end());
    for (const GranuleId g : instance.reads) note_reader(place, instance, program_.granules[g]);
  }

  /// A granule that is not written by now is resident: operators stand behind those they read from.
  void note_reader(const std::string& place, Instance& instance, Granule& granule) {
    if (granule.writer) {
      const Instance& writer = program_.instances[*granule.writer];
      const auto same = std::find_if(instance.needs.rbegin(), instance.needs.rend(),
                                     [&](const Need& it) { return it.op == writer.op; });
      if (same == instance.needs.rend()) {
        instance.needs.push_back({writer.op, writer.index + 1});
      } else {
        same->count = std::max(same->count, writer.index + 1);
      }
    } else if (is_written_[*granule.tensor]) {
      reject(place, "reads '" + model_.tensors[*granule.tensor].name + "', which is written behind it");
    }
    if (granule.last_readers.empty() || granule.last_readers.back().op != instance.op)
      granule.last_readers.push_back({instance.op, 0});
    granule.last_readers.back().index = instance.index;
  }

  void add_writes(const Operator& op, const std::string& place, Instance& instance) {
    const auto id = static_cast<InstanceId>(program_.instances.size());
    for (const std::size_t t : op.writes) {
      const Tensor& tensor = model_.tensors[t];
      const bool is_by_row = op.writing == Writing::row_by_row;
      if (is_by_row && (tensor.rows != op.rows || tensor.granule != op.granule))
        reject(place,
               fmt::format("writes '{}' of {} rows, expected its own {}", tensor.name, tensor.rows, op.rows));
      if (!is_by_row && instance.index + 1 < op.instances()) continue;
      const std::int64_t begin = is_by_row ? instance.index : 0;
      const std::int64_t end = is_by_row ? begin + 1 : ranges_[t].count;
      for (std::int64_t g = begin; g < end; ++g) {
        const GranuleId granule = ranges_[t].first + static_cast<GranuleId>(g);
        if (program_.granules[granule].writer)
          reject(place, "writes '" + tensor.name + "', which another one has written");
        program_.granules[granule].writer = id;
        instance.writes.push_back(granule);
        instance.bytes_written += program_.granules[granule].bytes;
      }
    }
  }

  /// Written by the first instance and read by the last.
  void add_accumulator(const Operator& op) {
    const auto id = static_cast<GranuleId>(program_.granules.size());
    const InstanceId first = program_.first[program_.first.size() - 2];
    Instance& start = program_.instances[first];
    Instance& end = program_.instances.back();
    program_.granules.push_back(
        {.bytes = op.accumulator, .writer = first, .last_readers = {{end.op, end.index}}});
    start.writes.push_back(id);
    start.bytes_written += op.accumulator;
    end.reads.push_back(id);
  }

  void add_releases(std::size_t op) {
    for (InstanceId i = program_.first[op]; i < program_.first[op + 1]; ++i) {
      Instance& instance = program_.instances[i];
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
    if (work > left_) reject(place, "is too large to be streamed, expected fewer rows or larger granules");
    left_ -= work;
  }

  const Model& model_;
  std::int64_t left_;
  Program program_;
  std::vector<Range> ranges_;
  std::vector<bool> is_written_;
};

}  // namespace

Program unroll(const Model& model, std::int64_t limit) { return Unrolling(model, limit).run(); }

}  // namespace stowage::stream
