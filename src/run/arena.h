#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stowage/plan.h"

namespace stowage::run {

/// The memory of a plan's memory: exactly as many bytes as the plan says, and who holds which of them at the
/// position that the run has come to.
class Arena {
 public:
  /// Takes the buffers of the plan that are in `memory`. Throws RunFault for one that lies outside.
  Arena(const Plan& plan, std::size_t memory);

  /// Lets pieces that are not alive at `to` go and fills their bytes with a pattern, and gives those
  /// that are their bytes. Bytes that the same buffer holds before and after keep their value. Throws
  /// RunFault where two buffers want a byte. Cost: linear in pieces that come or go; in all pieces unless
  /// `to` is the next position.
  void move_to(Position to);

  /// Throws RunFault, beginning with `who`, unless that buffer holds all these bytes now.
  void expect_held(std::size_t buffer, Bytes begin, Bytes size, const std::string& who) const;

  /// The first byte that nobody holds and that is not what it was filled with.
  [[nodiscard]] std::optional<Bytes> first_spoilt() const;

  /// Who holds a byte now.
  [[nodiscard]] std::optional<std::size_t> buffer_at(Bytes offset) const;
  /// "buffer 'x'" or "nobody".
  [[nodiscard]] std::string holder_of(Bytes offset) const;

  [[nodiscard]] std::byte* bytes() const { return bytes_.get(); }
  [[nodiscard]] Bytes size() const { return size_; }
  [[nodiscard]] Bytes live() const { return live_; }
  [[nodiscard]] const std::string& name() const { return plan_.memories[memory_].memory.name; }

 private:
  struct Span {
    std::size_t buffer = 0;
    Bytes begin = 0;
    Bytes end = 0;
    Lifetime life{};
  };
  struct Holder {
    Bytes end = 0;
    std::size_t buffer = 0;
  };
  struct Free {
    void operator()(std::byte* bytes) const;
  };

  void hold(const Span& span);
  void let_go(const Span& span);
  void spoil(const Span& span);

  const Plan& plan_;
  std::size_t memory_;
  Bytes size_ = 0;
  std::unique_ptr<std::byte, Free> bytes_{};
  std::vector<Span> spans_{};
  std::map<Position, std::vector<std::size_t>> starting_{};  ///< Indices of spans.
  std::map<Position, std::vector<std::size_t>> ending_{};
  std::optional<Position> at_{};
  std::map<Bytes, Holder> holders_{};  ///< By the first byte; they do not overlap.
  Bytes live_ = 0;
};

}  // namespace stowage::run
