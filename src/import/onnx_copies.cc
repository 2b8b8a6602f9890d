#include "import/onnx_copies.h"

#include <utility>

#include "import/onnx_attributes.h"
#include "operators/copy_rules.h"

namespace stowage::import {
namespace {

class CopySearch {
 public:
  CopySearch(OnnxGraph& model, const Versions& versions, const Values& values)
      : model_(model), versions_(versions), values_(values) {}

  /// Folded operators and their bodies have no sizes.
  void search(std::size_t subgraph) {
    std::vector<Operator>& all = model_.graph.subgraphs[subgraph].operators;
    for (std::size_t o = 0; o < all.size(); ++o) {
      if (all[o].folded) continue;
      std::vector<const Value*> known;
      for (const auto& input : all[o].inputs)
        known.push_back(input && values_[*input] ? &*values_[*input] : nullptr);
      find_copies(model_.graph, all[o], *model_.nodes[subgraph][o], versions_, std::move(known));
      for (const std::size_t body : all[o].bodies) search(body);
    }
  }

 private:
  OnnxGraph& model_;
  const Versions& versions_;
  const Values& values_;
};

}  // namespace

void find_copies(const Graph& graph, Operator& op, const wire::NodeProto& node, const Versions& versions,
                 std::vector<const Value*> values) {
  const auto* const facts = operators::find_facts(operators::Format::onnx, op.type);
  if (facts == nullptr || facts->copies == nullptr) return;
  const auto version = versions.find("");
  const operators::NodeContext context(views_of(node), version == versions.end() ? 0 : version->second,
                                       op.outputs.size(), {}, std::move(values));
  find_copies(*facts, graph, op, context);
}

void find_copies(OnnxGraph& model, const Versions& versions, const Values& values) {
  CopySearch(model, versions, values).search(0);
}

}  // namespace stowage::import
