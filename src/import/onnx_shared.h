#pragma once

#include <cstddef>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "import/onnx_graph.h"
#include "import/onnx_known.h"
#include "import/open_merge.h"
#include "import/readers.h"
#include "stowage/graph.h"

namespace stowage::import {

/// What a type says of the size of a tensor.
struct SizeOfType {
  DType dtype = DType::unknown;
  std::optional<TensorSize> size{};  ///< None: the tensor cannot have this type.
  bool is_settled = false;           ///< A tensor with this many bytes.
  bool is_plain = false;             ///< A tensor of which every extent is known, and possible.
};

/// What is found for an output of an operator without bodies.
struct KnownOutput {
  std::optional<Id> inferred{};  ///< Its type by the rule of the operator; none: too little is known.
  Id type = 0;                   ///< The same with what else is known of it.
  Id value = 0;                  ///< If it has this type.
};
using KnownCall = std::vector<KnownOutput>;  ///< By output.

/// What all readings of a model share: all that does not depend on sizes, and what was found for operators. Operators with
/// the same type and attributes are of one kind, and what holds for one of them holds for all whose inputs have
/// the same types and values, in this reading or in another one.
class SharedReading {
 public:
  /// The parts of the model must outlive the object, without changes but to sizes, kinds and copies.
  SharedReading(const OnnxGraph& of, const Versions& versions_of_it, const std::filesystem::path& folder);

  const OnnxGraph& model;
  const Versions& versions;
  NearbyFiles files;
  std::vector<std::vector<std::size_t>> orders;
  std::vector<std::vector<TensorId>> captures;
  std::vector<bool> is_weight;
  std::vector<bool> is_result;  ///< An operator writes it.
  std::vector<bool> is_passed;  ///< An operator passes it to its body.
  std::vector<Id>
      declarations;  ///< By tensor: number of what the file declares, equal ones alike; 0: nothing.
  std::set<std::string_view> dims_of_caller{};  ///< Symbolic dimensions of the inputs of the network.
  std::vector<std::vector<bool>> is_random;     ///< Operators that give another result in each run.
  /// Of a weight that was read before.
  struct Weight {
    Id type = 0;
    Id value = 0;
  };
  std::vector<std::optional<Weight>> weights;

  [[nodiscard]] Types no_types() const { return {types_, is_weight.size()}; }
  [[nodiscard]] Values no_values() const { return {values_, is_weight.size()}; }
  [[nodiscard]] const SizeOfType& size_of(Id type);

  /// What was found for this operator with inputs of these types and values, or for another one of its kind; null: nothing.
  [[nodiscard]] const KnownCall* known_call(std::size_t subgraph, std::size_t o, const Types& types,
                                            const Values& values);
  /// Of the same operator that was asked for last.
  void note_call(KnownCall call);

  /// The copies of an operator with these sizes and types of its operands, and these values of its inputs.
  [[nodiscard]] const std::vector<ByteCopy>* copies_of(std::size_t subgraph, std::size_t o,
                                                       const std::vector<const TensorSize*>& sizes,
                                                       const Types& types, const Values& values);

  /// Forgets what was found since the object knew so much.
  struct Extent {
    std::size_t types = 0, values = 0, calls = 0, copies = 0;
  };
  [[nodiscard]] Extent extent() const;
  void forget_after(const Extent& extent);

 private:
  using Key = std::vector<Id>;
  struct HashOfKey {
    std::size_t operator()(const Key& key) const;
  };
  using KeyTable = Numbers<Key, HashOfKey, std::equal_to<>>;

  void number_declarations();
  void number_kinds();
  void set_key(std::size_t subgraph, std::size_t o, const Types& types, const Values& values);
  [[nodiscard]] std::vector<ByteCopy> find_copies_of(std::size_t subgraph, std::size_t o,
                                                     const std::vector<const TensorSize*>& sizes,
                                                     const Types& types, const Values& values);

  std::shared_ptr<TypeTable> types_;
  std::shared_ptr<ValueTable> values_;
  std::vector<std::vector<Id>> kinds_{};  ///< Of operators.
  std::deque<SizeOfType> sizes_{};        ///< By type.
  KeyTable calls_{};
  std::deque<KnownCall> known_calls_{};  ///< By number in `calls_`.
  KeyTable copied_{};
  std::deque<std::vector<ByteCopy>> copies_{};  ///< By number in `copied_`.
  Key key_{};
};

/// Which operators are computed once ahead of time, and what is constant then.
struct Folding {
  std::vector<std::vector<bool>> operators{};  ///< Per subgraph.
  std::vector<bool> constants{};               ///< Per tensor.
};

/// Folds operators with only constant inputs, and those whose results are known. `varying`: values by tensor that other
/// readings contradict; empty: there are none.
[[nodiscard]] Folding fold(const SharedReading& shared, const Values& values,
                           const std::vector<bool>& varying);

}  // namespace stowage::import
