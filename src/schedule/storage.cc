// Idea. What a step needs is a sum over values: a value takes its bytes from the step of its writer to that
// of its last reader, both included. Three kinds of values that are not alive between two steps, or always,
// become numbers:
//
//     written and never read       in the `own` bytes of the writer
//     there at first, never read   in the `first` bytes
//     there at first and kept      in the bytes that are `always` there
//
// so that all others begin or end with some step, and have the same shape seen from the end of time:
//
//     forward    begins with its writer,          ends with the last of its readers
//     backward   begins with any of its readers,  ends with its writer
//
// Writing over a value takes it out of the sum for one step, that of the operator that writes over it, if all
// other readers have run before. An operator with several inputs to write over writes over one of them, the
// largest. Tensors that repeat bytes of others (views, slots of a concat) are no values: what they repeat is
// read by whoever reads them.

#include "schedule/storage.h"

#include <algorithm>
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
  std::vector<Value> values;
  for (std::size_t v = 0; v < storage.values.size(); ++v) {
    Value& value = storage.values[v];
    sort_unique(value.readers);
    if (value.writer) {
      for (const std::size_t reader : value.readers) storage.waits_for[reader].push_back(*value.writer);
    }
    if (is_counted_apart(value, storage)) continue;
    places[v] = values.size();
    values.push_back(std::move(value));
  }
  storage.values = std::move(values);
  for (auto& earlier : storage.waits_for) sort_unique(earlier);
  for (Overwrite& overwrite : storage.overwrites) {
    std::vector<std::size_t> kept;
    for (const std::size_t v : overwrite.values) {
      if (places[v] && !storage.values[*places[v]].kept) kept.push_back(*places[v]);
    }
    sort_unique(kept);
    overwrite.values = std::move(kept);
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

}  // namespace stowage::schedule
