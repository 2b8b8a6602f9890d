#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "open_interpret.h"
#include "open_net.h"
#include "random.h"

namespace stowage::campaign {

/// A network whose sizes a run decides, and some runs of it.
struct OpenDrawn {
  OpenNet net{};
  std::vector<World> worlds{};  ///< The first has the largest sizes.
};

/// Grows a network operator by operator, and runs it at several sizes meanwhile: what fits at all of them is
/// right.
class OpenDraft {
 public:
  OpenDraft(Random& random, OpenFormat format);
  [[nodiscard]] OpenDrawn draw();

 private:
  using Nodes = std::vector<OpenNode>;
  using Numbers = std::vector<std::int64_t>;

  // The frame: open_draft.cc.
  void draw_input();
  void draw_operator();
  /// Adds the nodes and what they write if they fit at all sizes.
  bool attempt(Nodes nodes, const std::vector<std::string>& kept);
  void add_input(const OpenInput& input);
  [[nodiscard]] std::string fresh() { return "t" + std::to_string(names_++); }
  [[nodiscard]] std::string constant(const Numbers& numbers, bool is_single = false);
  [[nodiscard]] std::string matrix(std::int64_t rows, std::int64_t columns);
  [[nodiscard]] const OpenValue& at(const std::string& name) const { return values_[0].at(name); }
  [[nodiscard]] std::optional<std::string> pick(Elements elements, std::size_t least_rank = 0);
  [[nodiscard]] std::int64_t axis_of(const std::string& name);
  [[nodiscard]] std::int64_t least_extent(const std::string& name, std::int64_t axis) const;
  [[nodiscard]] OpenDim draw_dim(const std::string& input, std::size_t axis);
  void choose_outputs();
  void declare();
  [[nodiscard]] bool is_onnx() const { return net_.format == OpenFormat::onnx; }

  // Operators: open_draws.cc. Each adds what it draws, or nothing.
  void activate();
  void combine();
  void join();
  void part();
  void cut();
  void pick_rows();
  void refold();
  void turn();
  void ones();
  void choose();
  void draw_topk();
  void draw_range();
  void grow();
  void surround();
  void draw_tile();
  void fill_up();
  void draw_reduce();
  void draw_multiply();

  // Bodies: open_bodies.cc.
  void draw_branch();
  void draw_loop();
  void draw_scan();
  void draw_repeat();
  [[nodiscard]] OpenGraph branch_body(const std::string& from);

  /// Nodes that read an extent of a tensor, as a vector of one number.
  std::string extent_nodes(Nodes& nodes, const std::string& from, std::int64_t axis);

  Random& random_;
  OpenNet net_{};
  std::vector<World> worlds_{};
  std::vector<OpenValues> values_{};  ///< By world.
  std::vector<std::string> pool_{};   ///< Of the main graph.
  std::vector<std::string> symbols_{};
  std::size_t names_ = 0;
};

}  // namespace stowage::campaign
