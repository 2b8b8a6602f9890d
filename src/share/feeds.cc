#include "share/feeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::share {
namespace {

enum class End { output, input };

class Resolver {
 public:
  Resolver(std::span<const NamedGraph> networks, const Timeline& timeline)
      : networks_(networks), timeline_(timeline) {}

  ResolvedFeed resolve(const FeedNames& names) {
    const std::string flag = fmt::format("--feed {}={}", names.output, names.input);
    const ResolvedFeed feed{find(flag, names.output, End::output), find(flag, names.input, End::input)};
    const Tensor& output = tensor(feed.output);
    const Tensor& input = tensor(feed.input);
    if (output.dtype != input.dtype || output.bytes != input.bytes) {
      throw UsageError(fmt::format("{}: an output of {} bytes of {} cannot be an input of {} bytes of {}",
                                   flag, output.bytes, name_of(output.dtype), input.bytes,
                                   name_of(input.dtype)));
    }
    if (!timeline_.runs_before(feed.output.model, feed.input.model)) {
      throw UsageError(
          fmt::format("{}: {} does not run after {}", flag, name(feed.input), name(feed.output)));
    }
    if (!fed_.insert(feed.input).second) throw UsageError(fmt::format("{}: the input is fed twice", flag));
    return feed;
  }

 private:
  [[nodiscard]] const Tensor& tensor(const ModelTensor& it) const {
    return networks_[it.model].graph.tensors[it.tensor];
  }
  [[nodiscard]] std::string name(const ModelTensor& it) const {
    return base::quoted(networks_[it.model].name);
  }

  /// Names of models and of tensors may hold dots themselves.
  [[nodiscard]] ModelTensor find(const std::string& flag, std::string_view text, End end) const {
    std::vector<ModelTensor> found;
    for (std::size_t m = 0; m < networks_.size(); ++m) {
      const std::string prefix = networks_[m].name + ".";
      if (!text.starts_with(prefix)) continue;
      const Subgraph& main = networks_[m].graph.subgraphs[0];
      const std::vector<TensorId>& ends = end == End::output ? main.outputs : main.inputs;
      for (const TensorId t : std::set<TensorId>(ends.begin(), ends.end())) {
        if (networks_[m].graph.tensors[t].name == text.substr(prefix.size())) found.push_back({m, t});
      }
    }
    const std::string_view what = end == End::output ? "output" : "input";
    if (found.size() != 1) {
      throw UsageError(fmt::format("{}: {} {}, expected MODEL.TENSOR", flag, base::quoted(text),
                                   found.empty() ? fmt::format("is no {} of a model", what)
                                                 : fmt::format("is an {} of several models", what)));
    }
    expect_in_working_memory(flag, found[0]);
    return found[0];
  }

  void expect_in_working_memory(const std::string& flag, const ModelTensor& it) const {
    const Graph& graph = networks_[it.model].graph;
    const TensorKind kind = tensor(it).kind;
    const bool is_tied = std::any_of(graph.ties.begin(), graph.ties.end(), [&](const StateTie& tie) {
      return tie.input == it.tensor || tie.output == it.tensor;
    });
    if (is_tied || kind == TensorKind::state)
      throw UsageError(fmt::format("{}: {} is state", flag, base::quoted(tensor(it).name)));
    if (is_constant(kind))
      throw UsageError(fmt::format("{}: {} is constant", flag, base::quoted(tensor(it).name)));
  }

  std::span<const NamedGraph> networks_;
  const Timeline& timeline_;
  std::set<ModelTensor> fed_;
};

}  // namespace

std::vector<ResolvedFeed> resolve_feeds(std::span<const FeedNames> feeds,
                                        std::span<const NamedGraph> networks, const Timeline& timeline) {
  Resolver resolver(networks, timeline);
  std::vector<ResolvedFeed> resolved;
  for (const FeedNames& names : feeds) resolved.push_back(resolver.resolve(names));
  return resolved;
}

}  // namespace stowage::share
