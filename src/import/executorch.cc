// An ExecuTorch program says where its tensors are (memory and offset) and which instructions take them. From that
// follow live ranges: from the first instruction that takes a tensor to the last one; inputs live from the first
// instruction on, outputs to the end. A kernel writes its last argument, a tensor or a list of them. A tensor that
// is first taken by an instruction that does not write it is a view: it continues the tensor in its bytes that was
// written last. If there is none, it is a state, which lives always. Values that a backward jump repeats live as
// long as the loop.

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/checked.h"
#include "base/text.h"
#include "executorch_generated.h"
#include "import/flatbuffer.h"
#include "import/placed.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

using ValueIndices = flatbuffers::Vector<std::int32_t>;

constexpr Bytes alignment_of_executorch = 16;
constexpr std::size_t most_values = 10'000'000;
constexpr std::int64_t most_bytes = largest_value / 2;

/// Bytes of an element; none for types that programs do not store.
std::optional<Bytes> bytes_of_element(std::int8_t type) {
  switch (type) {
    case 0:   // BYTE
    case 1:   // CHAR
    case 11:  // BOOL
    case 12:  // QINT8
    case 13:  // QUINT8
    case 16:  // QUINT4X2
    case 17:  // QUINT2X4
    case 23:  // FLOAT8E5M2
    case 24:  // FLOAT8E4M3FN
    case 25:  // FLOAT8E5M2FNUZ
    case 26:  // FLOAT8E4M3FNUZ
      return 1;
    case 2:   // SHORT
    case 5:   // HALF
    case 15:  // BFLOAT16
    case 22:  // BITS16
    case 27:  // UINT16
      return 2;
    case 3:   // INT
    case 6:   // FLOAT
    case 14:  // QINT32
    case 28:  // UINT32
      return 4;
    case 4:   // LONG
    case 7:   // DOUBLE
    case 29:  // UINT64
      return 8;
    default:
      return std::nullopt;
  }
}

/// What the program says about a planned tensor.
struct Placed {
  std::uint32_t memory = 0;
  PlacedValue value{};
  bool is_live = false;  ///< `value.life` is set.
};

class ProgramReader {
 public:
  explicit ProgramReader(const executorch::Program& program) : method_(first_method(program)) {}

  Input run() {
    const std::size_t values = count(method_.values());
    if (values > most_values)
      throw Error("", fmt::format("has {} values, expected at most {}", values, most_values));
    placed_.resize(values);
    for (std::size_t v = 0; v < values; ++v) add(v);
    for_each_tensor(method_.inputs(), [&](std::size_t v) { touch(v, 0, true); });
    if (count(method_.chains()) != 1)
      throw Error("", fmt::format("has {} chains of instructions, expected 1", count(method_.chains())));
    read_instructions(at(method_.chains(), 0));
    return list();
  }

 private:
  static const executorch::Method& first_method(const executorch::Program& program) {
    if (count(program.methods()) == 0) throw Error("", "has no method, expected at least one");
    return at(program.methods(), 0);
  }

  [[nodiscard]] static std::string place_of(std::size_t value) { return fmt::format("value {}", value); }

  const executorch::Value& value(std::int64_t index) const {
    if (index < 0 || static_cast<std::size_t>(index) >= placed_.size())
      throw Error("", fmt::format("uses value {}, expected less than {}", index, placed_.size()));
    return at(method_.values(), static_cast<std::size_t>(index));
  }

  void add(std::size_t index) {
    const executorch::Tensor* const tensor = value(static_cast<std::int64_t>(index)).val_as_tensor();
    if (tensor == nullptr || tensor->allocation() == nullptr) return;
    const auto element = bytes_of_element(tensor->scalar_type());
    if (!element)
      throw Error(place_of(index), fmt::format("has element type {}, expected one with a size",
                                               static_cast<int>(tensor->scalar_type())));
    std::optional<Bytes> bytes = element;
    for (std::size_t d = 0; bytes && d < count(tensor->sizes()); ++d) {
      const std::int64_t extent = tensor->sizes()->Get(static_cast<flatbuffers::uoffset_t>(d));
      if (extent < 0) throw Error(place_of(index), fmt::format("has extent {}, expected at least 0", extent));
      bytes = base::checked_multiply(*bytes, extent);
    }
    const executorch::Allocation& where = *tensor->allocation();
    const auto offset =
        static_cast<std::int64_t>((std::uint64_t{where.offset_high()} << 32U) | where.offset_low());
    if (!bytes || *bytes > most_bytes || offset < 0 || offset > most_bytes - *bytes)
      throw Error(place_of(index), fmt::format("ends beyond byte {}", most_bytes));
    placed_[index] =
        Placed{.memory = where.memory_id(),
               .value = {.name = fmt::format("value {}", index), .offset = offset, .size = *bytes}};
  }

  /// Calls `visit` for each planned tensor in the list, also for those in lists of tensors.
  template <typename Visit>
  void for_each_tensor(const ValueIndices* indices, const Visit& visit) const {
    if (indices == nullptr) return;
    for (const std::int32_t index : *indices) for_each_tensor_of(index, visit);
  }

  template <typename Visit>
  void for_each_tensor_of(std::int32_t index, const Visit& visit) const {
    const executorch::Value& it = value(index);
    const ValueIndices* items = nullptr;
    if (const auto* const list = it.val_as_tensors()) items = list->items();
    if (const auto* const list = it.val_as_optional_tensors()) items = list->items();
    if (items == nullptr) {
      if (placed_[static_cast<std::size_t>(index)]) visit(static_cast<std::size_t>(index));
      return;
    }
    for (const std::int32_t item : *items) {
      if (item == -1) continue;  // an optional tensor that is left out
      (void)value(item);
      if (placed_[static_cast<std::size_t>(item)]) visit(static_cast<std::size_t>(item));
    }
  }

  void touch(std::size_t index, Position time, bool writes) {
    Placed& it = *placed_[index];
    if (!it.is_live) {
      it.is_live = true;
      it.value.life = {time, time + 1};
      if (!writes && !continues_another(index, time)) states_.push_back(index);
    }
    it.value.life.upper = std::max(it.value.life.upper, time + 1);
    if (writes) written_.push_back(index);
  }

  void spend(std::size_t steps, std::string_view on) {
    constexpr std::size_t most = 1'000'000'000;
    spent_ += steps;
    if (spent_ > most) throw Error("", fmt::format("has too many {}, expected a plan", on));
  }

  /// A view lives from where the tensor that it looks at was used last. False if it looks at none.
  bool continues_another(std::size_t index, Position time) {
    const PlacedValue& view = placed_[index]->value;
    for (auto it = written_.rbegin(); it != written_.rend(); ++it) {
      spend(1, "views");
      Placed& base = *placed_[*it];
      const bool is_below = base.memory == placed_[index]->memory &&
                            base.value.offset < view.offset + view.size &&
                            view.offset < base.value.offset + base.value.size;
      if (!is_below) continue;
      base.value.life.upper = std::max(base.value.life.upper, time + 1);
      return true;
    }
    return false;
  }

  void read_instructions(const executorch::Chain& chain) {
    const std::size_t instructions = count(chain.instructions());
    for (std::size_t i = 0; i < instructions; ++i) {
      const auto time = static_cast<Position>(i);
      const executorch::Instruction& it = at(chain.instructions(), i);
      if (const auto* const kernel = it.call_as_kernel()) {
        call(kernel->args(), time);
      } else if (const auto* const delegate = it.call_as_delegate()) {
        // Nobody says which arguments a delegate writes; those that nobody has written yet must be results.
        for_each_tensor(delegate->args(), [&](std::size_t v) { touch(v, time, !placed_[v]->is_live); });
      } else if (const auto* const move = it.call_as_move()) {
        for_each_tensor_of(move->from(), [&](std::size_t v) { touch(v, time, false); });
        for_each_tensor_of(move->to(), [&](std::size_t v) { touch(v, time, true); });
      } else if (const auto* const jump = it.call_as_jump()) {
        if (jump->destination() >= 0 && jump->destination() <= time)
          loops_.push_back({jump->destination(), time + 1});
      }
    }
    const auto end = static_cast<Position>(instructions);
    for_each_tensor(method_.outputs(), [&](std::size_t v) { touch(v, end, false); });
    for (const std::size_t state : states_) placed_[state]->value.life = {0, end + 1};
  }

  void call(const ValueIndices* arguments, Position time) {
    if (count(arguments) == 0) return;
    std::vector<std::size_t> results;
    const std::int32_t last = arguments->Get(arguments->size() - 1);
    for_each_tensor_of(last, [&](std::size_t v) { results.push_back(v); });
    for_each_tensor(arguments, [&](std::size_t v) {
      if (!std::ranges::count(results, v)) touch(v, time, false);
    });
    for (const std::size_t v : results) touch(v, time, true);
  }

  /// A loop repeats all that it takes.
  void extend_over_loops() {
    for (auto loop = loops_.rbegin(); loop != loops_.rend(); ++loop) {
      spend(placed_.size(), "loops");
      for (auto& it : placed_) {
        if (!it || it->value.life.upper <= loop->lower || it->value.life.lower >= loop->upper) continue;
        it->value.life = {std::min(it->value.life.lower, loop->lower),
                          std::max(it->value.life.upper, loop->upper)};
      }
    }
  }

  Input list() {
    extend_over_loops();
    std::vector<std::uint32_t> memories;
    for (const auto& it : placed_) {
      if (it && it->is_live) memories.push_back(it->memory);
    }
    std::ranges::sort(memories);
    memories.erase(std::unique(memories.begin(), memories.end()), memories.end());
    std::vector<PlacedValue> values;
    for (auto& it : placed_) {
      if (!it || !it->is_live) continue;
      it->value.memory =
          static_cast<std::size_t>(std::ranges::lower_bound(memories, it->memory) - memories.begin());
      values.push_back(std::move(it->value));
    }
    std::vector<std::string> names;
    for (const std::uint32_t memory : memories) names.push_back(fmt::format("memory {}", memory));
    return list_of(std::move(values), std::move(names), alignment_of_executorch);
  }

  const executorch::Method& method_;
  std::vector<std::optional<Placed>> placed_{};
  std::vector<std::size_t> written_{};  ///< Tensors in the order of their writes.
  std::vector<std::size_t> states_{};   ///< Tensors that hold what an earlier run has left.
  std::vector<Lifetime> loops_{};
  std::size_t spent_ = 0;  ///< Steps of work that grows faster than the program.
};

}  // namespace

bool looks_like_executorch(std::string_view bytes) {
  return has_identifier(bytes, executorch::ProgramIdentifier());
}

Input read_executorch(const Source& source) {
  const Source file = aligned(source);
  const auto verify = [](flatbuffers::Verifier& verifier) {
    return executorch::VerifyProgramBuffer(verifier);
  };
  verify_flatbuffer(file.bytes, verify);
  return ProgramReader(*executorch::GetProgram(file.bytes.data())).run();
}

}  // namespace stowage::import
