#include "oracle/naive_schedule.h"

#include <algorithm>
#include <utility>

namespace stowage::oracle {
namespace {

using schedule::Overwrite;
using schedule::Storage;
using schedule::Value;

/// Whether no operator but this one has still to read it.
bool is_last_read(const Value& value, const std::vector<bool>& executed, std::size_t op) {
  return !value.kept && std::all_of(value.readers.begin(), value.readers.end(),
                                    [&](std::size_t reader) { return reader == op || executed[reader]; });
}

bool is_alive(const Value& value, const std::vector<bool>& executed, std::size_t op) {
  if (value.writer == op) return true;
  if (value.writer && !executed[*value.writer]) return false;
  const bool is_first_step = std::find(executed.begin(), executed.end(), true) == executed.end();
  if (value.kept || (!value.writer && is_first_step)) return true;
  return std::any_of(value.readers.begin(), value.readers.end(),
                     [&](std::size_t reader) { return !executed[reader]; });
}

class Trials {
 public:
  explicit Trials(const Storage& storage) : storage_(storage), executed_(storage.operators(), false) {}

  Bytes best() {
    go_on(storage_.always, 0);
    return best_;
  }

 private:
  void go_on(Bytes peak, std::size_t done) {
    if (peak >= best_) return;
    if (done == storage_.operators()) {
      best_ = peak;
      return;
    }
    for (std::size_t op = 0; op < storage_.operators(); ++op) {
      if (executed_[op] || !may_run(op)) continue;
      const Bytes load = naive_load(storage_, executed_, op);
      executed_[op] = true;
      go_on(std::max(peak, load), done + 1);
      executed_[op] = false;
    }
  }

  [[nodiscard]] bool may_run(std::size_t op) const {
    const auto& earlier = storage_.waits_for[op];
    return std::all_of(earlier.begin(), earlier.end(), [&](std::size_t it) { return executed_[it]; }) &&
           std::all_of(storage_.values.begin(), storage_.values.end(), [&](const Value& value) {
             const bool reads =
                 std::find(value.readers.begin(), value.readers.end(), op) != value.readers.end();
             return !reads || !value.writer || executed_[*value.writer];
           });
  }

  const Storage& storage_;
  std::vector<bool> executed_;
  Bytes best_ = largest_value;
};

}  // namespace

Bytes naive_load(const Storage& storage, const std::vector<bool>& executed, std::size_t op) {
  Bytes load = storage.always + storage.own[op];
  if (std::find(executed.begin(), executed.end(), true) == executed.end()) load += storage.first;
  for (const Value& value : storage.values) load += is_alive(value, executed, op) ? value.size : 0;
  Bytes overwritten = 0;
  for (const Overwrite& overwrite : storage.overwrites) {
    if (overwrite.op != op) continue;
    Bytes bytes = 0;
    for (const std::size_t v : overwrite.values)
      bytes += is_last_read(storage.values[v], executed, op) ? storage.values[v].size : 0;
    overwritten = std::max(overwritten, bytes);
  }
  return load - overwritten;
}

Bytes naive_optimum(const Storage& storage) { return Trials(storage).best(); }

Storage random_storage(Choices& choices, const StorageOptions& options) {
  const std::size_t count = 1 + choices.below(options.operators);
  Storage storage;
  storage.waits_for.resize(count);
  std::vector<std::size_t> names(count);  // so that indices say nothing of the order
  for (std::size_t i = 0; i < count; ++i) names[i] = i;
  choices.shuffle(names);
  const std::size_t sizes = 1 + choices.below(20);
  const auto size = [&] { return choices.chance(8) ? 0 : 4 * choices.between(1, static_cast<int>(sizes)); };
  for (std::size_t op = 0; op < count; ++op) storage.own.push_back(choices.chance(20) ? size() : 0);
  const std::size_t most_readers = 1 + choices.below(3);
  const auto add_value = [&](std::optional<std::size_t> writer) {
    Value value{.size = size(), .kept = choices.chance(8)};
    if (writer) value.writer = names[*writer];
    const std::size_t first = writer ? *writer + 1 : 0;
    for (std::size_t r = choices.below(most_readers + 1); r > 0 && first < count; --r) {
      const std::size_t reader = names[first + choices.below(std::min<std::size_t>(count - first, 4))];
      value.readers.push_back(reader);
      if (choices.chance(10)) value.readers.push_back(reader);
    }
    storage.values.push_back(value);
  };
  for (std::size_t op = 0; op < count; ++op) {
    for (std::size_t o = choices.chance(75) ? 1 : choices.below(4); o > 0; --o) add_value(op);
    if (op > 0 && choices.chance(8)) storage.waits_for[names[op]].push_back(names[choices.below(op)]);
  }
  for (std::size_t i = choices.below(3); i > 0; --i) add_value(std::nullopt);
  storage.always = choices.chance(20) ? size() : 0;
  storage.first = choices.chance(10) ? size() : 0;
  if (!options.overwrites) return storage;
  for (std::size_t op = 0; op < count; ++op) {
    Bytes written = storage.own[op];
    std::vector<std::size_t> read;
    for (std::size_t v = 0; v < storage.values.size(); ++v) {
      const Value& value = storage.values[v];
      if (value.writer == op) written += value.size;
      if (std::find(value.readers.begin(), value.readers.end(), op) != value.readers.end()) read.push_back(v);
    }
    if (choices.chance(30)) continue;
    Overwrite several{.op = op};
    for (const std::size_t v : read) {  // what it writes over is no more than it writes
      if (storage.values[v].size > written || choices.chance(20)) continue;
      if (!options.parts) {
        storage.overwrites.push_back({op, {v}});
        continue;
      }
      several.values.push_back(v);
      written -= storage.values[v].size;
    }
    if (!several.values.empty()) storage.overwrites.push_back(std::move(several));
  }
  return storage;
}

}  // namespace stowage::oracle
