#include "plan/stream_ways.h"

#include <algorithm>
#include <cstddef>
#include <variant>

#include "stowage/error.h"

namespace stowage::plan {

using stream::InPlace;

void expect_to_stream(std::span<const Input> inputs, const PlanOptions& options) {
  if (inputs.size() != 1) throw UsageError("--stream plans one network, by itself");
  if (options.stream->granule < 1) throw UsageError("--granule is at least 1");
  if (!(options.stream->recompute >= 1)) throw UsageError("--recompute is at least 1");
  if (!options.run.empty() || !options.feeds.empty() || !options.released.empty() ||
      options.moves != Moves::none)
    throw UsageError("--stream excludes --run, --feed, --release and --moves");
  if (options.target != Target::any) throw UsageError("--stream makes plans that TFLite files cannot say");
  if (options.memories.size() != 1 || options.memories[0].role != MemoryRole::working)
    throw UsageError("--stream plans one memory");
  const auto& graph = std::get<Graph>(inputs[0].content);
  const bool has_state = std::any_of(graph.tensors.begin(), graph.tensors.end(),
                                     [](const Tensor& it) { return it.kind == TensorKind::state; });
  const bool has_scratch =
      std::any_of(graph.subgraphs.begin(), graph.subgraphs.end(), [](const Subgraph& subgraph) {
        return std::any_of(subgraph.operators.begin(), subgraph.operators.end(),
                           [](const Operator& op) { return !op.scratch.empty(); });
      });
  if (has_state || has_scratch || !graph.ties.empty())
    throw UsageError("--stream: the network has state or scratch memory, which cannot be streamed");
}

std::vector<Way> ways_of(const PlanOptions& options) {
  const InPlace in_place =
      options.stream->layout == StreamLayout::ring ? InPlace::same_size : InPlace::where_possible;
  std::vector<Way> ways{{.io = options.io,
                         .in_place = options.alias == Alias::none ? InPlace::never : in_place,
                         .recompute = options.stream->recompute,
                         .order = options.order}};
  const auto add_less = [&](auto lessen) {
    for (std::size_t w = 0, count = ways.size(); w < count; ++w) {
      Way less = ways[w];
      lessen(less);
      if (less != ways[w]) ways.push_back(less);
    }
  };
  add_less([](Way& way) { way.io = way.io == Io::rows ? Io::arena : way.io; });
  add_less([&](Way& way) {
    if (options.alias == Alias::automatic) way.in_place = InPlace::never;
  });
  add_less([](Way& way) { way.recompute = 1; });
  add_less([](Way& way) { way.repeats = false; });
  add_less([](Way& way) { way.order = Order::keep; });
  return ways;
}

}  // namespace stowage::plan
