// Sets of executed operators: the live bytes after each, the bytes that the next operator needs, and the
// operators that can run at once without a choice. The last part has its own explanation below.

#include "schedule/executed.h"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

namespace stowage::schedule {
namespace {

constexpr std::size_t word_bits = 64;

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

}  // namespace

void Executed::Lists::assign(std::size_t lists, std::span<const ListItem> list_and_item) {
  first.assign(lists + 1, 0);
  for (const auto& [list, item] : list_and_item) ++first[list + 1];
  for (std::size_t list = 0; list < lists; ++list) first[list + 1] += first[list];
  items.resize(list_and_item.size());
  std::vector<std::size_t> ends(first.begin(), first.end() - 1);
  for (const auto& [list, item] : list_and_item) items[ends[list]++] = item;
}

Executed::Executed(const Storage& storage, Direction direction)
    : direction_(direction),
      storage_(&storage),
      missing_(storage.operators(), 0),
      place_in_ready_(storage.operators(), 0),
      bits_((storage.operators() + word_bits - 1) / word_bits, 0) {
  add_dependences(storage);
  add_values(storage);
  add_overwrites(storage);
  for (std::size_t op = 0; op < operators(); ++op) {
    if (missing_[op] == 0) add_ready(op);
  }
}

void Executed::add_dependences(const Storage& storage) {
  std::vector<ListItem> next;
  next.reserve(operators());
  for (std::size_t op = 0; op < operators(); ++op) {
    for (const std::size_t earlier : storage.waits_for[op]) {
      const bool forward = direction_ == Direction::forward;
      next.emplace_back(forward ? earlier : op, forward ? op : earlier);
      ++missing_[forward ? op : earlier];
    }
  }
  next_.assign(operators(), next);
}

void Executed::add_values(const Storage& storage) {
  std::vector<ListItem> begins;
  std::vector<ListItem> ends;
  begins.reserve(storage.values.size());
  ends.reserve(storage.values.size());
  courses_.reserve(storage.values.size());
  const bool forward = direction_ == Direction::forward;
  for (const Value& value : storage.values) {
    const std::size_t v = courses_.size();
    for (const std::size_t reader : value.readers) (forward ? ends : begins).emplace_back(reader, v);
    if (value.writer) (forward ? begins : ends).emplace_back(*value.writer, v);
    const std::size_t writers = value.writer ? 1 : 0;
    courses_.push_back({.size = value.size,
                        .to_end = forward ? value.readers.size() : writers,
                        .is_there = forward ? !value.writer : value.kept,
                        .is_kept = forward ? value.kept : !value.writer});
    if (courses_.back().is_there) live_ += value.size;
  }
  begins_.assign(operators(), begins);
  ends_.assign(operators(), ends);
}

void Executed::add_overwrites(const Storage& storage) {
  std::vector<ListItem> overwrites;
  overwrites.reserve(storage.overwrites.size());
  for (std::size_t i = 0; i < storage.overwrites.size(); ++i)
    overwrites.emplace_back(storage.overwrites[i].op, i);
  overwrites_.assign(operators(), overwrites);
}

Order Executed::order() const {
  Order order = sequence_;
  if (direction_ == Direction::backward) std::reverse(order.begin(), order.end());
  return order;
}

Bytes Executed::overwritten_by(std::size_t op) const {
  Bytes most = 0;
  for (const std::size_t i : overwrites_[op]) {
    Bytes bytes = 0;
    for (const std::size_t v : storage_->overwrites[i].values) {
      const Course& course = courses_[v];
      const bool is_last_reader =
          direction_ == Direction::forward ? course.to_end == 1 : course.begun == 0 && !course.is_there;
      if (is_last_reader) bytes += course.size;
    }
    most = std::max(most, bytes);
  }
  return most;
}

Effect Executed::effect_of(std::size_t op) const {
  Bytes begun = 0;
  for (const std::size_t v : begins_[op]) {
    const Course& course = courses_[v];
    if (course.begun == 0 && !course.is_there) begun += course.size;
  }
  Bytes ended = 0;
  for (const std::size_t v : ends_[op]) {
    const Course& course = courses_[v];
    if (course.to_end == 1 && !course.is_kept) ended += course.size;
  }
  const bool runs_first =
      direction_ == Direction::forward ? sequence_.empty() : sequence_.size() + 1 == operators();
  return {storage_->always + live_ + begun + storage_->own[op] - overwritten_by(op) +
              (runs_first ? storage_->first : 0),
          live_ + begun - ended};
}

void Executed::run(std::size_t op) {
  live_ = effect_of(op).after;
  for (const std::size_t v : begins_[op]) ++courses_[v].begun;
  for (const std::size_t v : ends_[op]) --courses_[v].to_end;
  remove_ready(op);
  for (const std::size_t later : next_[op]) {
    if (--missing_[later] == 0) add_ready(later);
  }
  sequence_.push_back(op);
  bits_[op / word_bits] ^= std::uint64_t{1} << (op % word_bits);
  hash_ ^= mixed(op);
}

void Executed::undo() {
  const std::size_t op = sequence_.back();
  sequence_.pop_back();
  bits_[op / word_bits] ^= std::uint64_t{1} << (op % word_bits);
  hash_ ^= mixed(op);
  for (const std::size_t later : next_[op]) {
    if (missing_[later]++ == 0) remove_ready(later);
  }
  add_ready(op);
  for (const std::size_t v : ends_[op]) ++courses_[v].to_end;
  for (const std::size_t v : begins_[op]) --courses_[v].begun;
  const Bytes after = effect_of(op).after;  // with no live bytes before: the bytes it adds
  live_ -= after - live_;
}

void Executed::add_ready(std::size_t op) {
  place_in_ready_[op] = ready_.size();
  ready_.push_back(op);
}

void Executed::remove_ready(std::size_t op) {
  const std::size_t place = place_in_ready_[op];
  ready_[place] = ready_.back();
  place_in_ready_[ready_[place]] = place;
  ready_.pop_back();
}

// Let S be the executed set and S' a larger one that can be reached from it within the capacity, with
// no more live bytes, and let no set between them have fewer live bytes than S'. Then going to S' at once
// loses nothing:
//
//     an order that completes S      S  a x b y c ..        x y lead from S to S'
//     the same after x y             S  x y a b c ..
//
// Live bytes are submodular in the executed set. Let T be the set that the first order had executed before
// some step. Then live(T and S') + live(T or S') <= live(T) + live(S'). T and S' is between S and S', so it
// has no fewer live bytes than S'. Hence every step of the second order begins with at most as many live
// bytes as in the first. Nor does its operator add more: it writes the same in both, and the values it may
// write over have lost readers, not gained any.
//
//     alive
//      |   _/\_
//      | S/    \__ S'
//      +-----------> executed
//
// In a chain each operator waits for the one before. The sets between S and the end of a chain are the
// chain's prefixes. So a chain is followed until it has no more live bytes than at its start: all sets
// between have more. A single operator is a chain of one.
//
// Source: the commits are ours; that live bytes are submodular is used by Kayaaslan et al., "Scheduling
// series-parallel task graphs to minimize peak memory" (2018), too.

namespace {

class Settler {
 public:
  Settler(Executed& executed, Bytes capacity, Bytes& rejected, Budget& budget)
      : executed_(executed), capacity_(capacity), rejected_(rejected), budget_(budget) {}

  void settle() {
    while (run_one() || run_chain()) {
    }
  }

 private:
  [[nodiscard]] bool fits(const Effect& effect) {
    if (effect.during <= capacity_) return true;
    rejected_ = std::min(rejected_, effect.during);
    return false;
  }

  /// Runs an operator that leaves no more live bytes than before.
  bool run_one() {
    std::optional<std::size_t> best;
    Bytes least = 0;
    for (const std::size_t op : executed_.ready()) {
      const Effect effect = executed_.effect_of(op);
      if (effect.after > executed_.live() || !fits(effect)) continue;
      if (!best || effect.after < least || (effect.after == least && op < *best)) {
        best = op;
        least = effect.after;
      }
    }
    budget_.spend(static_cast<std::int64_t>(executed_.ready().size()));
    if (best) executed_.run(*best);
    return best.has_value();
  }

  /// Runs a chain that ends with no more live bytes than now.
  bool run_chain() {
    std::vector<std::size_t> heads(executed_.ready().begin(), executed_.ready().end());
    std::sort(heads.begin(), heads.end());
    return std::any_of(heads.begin(), heads.end(), [&](std::size_t head) {
      if (!fits(executed_.effect_of(head))) return false;
      const std::size_t depth = executed_.sequence().size();
      if (follow_chain(head)) return true;
      undo_to(depth);
      return false;
    });
  }

  void undo_to(std::size_t depth) {
    while (executed_.sequence().size() > depth) executed_.undo();
  }

  /// Follows a chain: each operator is one that the last one made ready.
  bool follow_chain(std::size_t head) {
    const Bytes live = executed_.live();
    for (std::optional<std::size_t> next = head; next;) {
      const std::size_t known = executed_.ready().size() - 1;
      executed_.run(*next);
      if (executed_.live() <= live) return true;
      next = least_of(executed_.ready().subspan(known));
    }
    return false;
  }

  /// The operator that leaves the fewest live bytes, of those that fit.
  std::optional<std::size_t> least_of(std::span<const std::size_t> operators) {
    std::optional<std::size_t> best;
    Bytes least = 0;
    for (const std::size_t op : operators) {
      const Effect effect = executed_.effect_of(op);
      if (!fits(effect)) continue;
      if (!best || effect.after < least || (effect.after == least && op < *best)) {
        best = op;
        least = effect.after;
      }
    }
    budget_.spend(static_cast<std::int64_t>(operators.size()) + 1);
    return best;
  }

  Executed& executed_;
  Bytes capacity_;
  Bytes& rejected_;
  Budget& budget_;
};

}  // namespace

void settle(Executed& executed, Bytes capacity, Bytes& rejected, Budget& budget) {
  Settler(executed, capacity, rejected, budget).settle();
}

}  // namespace stowage::schedule
