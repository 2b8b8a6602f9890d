// The heads of an unrolled attention, or parallel experts, are the same branch many times. It matters
// how far each has run, not which is how far: 16 branches of which three are half done are one set, not 560.
//
//     x --> a1 -> b1 -->              {x, a1}, {x, a2} and {x, a3} are the same,
//     x --> a2 -> b2 --> concat       and so are {x, a1, a2} and {x, a1, a3}
//     x --> a3 -> b3 -->
//
// Operators get colours: first by their own bytes, then repeatedly by the colours and sizes around them,
// until no colour splits any more (Weisfeiler, Leman 1968). An operator with a unique colour stays where it
// is. The others form branches, connected with each other only through such operators. Two branches are
// candidates if they have the same colours, each once. Colours are hashes and prove nothing. So each branch
// is exchanged with the first of its group: this must map operators, values and overwrites to themselves,
// which is checked one by one.
//
// Sets that an exchange turns into each other can be completed alike. So a set is looked up with the branches
// of each group sorted by their progress. Cost: operators * rounds at first; per set the operators of
// branches.

#include "schedule/symmetry.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

namespace stowage::schedule {
namespace {

constexpr std::size_t mask_bits = 64;
constexpr std::size_t largest_branch = 64;  ///< Operators: a word of bits.
constexpr std::size_t most_rounds = 32;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t value = a * 0x9e3779b97f4a7c15 ^ (b + 0x7f4a7c159e3779b9);
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

class Colours {
 public:
  explicit Colours(const Storage& storage) : storage_(storage) {
    for (const Bytes own : storage.own) colours_.push_back(static_cast<std::uint64_t>(own));
    std::size_t count = classes();
    for (std::size_t round = 0; round < most_rounds; ++round) {
      refine();
      const std::size_t refined = classes();
      if (refined == count && round > 0) break;
      count = refined;
    }
  }

  [[nodiscard]] const std::vector<std::uint64_t>& of_operators() const { return colours_; }

 private:
  [[nodiscard]] std::size_t classes() const {
    return std::set<std::uint64_t>(colours_.begin(), colours_.end()).size();
  }

  /// Sums over neighbours do not depend on their order.
  void refine() {
    std::vector<std::uint64_t> sums(colours_.size(), 0);
    std::vector<std::uint64_t> of_values;
    for (const Value& value : storage_.values) {
      std::uint64_t readers = 0;
      for (const std::size_t reader : value.readers) readers += mixed(colours_[reader], 1);
      const std::uint64_t writer = value.writer ? colours_[*value.writer] : 0;
      of_values.push_back(
          mixed(mixed(static_cast<std::uint64_t>(value.size), value.kept ? 3 : 2), mixed(writer, readers)));
      for (const std::size_t reader : value.readers) sums[reader] += mixed(of_values.back(), 4);
      if (value.writer) sums[*value.writer] += mixed(of_values.back(), 5);
    }
    for (std::size_t op = 0; op < colours_.size(); ++op) {
      for (const std::size_t earlier : storage_.waits_for[op]) {
        sums[op] += mixed(colours_[earlier], 6);
        sums[earlier] += mixed(colours_[op], 7);
      }
    }
    for (const Overwrite& overwrite : storage_.overwrites) {
      for (const std::size_t v : overwrite.values) sums[overwrite.op] += mixed(of_values[v], 8);
    }
    for (std::size_t op = 0; op < colours_.size(); ++op) colours_[op] = mixed(colours_[op], sums[op]);
  }

  const Storage& storage_;
  std::vector<std::uint64_t> colours_;
};

using Branch = std::vector<std::size_t>;

/// The neighbours of each operator.
struct Neighbours {
  explicit Neighbours(const Storage& storage)
      : followers(storage.operators()), values(storage.operators()), overwrites(storage.operators()) {
    for (std::size_t op = 0; op < storage.operators(); ++op) {
      for (const std::size_t earlier : storage.waits_for[op]) followers[earlier].push_back(op);
    }
    for (std::size_t v = 0; v < storage.values.size(); ++v) {
      for (const std::size_t reader : storage.values[v].readers) values[reader].push_back(v);
      if (storage.values[v].writer) values[*storage.values[v].writer].push_back(v);
    }
    for (std::size_t i = 0; i < storage.overwrites.size(); ++i)
      overwrites[storage.overwrites[i].op].push_back(i);
  }

  std::vector<std::vector<std::size_t>> followers;
  std::vector<std::vector<std::size_t>> values;
  std::vector<std::vector<std::size_t>> overwrites;
};

/// Exchanges two branches during its lifetime, to check the exchange.
class Exchange {
 public:
  /// `image` maps every operator to itself.
  Exchange(const Storage& storage, const Neighbours& neighbours, const Branch& a, const Branch& b,
           std::vector<std::size_t>& image)
      : storage_(storage), neighbours_(neighbours), a_(a), b_(b), image_(image) {
    swap();
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() { swap(); }

  /// Whether it maps all operands and predecessors of an operator to those of its image. Only neighbours of
  /// the branches can change.
  [[nodiscard]] bool is_symmetry() const {
    std::set<std::size_t> operators;
    std::set<std::size_t> values;
    std::map<Overwritten, int> overwrites;
    for (const Branch* const branch : {&a_, &b_}) {
      for (const std::size_t op : *branch) {
        if (storage_.own[op] != storage_.own[image_[op]]) return false;
        operators.insert(op);
        operators.insert(neighbours_.followers[op].begin(), neighbours_.followers[op].end());
        values.insert(neighbours_.values[op].begin(), neighbours_.values[op].end());
      }
    }
    for (const std::size_t op : operators) {
      if (image_of(storage_.waits_for[op]) != storage_.waits_for[image_[op]]) return false;
      for (const std::size_t i : neighbours_.overwrites[op]) {
        ++overwrites[overwritten_by(storage_.overwrites[i], false)];
        --overwrites[overwritten_by(storage_.overwrites[i], true)];
      }
    }
    std::map<Signature, int> signatures;
    for (const std::size_t v : values) {
      ++signatures[signature_of(storage_.values[v], false)];
      --signatures[signature_of(storage_.values[v], true)];
    }
    const auto is_even = [](const auto& it) { return it.second == 0; };
    return std::all_of(signatures.begin(), signatures.end(), is_even) &&
           std::all_of(overwrites.begin(), overwrites.end(), is_even);
  }

 private:
  using Signature = std::tuple<Bytes, bool, std::optional<std::size_t>, std::vector<std::size_t>>;

  using Overwritten = std::pair<std::size_t, std::multiset<Signature>>;

  void swap() {
    for (std::size_t i = 0; i < a_.size(); ++i) std::swap(image_[a_[i]], image_[b_[i]]);
  }

  [[nodiscard]] Overwritten overwritten_by(const Overwrite& overwrite, bool of_image) const {
    std::multiset<Signature> values;
    for (const std::size_t v : overwrite.values) values.insert(signature_of(storage_.values[v], of_image));
    return {of_image ? image_[overwrite.op] : overwrite.op, std::move(values)};
  }

  [[nodiscard]] std::vector<std::size_t> image_of(const std::vector<std::size_t>& operators) const {
    std::vector<std::size_t> image;
    for (const std::size_t op : operators) image.push_back(image_[op]);
    std::sort(image.begin(), image.end());
    return image;
  }

  [[nodiscard]] Signature signature_of(const Value& value, bool of_image) const {
    if (!of_image) return {value.size, value.kept, value.writer, value.readers};
    const auto writer = value.writer ? std::optional(image_[*value.writer]) : std::nullopt;
    return {value.size, value.kept, writer, image_of(value.readers)};
  }

  const Storage& storage_;
  const Neighbours& neighbours_;
  const Branch& a_;
  const Branch& b_;
  std::vector<std::size_t>& image_;
};

/// Operators without a unique colour, connected ones together, each branch sorted by colour.
std::vector<Branch> branches_of(const Storage& storage, const std::vector<std::uint64_t>& colours) {
  std::map<std::uint64_t, std::size_t> counts;
  for (const std::uint64_t colour : colours) ++counts[colour];
  std::vector<std::size_t> parents(colours.size());
  std::iota(parents.begin(), parents.end(), std::size_t{0});
  const auto root_of = [&](std::size_t op) {
    while (parents[op] != op) op = parents[op] = parents[parents[op]];
    return op;
  };
  for (std::size_t op = 0; op < colours.size(); ++op) {
    for (const std::size_t earlier : storage.waits_for[op]) {
      if (counts[colours[op]] > 1 && counts[colours[earlier]] > 1) parents[root_of(op)] = root_of(earlier);
    }
  }
  std::map<std::size_t, Branch> by_root;
  for (std::size_t op = 0; op < colours.size(); ++op) {
    if (counts[colours[op]] > 1) by_root[root_of(op)].push_back(op);
  }
  std::vector<Branch> branches;
  for (auto& [root, branch] : by_root) {
    std::sort(branch.begin(), branch.end(),
              [&](std::size_t a, std::size_t b) { return colours[a] < colours[b]; });
    const bool has_twins =
        std::adjacent_find(branch.begin(), branch.end(), [&](std::size_t a, std::size_t b) {
          return colours[a] == colours[b];
        }) != branch.end();
    if (!has_twins && branch.size() <= largest_branch) branches.push_back(std::move(branch));
  }
  return branches;
}

}  // namespace

Symmetry::Symmetry(const Storage& storage) {
  const Colours colours(storage);
  std::map<std::vector<std::uint64_t>, std::vector<Branch>> alike;
  for (Branch& branch : branches_of(storage, colours.of_operators())) {
    std::vector<std::uint64_t> key;
    for (const std::size_t op : branch) key.push_back(colours.of_operators()[op]);
    alike[key].push_back(std::move(branch));
  }
  const Neighbours neighbours(storage);
  std::vector<std::size_t> image(storage.operators());
  std::iota(image.begin(), image.end(), std::size_t{0});
  for (auto& [key, branches] : alike) {
    Group group{branches.front()};
    for (std::size_t b = 1; b < branches.size(); ++b) {
      if (Exchange(storage, neighbours, branches.front(), branches[b], image).is_symmetry())
        group.push_back(branches[b]);
    }
    if (group.size() > 1) groups_.push_back(std::move(group));
  }
}

void Symmetry::make_canonical(std::vector<std::uint64_t>& bits) {
  for (const Group& group : groups_) {
    keys_.clear();
    for (const auto& branch : group) {
      std::uint64_t key = 0;
      for (std::size_t i = 0; i < branch.size(); ++i) {
        const std::uint64_t bit = bits[branch[i] / mask_bits] >> (branch[i] % mask_bits) & 1U;
        key |= bit << i;
      }
      keys_.push_back(key);
    }
    std::sort(keys_.begin(), keys_.end());
    for (std::size_t b = 0; b < group.size(); ++b) {
      for (std::size_t i = 0; i < group[b].size(); ++i) {
        const std::uint64_t mask = std::uint64_t{1} << (group[b][i] % mask_bits);
        std::uint64_t& word = bits[group[b][i] / mask_bits];
        word = (keys_[b] >> i & 1U) != 0 ? word | mask : word & ~mask;
      }
    }
  }
}

std::uint64_t hash_of(std::span<const std::uint64_t> bits) {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : bits) hash = mixed(hash, word);
  return hash;
}

}  // namespace stowage::schedule
