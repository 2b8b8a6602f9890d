#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "case.h"
#include "open_interpret.h"
#include "open_run.h"
#include "tagged_memory.h"

namespace stowage::campaign {

/// The plan's memory while a network runs at other sizes than the planned ones.
class OpenMemory {
 public:
  OpenMemory(const OpenNet& net, const Graph& graph, const Plan& plan, Findings& findings, OpenTally& tally);

  [[nodiscard]] bool is_right() const { return findings_.empty(); }
  void go(std::size_t position);
  /// The tensor has no more than planned, and differs from it only where it is said to be open.
  void check_size(const std::string& name, const OpenValue& value);
  void read(const std::string& name, const OpenValue& value, const std::string& reader);
  /// Somebody else than an operator writes the tensor: the caller, or what hands over the results of a body.
  void give(const std::string& name, const OpenValue& value);
  void give_row(const std::string& name, const OpenValue& row, std::int64_t number);
  void copy(const Copy& copy, const OpenValue& value);

  /// An operator reads all of its inputs, and then writes what is not in place.
  void begin(const Operator& op, const OpenNode& node, const std::string& words);
  void operand(const std::string& name, const OpenValue& value, std::size_t input);
  void write_results(const Operator& op, const OpenNode& node, const std::vector<const OpenValue*>& inputs,
                     const std::vector<Made>& made);

 private:
  struct Read {
    std::size_t input = 0;
    Bytes byte = 0;
    ByteName name = nobody;
  };
  struct Removed {
    bool is_whole = false;
    std::vector<ByteCopy> copies{};  ///< Those at the same place.
  };

  void fault(const std::string& group, const std::string& what);
  [[nodiscard]] const PlannedTensor* planned(const std::string& name) const;
  [[nodiscard]] Bytes width(const OpenValue& value) const { return net_.width(value.elements); }
  [[nodiscard]] ByteName byte_of(const OpenValue& value, Bytes byte) const {
    return value.names[static_cast<std::size_t>(byte / width(value))] * 16 +
           static_cast<ByteName>(byte % width(value));
  }
  [[nodiscard]] std::optional<Address> place_of_byte(const std::string& name, Bytes byte, bool is_read) const;
  [[nodiscard]] Removed removed_copies(const Operator& op, const OpenNode& node, std::size_t input,
                                       std::size_t output, const OpenValue& value) const;
  void put(const std::string& name, const OpenValue& value, Bytes at, const std::string& writer);
  void write_byte(const std::string& name, const OpenNode& node, const std::vector<const OpenValue*>& inputs,
                  const OpenValue& value, std::size_t output, Bytes byte);

  const OpenNet& net_;
  const Graph& graph_;
  const Plan& plan_;
  Findings& findings_;
  OpenTally& tally_;
  TaggedMemory memory_;
  std::map<std::string, std::size_t> places_;  ///< In Plan::tensors.
  std::map<std::string, TensorId> tensors_;
  std::map<std::size_t, std::int64_t> extents_;  ///< By symbol, of this run.
  std::multimap<Address, Read> reading_;
  std::string words_;
};

}  // namespace stowage::campaign
