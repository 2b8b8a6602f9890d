#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "facts.h"
#include "replay.h"
#include "stowage/plan.h"
#include "tagged_memory.h"

namespace stowage::campaign {

/// Which byte of which input is at an address while an operator runs.
struct Operand {
  std::size_t input = 0;
  Bytes byte = 0;
  bool is_ending = false;  ///< Its view ends here: only what takes its place may be written.
};
using Reading = std::multimap<Address, Operand>;

/// Who writes a tensor, and what it reads meanwhile.
struct Writing {
  const Operator* op = nullptr;
  std::size_t output = 0;
  const Reading* reading = nullptr;
};

/// Reads and writes tensors of a plan by the names of their bytes.
class Machine {
 public:
  Machine(const Networks& networks, const Plan& plan, Findings& findings, ReplayTally& tally);

  [[nodiscard]] const Graph& graph(std::size_t model) const { return graphs_[model]; }
  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] TaggedMemory& memory() { return memory_; }
  [[nodiscard]] ReplayTally& tally() { return tally_; }
  [[nodiscard]] std::optional<std::size_t> place_of(std::size_t model, TensorId tensor) const {
    return places_[model][tensor];
  }
  [[nodiscard]] TensorId tensor_of(std::size_t planned) const { return tensors_.at(planned); }

  void fault(const std::string& group, const std::string& what);

  /// The bytes of a tensor must be there. A tensor without views is not the plan's.
  void read(std::size_t model, TensorId tensor, const std::vector<Bytes>& bytes, const std::string& reader,
            Reading* reading = nullptr, std::size_t input = 0);
  void write(std::size_t model, TensorId tensor, const std::vector<Bytes>& bytes, const std::string& writer,
             const Writing& writing = {});
  /// What was read though its view ends here must have been in the place of an output.
  void check_endings(std::size_t model, const Operator& op, const Reading& reading,
                     const std::string& reader);
  /// Fills scratch memory with what nobody expects.
  void scribble(std::size_t model, TensorId scratch, const std::string& writer);
  /// The caller fills every view that is alive.
  void give(std::size_t model, TensorId tensor);
  void copy(const Copy& copy);

  [[nodiscard]] std::vector<Bytes> all_bytes(std::size_t model, TensorId tensor) const;
  [[nodiscard]] std::vector<Bytes> bytes_of_rows(std::size_t model, TensorId tensor, std::size_t axis,
                                                 const std::vector<std::int64_t>& rows) const;

  [[nodiscard]] std::string describe_tensor(std::size_t model, TensorId tensor) const;
  [[nodiscard]] std::string describe_name(ByteName name) const;

 private:
  [[nodiscard]] std::optional<Whereabouts::Spot> target(const PlannedTensor& tensor,
                                                        const std::vector<Whereabouts::Spot>& spots) const;
  void check_overwriting(std::size_t model, Address address, ByteName name, Bytes byte,
                         const Writing& writing, const std::string& writer);

  std::span<const Graph> graphs_;
  const Plan& plan_;
  Findings& findings_;
  ReplayTally& tally_;
  std::vector<std::vector<std::optional<std::size_t>>> places_;
  std::map<std::size_t, TensorId> tensors_;
  Names names_;
  TaggedMemory memory_;
  std::uint64_t scribbled_ = 0;
  std::set<Address> written_;  ///< Since the last `check_endings`.
};

}  // namespace stowage::campaign
