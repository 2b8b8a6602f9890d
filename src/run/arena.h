#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/clock_tree.h"
#include "stowage/plan.h"

namespace stowage::run {

/// The bytes of one of a plan's memories: exactly as many as the plan says, and the holder of each at the
/// present positions of the clocks.
class Arena {
 public:
  /// Bytes of a buffer that were returned and filled.
  struct GivenBack {
    std::size_t buffer = 0;
    Bytes begin = 0;
    Bytes end = 0;
  };

  /// Takes the buffers of the plan that are in `memory`. Throws RunFault if one lies outside.
  Arena(const Plan& plan, const model::ClockTree& clocks, std::size_t memory);

  /// Releases pieces that are not live at `to` and fills their bytes with a pattern; allocates pieces that
  /// are. Bytes that the same buffer holds before and after keep their value. Throws RunFault if two buffers
  /// claim a byte now, or in concurrent branches in any interleaving. Returns the released bytes. Cost:
  /// linear in pieces that begin or end; in all pieces unless `to` is the next position.
  std::vector<GivenBack> move_to(std::size_t clock, Position to);
  /// Releases all pieces of a clock that is done. Returns the released bytes.
  std::vector<GivenBack> leave(std::size_t clock);

  /// Throws RunFault, beginning with `who`, unless that buffer holds all these bytes now.
  void expect_held(std::size_t buffer, Bytes begin, Bytes size, const std::string& who) const;

  /// The first free byte that differs from its fill pattern.
  [[nodiscard]] std::optional<Bytes> first_spoilt() const;

  /// The buffer that holds a byte now.
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
  /// Indices of spans.
  using Spans = std::vector<std::size_t>;
  struct Free {
    void operator()(std::byte* bytes) const;
  };

  [[nodiscard]] std::size_t clock_of(const Span& span) const { return plan_.buffers[span.buffer].clock; }
  /// The clock of a span, and where it starts or ends there.
  [[nodiscard]] std::pair<std::size_t, Position> start_of(std::size_t span) const;
  [[nodiscard]] std::pair<std::size_t, Position> end_of(std::size_t span) const;
  std::vector<GivenBack> change(const Spans& going, const Spans& coming);
  void hold(const Span& span);
  void let_go(const Span& span);
  void spoil(const Span& span, std::vector<GivenBack>& given_back);
  void expect_no_branch_had(const Span& span);
  [[noreturn]] void refuse(std::size_t a, std::size_t b, Bytes byte, const std::string& when) const;

  const Plan& plan_;
  const model::ClockTree& clocks_;
  std::size_t memory_;
  Bytes size_ = 0;
  std::unique_ptr<std::byte, Free> bytes_{};
  std::vector<Span> spans_{};
  std::vector<Spans> spans_of_{};              ///< Per clock.
  Spans starting_{};                           ///< All, by clock and first position.
  Spans ending_{};                             ///< All, by clock and end.
  std::vector<std::optional<Position>> at_{};  ///< Per clock; none before its first and after its last step.
  std::map<Bytes, Holder> holders_{};          ///< By the first byte; they do not overlap.
  std::map<Bytes, Holder> last_holders_{};     ///< The same, including bytes that were held.
  Bytes live_ = 0;
};

}  // namespace stowage::run
