// Writes a TFLite file with another plan. The file is a flatbuffer: tables refer to others by distances,
// which always lead forward. So all changed parts are made anew and put before the old file, which keeps
// every byte:
//
//     | new root, vectors, plan | old root, metadata, subgraphs, operators, tensors, buffers, ... |
//            |        |                                 ^                     ^           ^
//            |        +---------------------------------+---------------------+-----------+
//            +--> the same operator codes, tensors, names, signatures
//
// The new part is a multiple of 64 bytes, so that alignments are kept. Data after the flatbuffer is found by
// its distance from the start of the file, so buffers with such data are made anew, too. The builder writes
// from the end: it gets the old file first, followed by zeros up to a multiple of 64, which are cut off
// again.
//
// Cost: the size of the file.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "base/text.h"
#include "import/tflite_tables.h"
#include "stowage/error.h"
#include "stowage/tflm.h"

namespace stowage {
namespace {

using flatbuffers::Offset;
using flatbuffers::Vector;
using import::at;
using import::count;
using import::TfliteFile;
template <typename Table>
using Tables = Vector<Offset<Table>>;

constexpr std::string_view entry_name = "OfflineMemoryAllocation";
constexpr std::size_t header_words = 3;  // version, subgraphs, tensors
constexpr std::size_t front_alignment = 64;
constexpr std::size_t data_alignment = 16;
/// Most bytes of vectors and tables in the new part for every element of the old file.
constexpr std::size_t front_bytes_per_element = 64;
constexpr std::size_t room_for_more = 1 << 16;

template <typename... Values>
[[noreturn]] void reject(std::string place, fmt::format_string<Values...> problem, Values&&... values) {
  throw Error(std::move(place), fmt::format(problem, std::forward<Values>(values)...));
}

bool is_plan(const tflite::Metadata& entry) {
  return entry.name() != nullptr && entry.name()->string_view() == entry_name;
}

std::size_t tensors_of(const tflite::Model& model) {
  std::size_t tensors = 0;
  for (std::size_t s = 0; s < count(model.subgraphs()); ++s)
    tensors += count(at(model.subgraphs(), s).tensors());
  return tensors;
}

/// A small file that lists one thing many times must not become a large one.
void expect_no_repeats(const TfliteFile& file) {
  import::ReadingBudget budget(file.bytes().size());
  for (std::size_t s = 0; s < count(file.model().subgraphs()); ++s) {
    const tflite::SubGraph& subgraph = at(file.model().subgraphs(), s);
    budget.spend((1 + count(subgraph.tensors()) + count(subgraph.operators())) * import::smallest_table);
  }
}

/// Data after the flatbuffer, with an offset from the start of the file.
bool is_behind(std::uint64_t offset) { return offset > 1; }

/// Rejects fields of later versions of the format, which would be lost.
void expect_fields(const flatbuffers::Table& table, std::size_t known, const std::string& place) {
  constexpr std::size_t words_before_fields = 2;
  const std::uint8_t* const layout = table.GetVTable();
  const std::size_t words = flatbuffers::ReadScalar<flatbuffers::voffset_t>(layout) / sizeof(std::uint16_t);
  for (std::size_t field = known; field + words_before_fields < words; ++field) {
    const auto entry =
        static_cast<flatbuffers::voffset_t>((field + words_before_fields) * sizeof(std::uint16_t));
    if (table.GetOptionalFieldOffset(entry) != 0)
      reject(place, "has field {}, expected {} fields of a known meaning", field, known);
  }
}

template <typename Table>
const flatbuffers::Table& plain(const Table& table) {
  return reinterpret_cast<const flatbuffers::Table&>(table);
}

class Rewriter {
 public:
  explicit Rewriter(std::string_view bytes)
      : file_({.bytes = bytes}), model_(file_.model()), builder_(file_.bytes().size() + room_for_more) {
    expect_no_repeats(file_);
    expect_movable();
    const std::size_t size = file_.bytes().size();
    padding_ = (front_alignment - size % front_alignment) % front_alignment;
    std::size_t elements = count(model_.buffers()) + count(model_.metadata()) + count(model_.subgraphs());
    for (std::size_t s = 0; s < count(model_.subgraphs()); ++s)
      elements += count(at(model_.subgraphs(), s).operators()) + count(at(model_.subgraphs(), s).tensors());
    if (size + elements * front_bytes_per_element + room_for_more >= FLATBUFFERS_MAX_BUFFER_SIZE)
      reject("", "has {} bytes, with a plan that would be more than 2 GiB, expected less", size);
    builder_.Pad(padding_);
    builder_.PushBytes(reinterpret_cast<const std::uint8_t*>(file_.bytes().data()), size);
    builder_.Align(front_alignment);
  }

  /// The new file: with a plan, or without any.
  std::string run(const OfflinePlan* plan) {
    const auto subgraphs = plan == nullptr ? old(model_.subgraphs()) : write_subgraphs(plan->orders);
    write_buffers(plan);
    const auto metadata = write_metadata(plan != nullptr);
    const auto buffers = buffers_.empty() ? 0 : builder_.CreateVector(buffers_);
    tflite::FinishModelBuffer(
        builder_, tflite::CreateModel(builder_, model_.version(), old(model_.operator_codes()), subgraphs,
                                      old(model_.description()), buffers, old(model_.metadata_buffer()),
                                      metadata, old(model_.signature_defs())));
    move_data_behind();
    return std::string(reinterpret_cast<const char*>(builder_.GetBufferPointer()),
                       builder_.GetSize() - padding_);
  }

 private:
  void expect_movable() const {
    expect_fields(plain(model_), 8, "model");
    for (std::size_t i = 0; i < count(model_.metadata()); ++i) {
      const std::size_t buffer = at(model_.metadata(), i).buffer();
      if (buffer >= count(model_.buffers()))
        reject(fmt::format("metadata {}", i), "has its data in buffer {}, but there are {} buffers", buffer,
               count(model_.buffers()));
    }
    for (std::size_t s = 0; s < count(model_.subgraphs()); ++s) {
      const tflite::SubGraph& subgraph = at(model_.subgraphs(), s);
      for (std::size_t o = 0; o < count(subgraph.operators()); ++o) {
        if (is_behind(at(subgraph.operators(), o).large_custom_options_offset()))
          reject(fmt::format("operator {} of subgraph {}", o, s),
                 "has its options behind the flatbuffer, expected them in it");
      }
    }
  }

  /// A part of the old file in the builder's terms: its distance from the end.
  template <typename Part>
  Offset<Part> old(const Part* part) const {
    if (part == nullptr) return 0;
    const auto place = reinterpret_cast<const char*>(part) - file_.bytes().data();
    return static_cast<flatbuffers::uoffset_t>(file_.bytes().size() + padding_ -
                                               static_cast<std::size_t>(place));
  }

  Offset<Tables<tflite::SubGraph>> write_subgraphs(const std::vector<std::vector<std::size_t>>& orders) {
    if (orders.empty()) return old(model_.subgraphs());
    if (orders.size() != count(model_.subgraphs()))
      throw UsageError(fmt::format("a plan orders {} subgraphs, the file has {}", orders.size(),
                                   count(model_.subgraphs())));
    std::vector<Offset<tflite::SubGraph>> subgraphs;
    for (std::size_t s = 0; s < orders.size(); ++s)
      subgraphs.push_back(write_subgraph(at(model_.subgraphs(), s), orders[s], s));
    return builder_.CreateVector(subgraphs);
  }

  Offset<tflite::SubGraph> write_subgraph(const tflite::SubGraph& subgraph,
                                          const std::vector<std::size_t>& order, std::size_t s) {
    if (std::is_sorted(order.begin(), order.end()) &&
        (order.empty() || order.size() == count(subgraph.operators())))
      return old(&subgraph);
    const std::set<std::size_t> different(order.begin(), order.end());
    if (order.size() != count(subgraph.operators()) || different.size() != order.size() ||
        *different.rbegin() + 1 != order.size())
      throw UsageError(fmt::format("a plan's order of subgraph {} is not one of its {} operators", s,
                                   count(subgraph.operators())));
    expect_fields(plain(subgraph), 6, fmt::format("subgraph {}", s));
    std::vector<Offset<tflite::Operator>> operators;
    for (const std::size_t op : order) operators.push_back(old(&at(subgraph.operators(), op)));
    return tflite::CreateSubGraph(builder_, old(subgraph.tensors()), old(subgraph.inputs()),
                                  old(subgraph.outputs()), builder_.CreateVector(operators),
                                  old(subgraph.name()), subgraph.debug_metadata_index());
  }

  void write_buffers(const OfflinePlan* plan) {
    for (std::size_t b = 0; b < count(model_.buffers()); ++b)
      buffers_.push_back(write_buffer(at(model_.buffers(), b), b));
    free_old_plans();
    if (plan == nullptr) return;
    if (buffers_.empty()) buffers_.push_back(tflite::CreateBuffer(builder_));  // of tensors without data
    if (!plan_buffer_) {
      plan_buffer_ = buffers_.size();
      buffers_.emplace_back();
    }
    buffers_[*plan_buffer_] = write_plan(plan->offsets);
  }

  Offset<tflite::Buffer> write_buffer(const tflite::Buffer& buffer, std::size_t b) {
    if (!is_behind(buffer.offset())) return old(&buffer);
    expect_fields(plain(buffer), 3, fmt::format("buffer {}", b));
    behind_.push_back(b);
    return tflite::CreateBuffer(builder_, old(buffer.data()), buffer.offset(), buffer.size());
  }

  /// Empties buffers of plans that nothing else uses. One of them takes the new plan; without a new plan,
  /// those at the end are removed.
  void free_old_plans() {
    std::set<std::size_t> plans;
    for (std::size_t i = 0; i < count(model_.metadata()); ++i) {
      if (is_plan(at(model_.metadata(), i))) plans.insert(at(model_.metadata(), i).buffer());
    }
    for (const std::size_t used : buffers_in_use()) plans.erase(used);
    if (plans.empty()) return;
    for (const std::size_t b : plans) buffers_[b] = tflite::CreateBuffer(builder_);
    std::erase_if(behind_, [&](std::size_t b) { return plans.contains(b); });
    plan_buffer_ = *plans.begin();
    free_ = std::move(plans);
  }

  [[nodiscard]] std::set<std::size_t> buffers_in_use() const {
    std::set<std::size_t> used{0};
    for (std::size_t s = 0; s < count(model_.subgraphs()); ++s) {
      const tflite::SubGraph& subgraph = at(model_.subgraphs(), s);
      for (std::size_t t = 0; t < count(subgraph.tensors()); ++t)
        used.insert(at(subgraph.tensors(), t).buffer());
    }
    for (std::size_t i = 0; i < count(model_.metadata()); ++i) {
      if (!is_plan(at(model_.metadata(), i))) used.insert(at(model_.metadata(), i).buffer());
    }
    for (std::size_t i = 0; i < count(model_.metadata_buffer()); ++i) {
      const auto index = static_cast<flatbuffers::uoffset_t>(i);
      if (const std::int32_t b = model_.metadata_buffer()->Get(index); b >= 0)
        used.insert(static_cast<std::size_t>(b));
    }
    return used;
  }

  Offset<tflite::Buffer> write_plan(const OfflineOffsets& offsets) {
    if (offsets.size() != tensors_of(model_))
      throw UsageError(
          fmt::format("a plan is for {} tensors, the file has {}", offsets.size(), tensors_of(model_)));
    std::vector<std::int32_t> words{1, static_cast<std::int32_t>(count(model_.subgraphs())),
                                    static_cast<std::int32_t>(offsets.size())};
    for (const std::optional<Bytes>& offset : offsets) {
      if (offset && (*offset < 0 || *offset > std::numeric_limits<std::int32_t>::max()))
        throw UsageError(fmt::format("a plan has offset {}, expected one of 31 bits", *offset));
      words.push_back(offset ? static_cast<std::int32_t>(*offset) : -1);
    }
    std::vector<std::uint8_t> bytes(words.size() * sizeof(std::int32_t));
    for (std::size_t i = 0; i < words.size(); ++i)
      flatbuffers::WriteScalar(bytes.data() + i * sizeof(std::int32_t), words[i]);
    builder_.ForceVectorAlignment(bytes.size(), 1, data_alignment);
    return tflite::CreateBuffer(builder_, builder_.CreateVector(bytes));
  }

  Offset<Tables<tflite::Metadata>> write_metadata(bool has_plan) {
    std::vector<Offset<tflite::Metadata>> entries;
    bool has_written = !has_plan;
    const auto write = [&] {
      if (has_written) return;
      has_written = true;
      const auto name = builder_.CreateString(entry_name.data(), entry_name.size());
      entries.push_back(tflite::CreateMetadata(builder_, name, static_cast<std::uint32_t>(*plan_buffer_)));
    };
    for (std::size_t i = 0; i < count(model_.metadata()); ++i) {
      const tflite::Metadata& entry = at(model_.metadata(), i);
      if (is_plan(entry)) {
        write();
      } else {
        entries.push_back(old(&entry));
      }
    }
    write();
    if (!has_plan) {
      while (!buffers_.empty() && free_.contains(buffers_.size() - 1)) buffers_.pop_back();
    }
    return entries.empty() ? 0 : builder_.CreateVector(entries);
  }

  /// Corrects the offsets of that data, since all distances are known now.
  void move_data_behind() {
    const std::uint64_t moved = builder_.GetSize() - padding_ - file_.bytes().size();
    const auto* const model = tflite::GetModel(builder_.GetBufferPointer());
    for (const std::size_t b : behind_) {
      const tflite::Buffer& buffer = at(model->buffers(), b);
      // The builder owns it; only the generated reader makes it const.
      auto& table = const_cast<flatbuffers::Table&>(plain(buffer));
      table.SetField<std::uint64_t>(tflite::Buffer::VT_OFFSET, buffer.offset() + moved, 0);
    }
  }

  TfliteFile file_;
  const tflite::Model& model_;
  std::size_t padding_ = 0;
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<Offset<tflite::Buffer>> buffers_{};
  std::vector<std::size_t> behind_{};  // buffers with data after the flatbuffer
  std::set<std::size_t> free_{};       // buffers that only old plans used
  std::optional<std::size_t> plan_buffer_{};
};

/// The buffer of the metadata entry.
std::optional<std::size_t> entry_of(const tflite::Model& model) {
  std::optional<std::size_t> entry;
  for (std::size_t i = 0; i < count(model.metadata()); ++i) {
    if (is_plan(at(model.metadata(), i))) entry = i;  // the runtime takes the last of several
  }
  return entry;
}

OfflineOffsets offsets_in(const tflite::Model& model, std::size_t entry) {
  const std::size_t index = at(model.metadata(), entry).buffer();
  if (index >= count(model.buffers()))
    reject("", "has its data in buffer {}, but there are {} buffers", index, count(model.buffers()));
  const auto* const data = at(model.buffers(), index).data();
  const std::size_t words = count(data) / sizeof(std::int32_t);
  const std::size_t tensors = tensors_of(model);
  if (words < header_words + tensors)
    reject("", "has {} bytes, expected {} for {} tensors", count(data),
           (header_words + tensors) * sizeof(std::int32_t), tensors);
  const auto word = [&](std::size_t i) {
    return flatbuffers::ReadScalar<std::int32_t>(data->data() + i * sizeof(std::int32_t));
  };
  if (word(2) < 0 || static_cast<std::size_t>(word(2)) != tensors)
    reject("", "is for {} tensors, but there are {} in all subgraphs", word(2), tensors);
  OfflineOffsets offsets(tensors);
  for (std::size_t t = 0; t < tensors; ++t) {
    const std::int32_t offset = word(header_words + t);
    if (offset < -1) reject("", "has offset {} for tensor {}, expected at least -1", offset, t);
    if (offset >= 0) offsets[t] = offset;
  }
  return offsets;
}

}  // namespace

std::optional<OfflineOffsets> read_offline_offsets(std::string_view bytes) {
  const TfliteFile file({.bytes = bytes});
  expect_no_repeats(file);
  const std::optional<std::size_t> entry = entry_of(file.model());
  if (!entry) return std::nullopt;
  return import::located([&] { return offsets_in(file.model(), *entry); },
                         [&] { return fmt::format("metadata {} ({})", *entry, entry_name); });
}

Faults check_offline_entry(std::string_view bytes) {
  Faults faults;
  if (!read_offline_offsets(bytes)) return faults;
  const TfliteFile file({.bytes = bytes});
  const std::size_t entry = entry_of(file.model()).value();
  const auto* const data = at(file.model().buffers(), at(file.model().metadata(), entry).buffer()).data();
  const auto expect = [&](std::size_t word, std::size_t expected, std::string_view what) {
    const auto value = flatbuffers::ReadScalar<std::int32_t>(data->data() + word * sizeof(std::int32_t));
    if (value == static_cast<std::int64_t>(expected) || (word == 0 && value == 0)) return;  // Vela writes 0
    faults.push_back({FaultKind::accounting, fmt::format("metadata {} ({}) has {} {}, expected {}", entry,
                                                         entry_name, what, value, expected)});
  };
  expect(0, 1, "version");
  expect(1, count(file.model().subgraphs()), "a number of subgraphs of");
  return faults;
}

std::string with_offline_plan(std::string_view file, const OfflinePlan& plan) {
  return Rewriter(file).run(&plan);
}

std::string without_offline_plan(std::string_view file) { return Rewriter(file).run(nullptr); }

}  // namespace stowage
