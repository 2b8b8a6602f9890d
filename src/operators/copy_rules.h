#pragma once

#include <cstddef>
#include <string>

#include "operators/context.h"
#include "operators/copies.h"
#include "operators/facts.h"
#include "stowage/graph.h"

namespace stowage::operators {

/// An operator that may only move data, under inspection.
struct CopyCall {
  const Graph& graph;
  const NodeContext& node;  ///< Without types: those of the graph hold.
  const Operator& op;
  const std::string& name;  ///< In messages.
  CopyFinder& finder;

  [[nodiscard]] bool has(std::size_t input) const {
    return input < op.inputs.size() && op.inputs[input].has_value();
  }
};

/// Fills in the copies of an operator by the rule in its row, which must have one. `objection` is what the
/// format has against a copy.
void find_copies(const Facts& facts, const Graph& graph, Operator& op, const NodeContext& node,
                 const CopyFinder::Objection& objection = {});

}  // namespace stowage::operators

/// A rule for each kind of operators: it says which bytes go where, or why all must be copied.
namespace stowage::operators::copies {

void whole(const CopyCall& it);
void if_equal(const CopyCall& it);
void dropout(const CopyCall& it);
void transpose(const CopyCall& it);
void concat(const CopyCall& it);
void split(const CopyCall& it);
void slice(const CopyCall& it);
void gather(const CopyCall& it);
void cast(const CopyCall& it);
void transpose_by_input(const CopyCall& it);
void concat_alone(const CopyCall& it);
void pack(const CopyCall& it);
void unpack(const CopyCall& it);
void split_evenly(const CopyCall& it);
void split_by_sizes(const CopyCall& it);
void slice_by_sizes(const CopyCall& it);
void strided_slice(const CopyCall& it);
void gather_one(const CopyCall& it);

}  // namespace stowage::operators::copies
