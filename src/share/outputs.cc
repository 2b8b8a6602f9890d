// Idea. An output has its bytes to itself until everybody has read them: the networks that it feeds, and the
// caller, who comes when everything has run, unless he says that he comes at once. An input that a network
// passes on, as an output of its own, has the bytes of the output that feeds it.
//
// The clock of a branch ends with it. What is needed afterwards is on a clock around it:
//
//     A | B; C, A feeds C         root   (fork)  c  c  c       readers: the clock that all of them are on,
//                                 A.out  |-------------|       or in branches of
//     A | B; C                    A.out  |-------------|       the end: the outermost clock on which anything
//     A | B                       A.out on the clock of A      comes after the fork

#include "share/outputs.h"

#include <algorithm>
#include <map>
#include <set>

namespace stowage::share {
namespace {

class Keeper {
 public:
  Keeper(std::span<const NamedGraph> networks, const Timeline& timeline, std::span<const ResolvedFeed> feeds,
         std::span<const ModelTensor> released, Io io)
      : networks_(networks), timeline_(timeline), released_(released.begin(), released.end()), io_(io) {
    for (const ResolvedFeed& feed : feeds) fed_by_.emplace(feed.input, feed.output);
  }

  std::vector<KeptOutput> take() {
    for (const auto& [input, output] : fed_by_) kept_[source_of(output)].inputs.push_back(input);
    for (std::size_t m = 0; m < networks_.size(); ++m) {
      const std::vector<TensorId>& outputs = networks_[m].graph.subgraphs[0].outputs;
      for (const TensorId t : std::set<TensorId>(outputs.begin(), outputs.end())) keep_to_the_end({m, t});
    }
    std::vector<KeptOutput> result;
    for (auto& [source, kept] : kept_) {
      kept.output = source;
      kept.clock = clock_of(kept);
      result.push_back(std::move(kept));
    }
    return result;
  }

 private:
  [[nodiscard]] ModelTensor source_of(ModelTensor tensor) const {
    while (fed_by_.contains(tensor)) tensor = fed_by_.at(tensor);  // ends: each runs before the next
    return tensor;
  }

  void keep_to_the_end(const ModelTensor& output) {
    if (released_.contains(output) || is_elsewhere(output)) return;
    const ModelTensor source = source_of(output);
    if (io_ == Io::external && !kept_.contains(source)) return;
    kept_[source].lasting.push_back(output);
  }

  /// Nobody writes over constants and state.
  [[nodiscard]] bool is_elsewhere(const ModelTensor& it) const {
    const Graph& graph = networks_[it.model].graph;
    const TensorKind kind = graph.tensors[it.tensor].kind;
    return is_constant(kind) || kind == TensorKind::state ||
           std::any_of(graph.ties.begin(), graph.ties.end(), [&](const StateTie& tie) {
             return tie.output == it.tensor || tie.input == it.tensor;
           });
  }

  [[nodiscard]] std::size_t clock_of(const KeptOutput& kept) const {
    std::size_t clock = timeline_.stage_of(kept.output.model).clock;
    for (const ModelTensor& input : kept.inputs)
      clock = timeline_.common_clock(clock, timeline_.stage_of(input.model).clock);
    return kept.lasting.empty() ? clock : timeline_.lasting_clock(clock);
  }

  std::span<const NamedGraph> networks_;
  const Timeline& timeline_;
  std::set<ModelTensor> released_;
  Io io_;
  std::map<ModelTensor, ModelTensor> fed_by_;
  std::map<ModelTensor, KeptOutput> kept_;  ///< By the output.
};

}  // namespace

std::vector<KeptOutput> kept_outputs(std::span<const NamedGraph> networks, const Timeline& timeline,
                                     std::span<const ResolvedFeed> feeds,
                                     std::span<const ModelTensor> released, Io io) {
  return Keeper(networks, timeline, feeds, released, io).take();
}

}  // namespace stowage::share
