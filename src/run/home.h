#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "run/arena.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::run {

/// Memory as aligned as kernels want it.
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

/// Where the tensors of a run are.
class Home {
 public:
  Home() = default;
  virtual ~Home() = default;
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  Home(Home&&) = delete;
  Home& operator=(Home&&) = delete;

  /// Time goes on, or back to a loop's next round.
  virtual void move_to(Position at) = 0;
  /// A tensor is about to be written: decides where it is from now on.
  virtual void settle(TensorId tensor) = 0;
  /// Where the tensor is, ready to be read or written by `who`.
  [[nodiscard]] virtual std::byte* bytes_of(TensorId tensor, const std::string& who) = 0;
};

/// Every tensor has memory of its own.
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

/// Tensors are where a plan has them; those it has nowhere have memory of their own.
class PlannedHome : public Home {
 public:
  /// Throws RunFault for a plan that is not of this graph, or that reaches outside its memories.
  PlannedHome(const Graph& graph, const Plan& plan);

  void move_to(Position at) override;
  void settle(TensorId tensor) override;
  [[nodiscard]] std::byte* bytes_of(TensorId tensor, const std::string& who) override;

  [[nodiscard]] const std::vector<Arena>& arenas() const { return arenas_; }
  /// Of the plan's clock.
  [[nodiscard]] Position end() const { return static_cast<Position>(plan_.clocks[0].steps.size()); }
  /// The byte behind a tensor; none if it is in no memory of the plan.
  [[nodiscard]] std::optional<Place> end_of(TensorId tensor) const;
  /// Tensors that were put where these bytes are, in any of the plan's memories.
  [[nodiscard]] std::vector<TensorId> tensors_at(const std::byte* begin, Bytes size) const;
  /// Live bytes of all memories.
  [[nodiscard]] Bytes live() const;
  /// Throws RunFault if `who` wrote to a byte that nobody holds.
  void expect_unspoilt(const std::string& who) const;
  /// The tensors that lie at this address, and who holds it: for messages.
  [[nodiscard]] std::string describe(const std::byte* address) const;

 private:
  /// Where a tensor was when it was written.
  struct Spot {
    std::size_t memory = 0;
    std::size_t buffer = 0;
    Bytes begin = 0;
  };

  const Graph& graph_;
  const Plan& plan_;
  OwnHome outside_;
  std::vector<Arena> arenas_;
  std::vector<std::optional<Spot>> spots_;
  std::vector<std::vector<TensorId>> tensors_of_;  ///< Per buffer: those it has, or had.
  Position at_ = 0;
};

}  // namespace stowage::run
