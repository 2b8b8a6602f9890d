// The bytes that a step needs are a sum over values: a value takes its bytes from the step of its
// writer to that of its last reader, both included. Three kinds of values, alive at one step only or at all
// steps, become numbers:
//
//     written and never read       in the `own` bytes of the writer
//     there at first, never read   in the `first` bytes
//     there at first and kept      in the bytes that are `always` there
//
// so that all others begin or end with some step, and have the same form seen from the end of time:
//
//     forward    begins with its writer,          ends with the last of its readers
//     backward   begins with any of its readers,  ends with its writer
//
// Writing over a value removes it from the sum for one step, that of the operator that writes over it, if all
// other readers have run before. An operator with several such inputs writes over the largest. Tensors that
// repeat bytes of others (views, slots of a concat) are no values: their readers read the repeated tensors.

#include "schedule/storage.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "schedule/executed.h"

namespace stowage::schedule {
namespace {

void sort_unique(std::vector<std::size_t>& indices) {
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
}

/// Counts a value that is not alive between two steps, or at every step, where it belongs.
bool is_counted_apart(const Value& value, Storage& storage) {
  if (value.size == 0) return true;
  if (value.writer && value.readers.empty() && !value.kept) {
    storage.own[*value.writer] += value.size;
    return true;
  }
  if (!value.writer && value.kept) {
    storage.always += value.size;
    return true;
  }
  if (!value.writer && value.readers.empty()) {
    storage.first += value.size;
    return true;
  }
  return false;
}

}  // namespace

Storage normalized(Storage storage) {
  std::vector<std::optional<std::size_t>> places(storage.values.size());
  std::size_t count = 0;
  for (std::size_t v = 0; v < storage.values.size(); ++v) {
    Value& value = storage.values[v];
    sort_unique(value.readers);
    if (value.writer) {
      for (const std::size_t reader : value.readers) storage.waits_for[reader].push_back(*value.writer);
    }
    if (is_counted_apart(value, storage)) continue;
    places[v] = count;
    if (count < v) storage.values[count] = std::move(value);
    ++count;
  }
  storage.values.resize(count);
  for (auto& earlier : storage.waits_for) sort_unique(earlier);
  for (Overwrite& overwrite : storage.overwrites) {
    std::erase_if(overwrite.values,
                  [&](std::size_t v) { return !places[v] || storage.values[*places[v]].kept; });
    for (std::size_t& v : overwrite.values) v = *places[v];
    sort_unique(overwrite.values);
  }
  std::erase_if(storage.overwrites, [](const Overwrite& it) { return it.values.empty(); });
  return storage;
}

std::vector<Bytes> loads_of(const Storage& storage, std::span<const std::size_t> order) {
  Executed executed(storage, Direction::forward);
  std::vector<Bytes> loads;
  for (const std::size_t op : order) {
    loads.push_back(executed.effect_of(op).during);
    executed.run(op);
  }
  return loads;
}

Bytes peak_of(const Storage& storage, std::span<const std::size_t> order) {
  Bytes peak = storage.always + (order.empty() ? storage.first : 0);
  for (const Bytes load : loads_of(storage, order)) peak = std::max(peak, load);
  return peak;
}

// Some operators can run early and only fill memory: the sign of an activation that only the backward
// step needs. A search forward in time tries them at every place. They may as well run just before the only
// operator that waits for them:
//
//     x .. v(x) ........... u(s, y)       s = v's results, read by u alone
//     x ............ v(x)   u(s, y)       the same order with v moved
//
// Between the two places the inputs of v are alive instead of s, which is no more if they are no larger. At
// its new place v needs, besides the live bytes before u, at most its inputs and its own bytes. If that is no
// more than u adds, the step of v is not above that of u. Then some best order has v there, and v may wait
// for everything that u waits for. Bytes that v may write over are not needed twice; bytes that u may write
// over are not added.
//
// Cost: linear in operands.

namespace {

class Delayer {
 public:
  explicit Delayer(Storage storage)
      : storage_(std::move(storage)),
        followers_(storage_.operators()),
        read_(storage_.operators()),
        written_(storage_.operators()),
        overwrites_(storage_.operators()) {
    for (std::size_t op = 0; op < storage_.operators(); ++op) {
      for (const std::size_t earlier : storage_.waits_for[op]) followers_[earlier].insert(op);
    }
    for (std::size_t v = 0; v < storage_.values.size(); ++v) {
      for (const std::size_t reader : storage_.values[v].readers) read_[reader].push_back(v);
      if (storage_.values[v].writer) written_[*storage_.values[v].writer].push_back(v);
    }
    for (std::size_t i = 0; i < storage_.overwrites.size(); ++i)
      overwrites_[storage_.overwrites[i].op].push_back(i);
  }

  Storage run() {
    for (std::size_t op = 0; op < storage_.operators(); ++op) {
      if (followers_[op].size() == 1 && gains_nothing(op, *followers_[op].begin()))
        wait(op, *followers_[op].begin());
    }
    return std::move(storage_);
  }

 private:
  [[nodiscard]] Bytes size_of(const std::vector<std::size_t>& values) const {
    Bytes size = 0;
    for (const std::size_t v : values) size += storage_.values[v].size;
    return size;
  }

  /// Whether it gains nothing by running early, before the only operator that waits for it.
  [[nodiscard]] bool gains_nothing(std::size_t op, std::size_t follower) const {
    for (const std::size_t v : written_[op]) {
      if (storage_.values[v].kept) return false;  // otherwise only the follower reads it
    }
    const auto is_alive_anyway = [&](std::size_t v) {
      const Value& value = storage_.values[v];
      return value.kept || std::binary_search(value.readers.begin(), value.readers.end(), follower);
    };
    std::vector<std::size_t> freed;
    std::remove_copy_if(read_[op].begin(), read_[op].end(), std::back_inserter(freed), is_alive_anyway);
    if (size_of(freed) > size_of(written_[op])) return false;
    const Bytes needed = size_of(freed) - most_overwritten(op, freed) + storage_.own[op];
    return needed <=
           size_of(written_[follower]) + storage_.own[follower] - most_overwritten(follower, read_[follower]);
  }

  /// Bytes that it may write over, of the given values, which are sorted.
  [[nodiscard]] Bytes most_overwritten(std::size_t op, const std::vector<std::size_t>& values) const {
    Bytes most = 0;
    for (const std::size_t i : overwrites_[op]) {
      const auto& candidates = storage_.overwrites[i].values;
      std::vector<std::size_t> both;
      std::set_intersection(candidates.begin(), candidates.end(), values.begin(), values.end(),
                            std::back_inserter(both));
      most = std::max(most, size_of(both));
    }
    return most;
  }

  void wait(std::size_t op, std::size_t follower) {
    auto& waits_for = storage_.waits_for[op];
    for (const std::size_t earlier : storage_.waits_for[follower]) {
      if (earlier == op) continue;
      waits_for.push_back(earlier);
      followers_[earlier].insert(op);
    }
    std::sort(waits_for.begin(), waits_for.end());
    waits_for.erase(std::unique(waits_for.begin(), waits_for.end()), waits_for.end());
  }

  Storage storage_;
  std::vector<std::set<std::size_t>> followers_;
  std::vector<std::vector<std::size_t>> read_;        ///< Values, per operator.
  std::vector<std::vector<std::size_t>> written_;     ///< Values, per operator.
  std::vector<std::vector<std::size_t>> overwrites_;  ///< Per operator.
};

}  // namespace

Storage delayed(Storage storage) {
  if (storage.first > 0) return storage;  // the first operator needs more
  return Delayer(std::move(storage)).run();
}

}  // namespace stowage::schedule
