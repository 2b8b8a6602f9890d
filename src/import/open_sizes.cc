// A plan over ranges of sizes needs to know what depends on them: which extents, which offsets of
// copies. Rules for symbolic sizes would have to repeat every rule for numbers. Here the model is read at
// numbers, which is exact, at the largest sizes and at some others, and what differs between these readings
// depends on the sizes:
//
//     n=64   x float32[64,16]   y float32[64,16]   z = x|y   copies of y to byte 4096
//     n=32   x float32[32,16]   y float32[32,16]   z = x|y   copies of y to byte 2048: its place moves
//
// Where whole tensors are joined back to back, as here, places are sums of bytes: see model/motions.h.
//
// Extents that agree in all readings are one symbol, as two polynomials that agree at random points are equal
// (Schwartz and Zippel). The sizes are drawn so that each range also varies alone, or with one other if the
// model rejects that, so that ranges the model does not join do not look alike.
//
// Cost: a reading for each of about 20 drawings.

#include "import/open_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "import/size_box.h"
#include "stowage/error.h"

namespace stowage::import {
namespace {

constexpr std::size_t enough_readings = 16;
constexpr std::size_t most_readings = 48;   // accepted ones
constexpr std::size_t most_drawings = 160;  // accepted or rejected
constexpr std::size_t most_pairs = 32;
constexpr std::size_t readings_of_largest = 8;
constexpr int most_tries = 6;
constexpr std::int64_t few_sizes = 32;
constexpr std::int64_t most_sizes = 65536;  // of which each may be wanted

/// Other draws at the same sizes may be rejected: so few rounds are never run.
void read_again(const ImportOptions& exact, const ReadAt& read_at) {
  Turns ignored;
  try {
    (void)read_at(exact, ignored);
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch)
  }
}

/// Draws sizes and keeps what the model accepts.
class Drawing {
 public:
  Drawing(const ImportOptions& options, bool is_drawn, Turns turns_of_largest, const ReadAt& read_at)
      : box_(options),
        is_every_(options.every_size),
        is_drawn_(is_drawn),
        read_at_(read_at),
        drawn_{box_.largest()},
        turns_of_largest_(std::move(turns_of_largest)) {
    tried_.resize(box_.size());
    if (is_every_ && !box_.count(most_sizes))
      throw UsageError(
          fmt::format("the ranges have more than {} sizes, expected at most as many to read each "
                      "of them: give smaller ranges or larger steps",
                      most_sizes));
  }

  /// What it rejects, in words.
  std::string run() {
    if (is_every_ || box_.count(few_sizes)) {
      for (const Sizes& sizes : box_.all()) draw(sizes);
    } else {
      draw_some();
    }
    for (std::size_t r = 0; r < box_.size(); ++r) expect_accepted(r);
    for (std::size_t i = 0; !uncertain_.empty() && accepted_ + i < enough_readings; ++i)
      read_again(box_.exactly(uncertain_[i % uncertain_.size()]), read_at_);
    return is_drawn_ ? "" : found();
  }

 private:
  /// What there is to note of the sizes.
  [[nodiscard]] std::string found() const {
    const std::string rest =
        rejected_.empty() ? "" : fmt::format(", such as {}; the plan is for those that it takes", rejected_);
    if (!is_every_) return rest.empty() ? "" : "rejects some sizes of the ranges" + rest;
    const std::size_t taken = accepted_ + 1;  // and the largest
    if (rest.empty()) return fmt::format("was read at each of {} sizes", taken);
    return fmt::format("was read at each of {} sizes and rejects {}{}", drawn_.size(), drawn_.size() - taken,
                       rest);
  }

  void draw_some() {
    draw(box_.parts(1, 2));
    draw(box_.parts(0, 1));
    draw(box_.moved(1));
    draw_apart();
    for (const std::int64_t denominator : {4, 3, 8, 5, 16, 32})
      for (std::int64_t numerator = 1; numerator < denominator; numerator += 2)
        if (!has_enough()) draw(box_.parts(numerator, denominator));
    for (const std::int64_t distance : {32, 7}) draw(box_.moved(distance));
    draw_at_random();
    draw_turning_sizes();
  }

  /// One range without the others, halved and at 0 and 1, which are below what the others make of a minimum; with one
  /// of the others where the model rejects that.
  void draw_apart() {
    if (box_.size() < 2) return;
    std::vector<std::size_t> bound;
    for (std::size_t r = 0; r < box_.size(); ++r) {
      if (!draw(with_part({r}))) bound.push_back(r);
      for (const std::int64_t few : {0, 1}) {
        Sizes sizes = box_.largest();
        sizes[r] = box_.within(r, few);
        draw(sizes);
      }
    }
    std::size_t pairs = 0;
    for (std::size_t i = 0; i < bound.size(); ++i)
      for (std::size_t j = i + 1; j < bound.size() && pairs < most_pairs; ++j, ++pairs)
        draw(with_part({bound[i], bound[j]}));
  }

  [[nodiscard]] Sizes with_part(std::initializer_list<std::size_t> ranges) const {
    Sizes sizes = box_.largest();
    for (const std::size_t r : ranges) sizes[r] = box_.part(r, 1, 2);
    return sizes;
  }

  void draw_at_random() {
    std::mt19937_64 random;  // the same numbers everywhere
    constexpr std::int64_t parts = 16;
    for (bool is_fine = false; !has_enough() && drawn_.size() < most_drawings; is_fine = !is_fine) {
      Sizes sizes = box_.largest();
      for (std::size_t r = 0; r < sizes.size(); ++r) {
        const auto number = static_cast<std::int64_t>(random() >> 1U);
        sizes[r] =
            is_fine ? box_.within(r, number % (sizes[r] + 1)) : box_.part(r, number % parts + 1, parts);
      }
      if (!drawn_.contains(sizes)) {
        draw(sizes);
      } else if (++repeated_ > most_drawings) {
        return;
      }
    }
  }

  [[nodiscard]] bool has_enough() const { return accepted_ >= enough_readings; }

  /// False if the model rejects these sizes. What is drawn besides may be the reason, so they are read again then.
  bool draw(const Sizes& sizes) {
    if ((accepted_ >= most_readings && !is_every_) || !drawn_.insert(sizes).second) return true;
    for (int tries = is_drawn_ ? most_tries : 1; tries > 0; --tries) {
      if (is_accepted(sizes)) return true;
    }
    return false;
  }

  bool is_accepted(const Sizes& sizes) {
    Turns turns;
    try {
      if (read_at_(box_.exactly(sizes), turns)) {
        is_drawn_ = true;
        uncertain_.push_back(sizes);
      }
    } catch (const Error& error) {
      if (rejected_.empty()) rejected_ = fmt::format("{}: {}", box_.in_words(sizes), error.what());
      for_each_smaller(sizes, [&](Tried& tried) {
        if (!tried.reason.empty()) return;
        tried.reason = error.what();
        tried.rejected = sizes;
      });
      return false;
    }
    for_each_smaller(sizes, [](Tried& tried) { tried.is_accepted = true; });
    note_turns(sizes, std::move(turns));
    ++accepted_;
    return true;
  }

  /// The first reading in which only one range is not at its largest tells how numbers grow along it.
  void note_turns(const Sizes& sizes, Turns turns) {
    const Sizes largest = box_.largest();
    std::vector<std::size_t> smaller;
    for (std::size_t r = 0; r < sizes.size(); ++r)
      if (sizes[r] < largest[r]) smaller.push_back(r);
    if (smaller.size() == 1 && !tried_[smaller[0]].alone)
      tried_[smaller[0]].alone = TurnsAt{sizes[smaller[0]], std::move(turns)};
  }

  /// Where the model says that it may change: along each range, with the others at their largest.
  void draw_turning_sizes() {
    for (std::size_t r = 0; r < box_.size(); ++r) {
      if (!tried_[r].alone) continue;
      Sizes sizes = box_.largest();
      for (const std::int64_t size : turning_sizes(box_.range(r), turns_of_largest_, *tried_[r].alone)) {
        sizes[r] = size;
        draw(sizes);
      }
    }
  }

  /// What is known of the sizes of a range below its largest.
  struct Tried {
    bool is_accepted = false;
    std::optional<TurnsAt> alone{};  ///< First, with the others at their largest.
    Sizes rejected{};                ///< First; sizes of all ranges.
    std::string reason{};
  };

  /// Visits what is known of each range that is not at its largest.
  template <typename Visit>
  void for_each_smaller(const Sizes& sizes, Visit visit) {
    const Sizes largest = box_.largest();
    for (std::size_t r = 0; r < sizes.size(); ++r) {
      if (sizes[r] < largest[r]) visit(tried_[r]);
    }
  }

  /// A plan for a range of which only the largest size is possible would not be for that range.
  void expect_accepted(std::size_t range) const {
    const Tried& tried = tried_[range];
    if (tried.is_accepted) return;
    throw Error("",
                fmt::format("accepts only the largest of {} sizes drawn from the ranges that are given, at "
                            "{} instead of {}: {}; give exact sizes, as N..N, or a range that it accepts",
                            drawn_.size(), fmt::join(tried.rejected, ","), fmt::join(box_.largest(), ","),
                            tried.reason));
  }

  Box box_;
  bool is_every_;
  bool is_drawn_;  ///< Readings draw what a run decides.
  const ReadAt& read_at_;
  std::set<Sizes> drawn_;
  std::size_t repeated_ = 0;
  std::size_t accepted_ = 0;
  std::vector<Sizes> uncertain_{};  ///< Accepted ones at which something is drawn.
  std::vector<Tried> tried_{};      ///< Of each range.
  Turns turns_of_largest_;
  std::string rejected_{};  ///< First, with the reason.
};

}  // namespace

bool is_range(const GivenSize& size) { return size.least && *size.least < size.most; }

GivenSize exactly(const GivenSize& size) { return {size.most, size.most}; }

GivenSize at_most(const GivenSize& size) {
  if (size.least) return size;
  return {0, size.most};  // NonZero may find nothing
}

void expect_steps(std::string_view flag, const std::string& name, const GivenSize& size) {
  const std::int64_t least = size.least.value_or(size.most);
  if (size.step >= 1 && (size.most - least) % size.step == 0) return;
  throw UsageError(fmt::format("{} {}: {} is not whole steps of {} from {}, expected a largest size that is",
                               flag, base::quoted(name), size.most, size.step, least));
}

std::size_t draw(std::size_t reading, TensorId tensor, std::size_t count) {
  constexpr std::uint64_t odd = 0x9E3779B97F4A7C15ULL;
  constexpr int half = 32;
  std::uint64_t mixed = (reading + 1) * odd + tensor;
  mixed = (mixed ^ (mixed >> half)) * odd;
  return static_cast<std::size_t>((mixed >> half) % count);
}

bool has_ranges(const ImportOptions& options) {
  bool has = false;
  ImportOptions copy = options;
  for_each_size(copy, [&](const GivenSize& size) { has = has || is_range(size); });
  return has;
}

bool have_same_ranges(const ImportOptions& a, const ImportOptions& b) {
  const auto ranges_in = [](ImportOptions options) {
    std::vector<GivenSize> ranges;
    for_each_size(options, [&](const GivenSize& size) {
      if (is_range(size)) ranges.push_back(size);
    });
    return ranges;
  };
  return ranges_in(a) == ranges_in(b);
}

ImportOptions at_largest(const ImportOptions& options) {
  ImportOptions exact = options;
  for_each_size(exact, [](GivenSize& size) { size.least = size.most; });
  return exact;
}

Error at_largest_in_words(const Error& error, const ImportOptions& options) {
  if (!has_ranges(options) || !error.file().empty()) return error;
  const Box box(options);
  return {error.place(), fmt::format("at {}: {}", box.in_words(box.largest()), error.problem())};
}

std::string read_at_others(const ImportOptions& options, bool is_drawn, Turns turns_of_largest,
                           const ReadAt& read_at) {
  for (std::size_t i = 0; is_drawn && i < readings_of_largest; ++i) read_again(at_largest(options), read_at);
  return has_ranges(options) ? Drawing(options, is_drawn, std::move(turns_of_largest), read_at).run() : "";
}

void add_note(const std::string& note, std::string& notes) {
  if (!note.empty()) notes += (notes.empty() ? "" : "; ") + note;
}

}  // namespace stowage::import
