#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/device.h"
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

/// The places of a run's tensors.
class Home {
 public:
  Home() = default;
  virtual ~Home() = default;
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  Home(Home&&) = delete;
  Home& operator=(Home&&) = delete;

  /// Advances time, or goes back to the next round of a loop.
  virtual void move_to(Position at) = 0;
  /// A tensor is about to be written: fixes its place from now on.
  virtual void settle(TensorId tensor) = 0;
  /// The place of the tensor, ready to be read or written by `who`.
  [[nodiscard]] virtual std::byte* bytes_of(TensorId tensor, const std::string& who) = 0;
};

/// Gives every tensor its own memory.
class OwnHome : public Home {
 public:
  explicit OwnHome(const Graph& graph) : graph_(graph), bytes_(graph.tensors.size()) {}

  void move_to(Position /*at*/) override {}
  void settle(TensorId tensor) override;
  [[nodiscard]] std::byte* bytes_of(TensorId tensor, const std::string& who) override;

 private:
  const Graph& graph_;
  std::vector<AlignedBytes> bytes_;
};

/// Gives the tensors of one model their places in the plan, and memory of their own if they have none. If
/// several views of a tensor are live, the one in the first memory counts.
class PlannedHome : public Home {
 public:
  /// The model's steps are on that clock.
  PlannedHome(Device& device, std::size_t model, std::size_t clock);

  void move_to(Position at) override { device_.move_to(clock_, at); }
  void settle(TensorId tensor) override;
  [[nodiscard]] std::byte* bytes_of(TensorId tensor, const std::string& who) override;

  /// The tensor now has its value in its present place.
  void mark_written(TensorId tensor);
  /// Throws RunFault unless the tensor has its value in the place where `who` would read it now.
  void expect_value(TensorId tensor, const std::string& who);
  /// Overwrites the bytes; other tensors there lose their values, except those in `written`.
  void overwrite(const std::byte* begin, Bytes size, std::span<const TensorId> written,
                 const std::string& who);
  /// This copy comes next: until then its target place does not count.
  void await(const Copy& copy) { awaited_ = copy; }
  /// Copies a tensor from its view in one buffer to its view in another. Both count for `highest`.
  void copy(const Copy& copy, const std::string& who, std::vector<Bytes>& highest);

  /// The present place of the tensor; none if it is in no memory of the plan.
  [[nodiscard]] std::optional<Spot> spot_of(TensorId tensor);
  [[nodiscard]] std::string describe(TensorId tensor) const { return device_.describe(first_ + tensor); }

  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] std::size_t model() const { return model_; }
  [[nodiscard]] std::size_t clock() const { return clock_; }
  /// The present time in words.
  [[nodiscard]] std::string time() const;

 private:
  [[nodiscard]] const std::vector<View>& views_of(TensorId tensor) const;
  [[nodiscard]] bool is_alive(const View& view) const;
  [[nodiscard]] const View* view_now(TensorId tensor) const;
  [[nodiscard]] Spot* find(TensorId tensor);
  [[nodiscard]] Spot& spot_in(std::size_t buffer, TensorId tensor, const std::string& who);
  [[nodiscard]] std::byte* hold(const Spot& spot, TensorId tensor, const std::string& who) const;

  Device& device_;
  std::size_t model_;
  std::size_t clock_;
  std::size_t first_;  ///< Index of the model's first tensor in Plan::tensors.
  const Graph& graph_;
  OwnHome outside_;
  std::optional<Copy> awaited_{};
};

}  // namespace stowage::run
