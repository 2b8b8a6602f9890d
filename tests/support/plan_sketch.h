/// Plans for tests, made by hand from names. Example:
///
///     PlanSketch sketch;
///     sketch.add_model("m", chain("x", "y"));
///     sketch.run_all(0, 0);
///     sketch.put("x", 0, 0, {0, 1});
///     sketch.put("y", 0, 16, {0, 1});
///     EXPECT_TRUE(sketch.check().empty());
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "oracle/random_graph.h"
#include "stowage/plan.h"
#include "stowage/planner.h"

namespace stowage::cases {

/// One operator of that type: input, output.
[[nodiscard]] Graph chain(const std::string& input, const std::string& output,
                          const std::string& type = "Conv");
/// Two operators: input, what is between, output.
[[nodiscard]] Graph chain_of_two(const std::string& input, const std::string& between,
                                 const std::string& output, const std::string& type = "Conv");

/// Tensors are of 16 bytes, names of tensors and buffers unique in the plan. There is clock 0, and a memory.
/// All outputs are released.
class PlanSketch {
 public:
  Plan plan{};
  std::vector<Input> inputs{};

  PlanSketch();

  std::size_t add_model(const std::string& name, const Graph& graph);
  std::size_t add_clock();
  void fork(std::size_t clock, const std::vector<std::size_t>& branches);
  void run(std::size_t clock, std::size_t model, std::size_t op);
  void run_path(std::size_t clock, std::size_t model, const std::vector<std::size_t>& path);
  /// The operators of the main subgraph, in their order.
  void run_all(std::size_t clock, std::size_t model);
  void copy(std::size_t clock, const std::string& tensor, const std::string& from, const std::string& to);

  void add_memory(const std::string& name, MemoryRole role = MemoryRole::working);
  Buffer& add_buffer(const std::string& id, std::size_t clock, Bytes offset, const Lifetime& life,
                     std::size_t memory = 0);
  void add_view(const std::string& tensor, const std::string& buffer, const Lifetime& life);
  /// A buffer of the tensor's name, with its view.
  void put(const std::string& tensor, std::size_t clock, Bytes offset, const Lifetime& life,
           std::size_t memory = 0);
  void feed(const std::string& output, const std::string& input);

  [[nodiscard]] std::size_t tensor(const std::string& name) const;
  [[nodiscard]] std::size_t buffer(const std::string& id) const;
  [[nodiscard]] View& view(const std::string& tensor, std::size_t index = 0);
  [[nodiscard]] Buffer& buffer_of(const std::string& id) { return plan.buffers[buffer(id)]; }
  [[nodiscard]] Place& place_of(const std::string& id) { return plan.places[buffer(id)]; }
  [[nodiscard]] Graph& graph(std::size_t model) { return std::get<Graph>(inputs[model].content); }

  /// With peaks made true, and no bounds.
  [[nodiscard]] Faults check() const;
};

/// What makes a plan wrong, and the fault that must be found then.
struct Wrong {
  std::string title;
  std::function<void(PlanSketch&)> spoil;
  FaultKind kind;
  std::vector<std::string> names;  ///< All of them are in its text.
};

[[nodiscard]] bool has(const Faults& faults, FaultKind kind, const std::vector<std::string>& names);

/// There is nothing against the plan, but there is once it is made wrong.
void expect_wrong(const std::function<PlanSketch()>& make, const std::vector<Wrong>& wrongs);

}  // namespace stowage::cases
