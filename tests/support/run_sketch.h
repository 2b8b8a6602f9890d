/// Plans of several small networks, made by hand from names. Example:
///
///     PlanSketch sketch({adding("a", 1), adding("b", 1)});
///     sketch.put("a.x", {.life = {0, 1}});
///     sketch.put("a.y", {.offset = 16, .life = {0, 1}});
///     ...
///     sketch.run(0, "a", 0);
///     const RunResult result = sketch.result();
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stowage/network.h"
#include "stowage/plan.h"
#include "stowage/run.h"

namespace stowage::testing {

/// A network of so many operators one after the other, each of which adds a tensor to itself: x, t1, t2, ...,
/// y have 4 floats each. Without operators, x is its output.
[[nodiscard]] Network adding(const std::string& name, std::size_t operators);

/// Where a tensor is, in a buffer of its own.
struct Put {
  std::size_t clock = 0;
  std::size_t memory = 0;
  Bytes offset = 0;
  Lifetime life{};
};

/// All outputs are released.
class PlanSketch {
 public:
  explicit PlanSketch(std::vector<Network> networks, std::size_t memories = 1);

  /// The buffer's id is the tensor's, MODEL.TENSOR, with "@MEMORY" behind unless it is the first memory.
  std::size_t put(const std::string& tensor, const Put& where);
  /// Also has the tensor in a buffer that is there.
  void view(const std::string& tensor, const std::string& buffer, const Lifetime& life, Bytes offset = 0);

  void run(std::size_t clock, const std::string& model, std::size_t op);
  void fork(std::size_t clock, std::vector<std::size_t> branches);
  void copy(std::size_t clock, const std::string& tensor, const std::string& from, const std::string& to);
  void feed(const std::string& output, const std::string& input);

  [[nodiscard]] const std::vector<Network>& networks() const { return networks_; }
  [[nodiscard]] Plan& plan() { return plan_; }
  /// In Plan::tensors.
  [[nodiscard]] std::size_t index_of(const std::string& tensor) const;
  [[nodiscard]] PlannedTensor& tensor(const std::string& name) { return plan_.tensors[index_of(name)]; }
  [[nodiscard]] Buffer& buffer(const std::string& id) { return plan_.buffers[buffer_named(id)]; }

  /// Of a run with this seed, every tensor of which is compared; inputs are drawn from it, too.
  [[nodiscard]] RunResult result(std::uint64_t seed = 0, RunCheck check = RunCheck::tensors);
  /// What was wrong; empty if nothing was.
  [[nodiscard]] std::string fault(std::uint64_t seed = 0, RunCheck check = RunCheck::tensors);

 private:
  [[nodiscard]] std::size_t buffer_named(const std::string& id) const;
  [[nodiscard]] Clock& clock(std::size_t index);

  std::vector<Network> networks_;
  Plan plan_{};
};

/// The output of the network when it runs alone, on inputs drawn from that seed.
[[nodiscard]] Array output_alone(const Network& network, std::uint64_t seed);
/// The same, with a value for its input.
[[nodiscard]] Array output_alone(const Network& network, const Array& input);

}  // namespace stowage::testing
