#pragma once

#include <cstddef>
#include <vector>

#include "stowage/units.h"

namespace stowage::pack {

/// Numbers that get back the values they had: how a search returns from a branch.
class UndoLog {
 public:
  void set(Bytes& where, Bytes value) {
    changes_.push_back({&where, where});
    where = value;
  }
  [[nodiscard]] std::size_t mark() const { return changes_.size(); }
  void undo_to(std::size_t mark) {
    for (; changes_.size() > mark; changes_.pop_back()) *changes_.back().where = changes_.back().old;
  }

 private:
  struct Change {
    Bytes* where;
    Bytes old;
  };
  std::vector<Change> changes_;
};

}  // namespace stowage::pack
