#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/device.h"
#include "run/parts.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::run {

/// Memory with the alignment that kernels need.
class AlignedBytes {
 public:
  static constexpr std::size_t alignment = 64;

  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t size);
  [[nodiscard]] std::byte* data() const { return bytes_.get(); }

 private:
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  std::unique_ptr<std::byte, Free> bytes_{};
};

/// The places of one model's tensors, whole or by rows. If several views of a row are live, the one in the first
/// memory counts; of several there, the one that lives longest.
class Home {
 public:
  /// Gives every tensor memory of its own.
  explicit Home(const Graph& graph) : graph_(graph), outside_(graph.tensors.size()) {}
  /// Gives tensors their places in the plan, and memory of their own if they have none. The model's steps are on
  /// that clock.
  Home(Device& device, std::size_t model, std::size_t clock);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  /// Null: without a plan.
  [[nodiscard]] Device* device() const { return device_; }
  [[nodiscard]] std::size_t model() const { return model_; }
  [[nodiscard]] std::size_t clock() const { return clock_; }
  /// The present time in words.
  [[nodiscard]] std::string time() const;

  /// Advances time, or goes back to the next round of a loop.
  void move_to(Position at);

  /// A whole tensor is about to be written: it no longer is where it was.
  void settle(TensorId tensor) {
    if (device_ != nullptr) last_[tensor] = nullptr;
  }
  /// Without a plan: nobody reads the tensor again, and its memory is freed.
  void release(TensorId tensor);
  /// Most bytes that tensors with memory of their own had at one time.
  [[nodiscard]] Bytes most_outside() const { return most_outside_; }
  /// The place of the part, which `who` reads or writes now. A whole tensor stays where it was found last until
  /// it gets another place: an operator that writes over it ends its view. Throws RunFault if the part has no
  /// place, or if its buffer does not hold the bytes.
  [[nodiscard]] PlacedPart find(const TensorPart& part, const std::string& who);
  /// Throws RunFault unless these bytes are those of the part.
  void expect_there(const TensorPart& part, const PlacedPart& at, const std::string& who) const;
  /// Bytes are about to be written: whatever is there is lost.
  void overwrite(const PlacedPart& at);
  /// The part is there now, in bytes that were overwritten or are in place.
  void wrote(const TensorPart& part, const PlacedPart& at);

  /// The bytes of the state that the input is, as many as these, of a plan that has a place for it.
  [[nodiscard]] PlacedPart find_state(TensorId input, Bytes size, const std::string& who) const;

  /// The place of an operator's sums.
  [[nodiscard]] PlacedPart find_sums(const Sums& sums, Bytes size, const std::string& who) const;
  /// Throws RunFault unless the sums are still there.
  void expect_sums(std::size_t op, const PlacedPart& sums, const std::string& who) const;
  void added(std::size_t op, const PlacedPart& sums);

  /// This copy comes next: until then its target place does not count.
  void await(const Copy& copy) { awaited_ = copy; }
  /// Copies a constant, or rows of it, to where it is staged. Returns the places.
  std::vector<PlacedPart> stage(const Copy& copy, std::span<const std::byte> value, const std::string& who);
  /// The places of all parts of a constant that are staged now, outside memories for weights. Throws RunFault unless
  /// their bytes are there.
  [[nodiscard]] std::vector<PlacedPart> find_staged(TensorId constant, const std::string& who);
  /// Copies a tensor, or rows of it, from views in one buffer to views in another. Returns both places of each.
  std::vector<PlacedPart> copy(const Copy& copy, const std::string& who);
  /// Whether the tensor is in no memory of the plan.
  [[nodiscard]] bool is_outside(TensorId tensor) const {
    return device_ == nullptr || planned(tensor).views.empty();
  }

  /// Raises `highest` to the end of the part in every memory.
  void note_touched(const PlacedPart& part, std::vector<Bytes>& highest) const;
  /// "row 3 of tensor 'x'"
  [[nodiscard]] std::string describe(const TensorPart& part) const;

 private:
  /// How the views of a tensor cut it into rows.
  struct Layout {
    std::int64_t rows = 1;
    Bytes inner = 0;                    ///< Bytes of a row that are consecutive in the whole tensor.
    std::vector<std::size_t> always{};  ///< Views of all rows.
    std::vector<std::vector<std::size_t>> of_row{};  ///< Views of some rows; empty if no view has only some.
  };

  [[nodiscard]] const PlannedTensor& planned(TensorId tensor) const;
  [[nodiscard]] Layout layout_of(TensorId tensor) const;
  [[nodiscard]] bool is_alive(const View& view) const;
  template <typename Look>
  void for_each_view(TensorId tensor, std::int64_t row, const Look& look) const;
  [[nodiscard]] const View* view_now(TensorId tensor, std::int64_t row);
  [[nodiscard]] PlacedPart find_outside(const TensorPart& part);
  /// With `buffer`, in that one.
  [[nodiscard]] PlacedPart find_in_plan(const TensorPart& part, const std::string& who,
                                        std::optional<std::size_t> buffer = {});
  [[nodiscard]] std::byte* bytes_in(std::size_t buffer, Bytes offset, Bytes size,
                                    const std::string& who) const;
  [[nodiscard]] const View& view_in(std::size_t buffer, TensorId tensor, std::int64_t row,
                                    const std::string& who) const;
  void expect_value(std::size_t value, const PlacedPart& at, const std::string& name,
                    const std::string& who) const;
  void note(std::size_t value, const PlacedPart& at);

  Device* device_ = nullptr;
  std::size_t model_ = 0;
  std::size_t clock_ = 0;
  std::size_t first_ = 0;  ///< Index of the model's first tensor in Plan::tensors.
  const Graph& graph_;
  std::vector<AlignedBytes> outside_;  ///< Per tensor.
  Bytes in_outside_ = 0;               ///< Bytes of these.
  Bytes most_outside_ = 0;
  std::vector<Layout> layouts_{};    ///< Per tensor.
  std::vector<const View*> last_{};  ///< Per tensor without rows: where it was found last; may be null.
  std::optional<Copy> awaited_{};
};

}  // namespace stowage::run
