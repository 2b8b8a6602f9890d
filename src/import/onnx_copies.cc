#include "import/onnx_copies.h"

#include <utility>

#include "import/onnx_attributes.h"
#include "operators/copy_rules.h"

namespace stowage::import {
namespace {

class CopySearch {
 public:
  CopySearch(OnnxGraph& model, const Versions& versions, const std::vector<std::optional<Value>>& values)
      : model_(model), versions_(versions), values_(values) {}

  /// Folded operators and their bodies have no sizes.
  void search(std::size_t subgraph) {
    std::vector<Operator>& all = model_.graph.subgraphs[subgraph].operators;
    for (std::size_t o = 0; o < all.size(); ++o) {
      if (all[o].folded) continue;
      const auto* const facts = operators::find_facts(operators::Format::onnx, all[o].type);
      if (facts != nullptr && facts->copies != nullptr) apply(*facts, all[o], *model_.nodes[subgraph][o]);
      for (const std::size_t body : all[o].bodies) search(body);
    }
  }

 private:
  void apply(const operators::Facts& facts, Operator& op, const wire::NodeProto& node) {
    std::vector<const Value*> values;
    for (const auto& input : op.inputs)
      values.push_back(input && values_[*input] ? &*values_[*input] : nullptr);
    const auto version = versions_.find("");
    const operators::NodeContext context(views_of(node), version == versions_.end() ? 0 : version->second,
                                         op.outputs.size(), {}, std::move(values));
    find_copies(facts, model_.graph, op, context);
  }

  OnnxGraph& model_;
  const Versions& versions_;
  const std::vector<std::optional<Value>>& values_;
};

}  // namespace

void find_copies(OnnxGraph& model, const Versions& versions,
                 const std::vector<std::optional<Value>>& values) {
  CopySearch(model, versions, values).search(0);
}

}  // namespace stowage::import
