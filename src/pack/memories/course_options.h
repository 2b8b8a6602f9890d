#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pack/memories/courses.h"
#include "pack/memories/memories.h"
#include "stowage/problem.h"

namespace stowage::memories {

struct Stay {
  std::size_t memory = 0;
  Lifetime life{};  ///< In positions of operators; copies between them do not count.
};

/// A course that a movable can take.
struct Option {
  std::int64_t cost = 0;
  Course course{};
  std::vector<Stay> stays{};
};

/// The courses that a movable can take.
class Options {
 public:
  Options(const Problem& problem, const Choices& choices, const Movable& movable)
      : problem_(problem), choices_(choices), movable_(movable) {}

  /// Whether it satisfies the conditions of Movable (courses.h), and its costs cannot overflow.
  [[nodiscard]] bool can_move() const;

  [[nodiscard]] Option of(Course course) const;

  /// Every course, the cheapest first. If more than `most` exist, it returns some, but more than `most`.
  [[nodiscard]] std::vector<Option> all(std::size_t most) const;

  /// Another home, a visit more, a visit less, or another home and a visit.
  [[nodiscard]] std::vector<Option> changes(const Course& course) const;

 private:
  [[nodiscard]] const Buffer& buffer() const { return problem_.buffers[movable_.buffer]; }
  [[nodiscard]] bool may_part(std::size_t access) const;
  [[nodiscard]] bool can_visit(std::size_t first, std::size_t last) const;
  [[nodiscard]] std::vector<std::size_t> homes() const;
  [[nodiscard]] std::vector<std::size_t> faster(std::size_t home) const;
  void extend(const Course& course, std::size_t access, std::size_t most, std::vector<Option>& options) const;
  void add_visits(const Course& course, std::vector<Option>& options) const;

  const Problem& problem_;
  const Choices& choices_;
  const Movable& movable_;
};

}  // namespace stowage::memories
