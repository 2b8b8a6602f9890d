#include "schedule/precedence.h"

namespace stowage::schedule {
namespace {

void unite(std::span<std::uint64_t> set, std::span<const std::uint64_t> other) {
  for (std::size_t w = 0; w < set.size(); ++w) set[w] |= other[w];
}

}  // namespace

Precedence::Precedence(const Storage& storage)
    : operators_(storage.operators()),
      words_((operators_ + set_word - 1) / set_word),
      before_(operators_ * words_, 0),
      after_(operators_ * words_, 0) {
  for (std::size_t op = 0; op < operators_; ++op) {
    for (const std::size_t earlier : storage.waits_for[op]) (void)require(earlier, op);
  }
}

Set Precedence::undecided(std::size_t op) const {
  Set set(words_, ~std::uint64_t{0});
  if (operators_ % set_word != 0) set.back() = (std::uint64_t{1} << (operators_ % set_word)) - 1;
  for (std::size_t w = 0; w < words_; ++w) set[w] &= ~(before(op)[w] | after(op)[w]);
  set[op / set_word] &= ~(std::uint64_t{1} << (op % set_word));
  return set;
}

bool Precedence::require(std::size_t earlier, std::size_t later) {
  if (earlier == later || contains(before(earlier), later)) return false;
  if (contains(after(earlier), later)) return true;
  Set sooner(before(earlier).begin(), before(earlier).end());
  insert(sooner, earlier);
  Set hence(after(later).begin(), after(later).end());
  insert(hence, later);
  for_each(sooner, [&](std::size_t op) { unite(std::span(after_).subspan(op * words_, words_), hence); });
  for_each(hence, [&](std::size_t op) { unite(std::span(before_).subspan(op * words_, words_), sooner); });
  return true;
}

std::vector<std::vector<std::size_t>> Precedence::direct() const {
  std::vector<std::vector<std::size_t>> direct(operators_);
  for (std::size_t op = 0; op < operators_; ++op) {
    Set left(before(op).begin(), before(op).end());
    for_each(before(op), [&](std::size_t earlier) {
      for (std::size_t w = 0; w < words_; ++w) left[w] &= ~before(earlier)[w];
    });
    for_each(left, [&](std::size_t earlier) { direct[op].push_back(earlier); });
  }
  return direct;
}

}  // namespace stowage::schedule
