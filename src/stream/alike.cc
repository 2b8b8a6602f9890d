// Networks repeat themselves: layers, cells. Two operators are alike if their iterations write as many bytes,
// wait for as many iterations of operators at the same distance, and read granules last that are read next at the
// same distance, or never. Of two stretches of operators that are alike one by one, all regions have the same steps
// and change the live bytes by as much.
//
//     a b c d | b c d | b c d | e        the last b c d is alike the one before it, and so is the second
//
// Cost: linear in what is hashed; then operators * the few earlier places that are compared.

#include "stream/alike.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace stowage::stream {
namespace {

constexpr std::size_t most_places = 8;  ///< Earlier operators that are compared with one.

class Hash {
 public:
  void add(std::uint64_t value) {
    value_ = (value_ ^ value) * 0xff51afd7ed558ccdU;
    value_ ^= value_ >> 32U;
  }
  void add(std::int64_t value) { add(static_cast<std::uint64_t>(value)); }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0x9e3779b97f4a7c15U;
};

/// The next operator that reads the granule after one that does, and its last iteration that does.
void add_next_reader(const Granule& granule, std::size_t op, Hash& hash) {
  const auto next = std::ranges::upper_bound(granule.last_readers, op, {}, &LastReader::op);
  if (next == granule.last_readers.end()) {
    hash.add(std::uint64_t{granule.stays ? 1U : 0U});
    return;
  }
  hash.add(std::uint64_t{next->op - op});
  hash.add(next->index);
}

std::uint64_t hash_of(const RowProgram& program, std::size_t op) {
  Hash hash;
  hash.add(program.count(op));
  for (IterationId i = program.first[op]; i < program.first[op + 1]; ++i) {
    const Iteration& instance = program.instances[i];
    hash.add(instance.bytes_written);
    hash.add(instance.bytes_dropped);
    for (const Dependence& need : instance.needs) {
      hash.add(std::uint64_t{op - need.op});
      hash.add(need.count);
    }
    hash.add(std::uint64_t{instance.releases.size()});
    for (const GranuleId g : instance.releases) {
      hash.add(program.granules[g].bytes);
      add_next_reader(program.granules[g], op, hash);
    }
  }
  return hash.value();
}

}  // namespace

std::vector<AlikeStretch> alike_stretches(const RowProgram& program) {
  std::vector<std::uint64_t> hashes;
  std::unordered_map<std::uint64_t, std::vector<std::size_t>> places;
  std::vector<AlikeStretch> result(program.operators() + 1);
  for (std::size_t op = 0; op < program.operators(); ++op) {
    hashes.push_back(hash_of(program, op));
    std::vector<std::size_t>& earlier = places[hashes.back()];
    for (std::size_t k = 0; k < std::min(earlier.size(), most_places); ++k) {
      const std::size_t period = op - earlier[earlier.size() - 1 - k];
      std::size_t length = 1;
      while (length + period <= op && hashes[op - length] == hashes[op - length - period]) ++length;
      if (length > result[op + 1].length) result[op + 1] = {period, length};
    }
    earlier.push_back(op);
  }
  return result;
}

}  // namespace stowage::stream
