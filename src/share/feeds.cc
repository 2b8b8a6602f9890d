// Tensors that networks pass to each other and to the caller. Names of feeds and of released outputs become
// tensors, and outputs are kept for their readers. The second part has its own explanation below.

#include "share/feeds.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/nearest.h"
#include "base/text.h"
#include "model/ties.h"
#include "stowage/error.h"

namespace stowage::share {
namespace {

enum class End { output, input };

std::string name_of(const NamedGraph& network) { return base::quoted(network.name); }

void expect_in_working_memory(const std::string& flag, const ModelTensor& it,
                              std::span<const NamedGraph> networks) {
  const auto& [model, t] = it;
  const Graph& graph = networks[model].graph;
  const Tensor& tensor = graph.tensors[t];
  const bool is_tied = std::any_of(graph.ties.begin(), graph.ties.end(), [&](const StateTie& tie) {
    return tie.input == it.tensor || tie.output == it.tensor;
  });
  if (is_tied || tensor.kind == TensorKind::state)
    throw UsageError(fmt::format("{}: {} is state", flag, base::quoted(tensor.name)));
}

/// The output or input that `flag` calls MODEL.TENSOR. Names of models and tensors may contain dots.
ModelTensor find(const std::string& flag, std::string_view text, End end,
                 std::span<const NamedGraph> networks) {
  std::vector<ModelTensor> found;
  std::vector<std::string> names;
  for (std::size_t m = 0; m < networks.size(); ++m) {
    const std::string prefix = networks[m].name + ".";
    const Subgraph& main = networks[m].graph.subgraphs[0];
    const std::vector<TensorId>& ends = end == End::output ? main.outputs : main.inputs;
    for (const TensorId t : std::set<TensorId>(ends.begin(), ends.end())) {
      names.push_back(prefix + networks[m].graph.tensors[t].name);
      if (names.back() == text) found.push_back({m, t});
    }
  }
  const std::string_view what = end == End::output ? "output" : "input";
  if (found.size() != 1) {
    throw UsageError(fmt::format("{}: {} {}, expected MODEL.TENSOR{}", flag, base::quoted(text),
                                 found.empty() ? fmt::format("is no {} of a model", what)
                                               : fmt::format("is an {} of several models", what),
                                 found.empty() ? base::did_you_mean(text, names) : ""));
  }
  const Tensor& tensor = networks[found[0].model].graph.tensors[found[0].tensor];
  if (is_constant(tensor.kind))
    throw UsageError(fmt::format("{}: {} is constant", flag, base::quoted(tensor.name)));
  return found[0];
}

std::string flag_of(const std::string& option, const FeedNames& names) {
  return fmt::format("{} {}={}", option, names.output, names.input);
}

/// The tensors that an option such as `--feed` names. No input may be named twice.
std::vector<ResolvedFeed> resolve(const std::string& option, std::span<const FeedNames> feeds,
                                  std::span<const NamedGraph> networks) {
  std::set<ModelTensor> fed;
  std::vector<ResolvedFeed> resolved;
  for (const FeedNames& names : feeds) {
    const std::string flag = flag_of(option, names);
    const ResolvedFeed feed = resolve_names(option, names, networks);
    expect_in_working_memory(flag, feed.output, networks);
    expect_in_working_memory(flag, feed.input, networks);
    if (!fed.insert(feed.input).second) throw UsageError(flag + ": the input is fed twice");
    resolved.push_back(feed);
  }
  return resolved;
}

}  // namespace

ResolvedFeed resolve_names(const std::string& option, const FeedNames& names,
                           std::span<const NamedGraph> networks) {
  const std::string flag = flag_of(option, names);
  const ResolvedFeed feed{find(flag, names.output, End::output, networks),
                          find(flag, names.input, End::input, networks)};
  const Tensor& output = networks[feed.output.model].graph.tensors[feed.output.tensor];
  const Tensor& input = networks[feed.input.model].graph.tensors[feed.input.tensor];
  const bool is_state = option == "--state";
  const bool do_fit = is_state ? model::may_be_one_state(output, input) : output.bytes == input.bytes;
  if (output.dtype != input.dtype || !do_fit) {
    throw UsageError(
        fmt::format("{}: an output of {} bytes of {} cannot be an input of {} bytes of {}{}", flag,
                    output.bytes, stowage::name_of(output.dtype), input.bytes, stowage::name_of(input.dtype),
                    is_state ? "; expected one size, or shapes that differ along one axis" : ""));
  }
  return feed;
}

std::vector<ResolvedFeed> resolve_feeds(std::span<const FeedNames> feeds,
                                        std::span<const NamedGraph> networks, const Timeline& timeline) {
  std::vector<ResolvedFeed> resolved = resolve("--feed", feeds, networks);
  for (std::size_t f = 0; f < resolved.size(); ++f) {
    const std::size_t from = resolved[f].output.model;
    const std::size_t to = resolved[f].input.model;
    if (timeline.are_parted(from, to)) {
      throw UsageError(
          fmt::format("--feed {}={}: of {} and {} one runs between steps without the other (^ in --run), "
                      "once or more often or "
                      "not at all: what it reads and writes is the caller's",
                      feeds[f].output, feeds[f].input, name_of(networks[from]), name_of(networks[to])));
    }
    if (!timeline.runs_before(from, to)) {
      throw UsageError(fmt::format("--feed {}={}: {} does not run after {}", feeds[f].output, feeds[f].input,
                                   name_of(networks[to]), name_of(networks[from])));
    }
  }
  return resolved;
}

std::vector<ResolvedFeed> resolve_joins(std::span<const FeedNames> joins,
                                        std::span<const NamedGraph> networks) {
  std::vector<ResolvedFeed> resolved = resolve("--join", joins, networks);
  for (std::size_t j = 0; j < resolved.size(); ++j) {
    if (resolved[j].output.model == resolved[j].input.model)
      throw UsageError(fmt::format("--join {}={}: both are of one model", joins[j].output, joins[j].input));
  }
  return resolved;
}

std::vector<ModelTensor> resolve_released(std::span<const std::string> names,
                                          std::span<const NamedGraph> networks) {
  std::set<ModelTensor> released;
  for (const std::string& name : names) {
    const std::string flag = "--release " + name;
    const ModelTensor output = find(flag, name, End::output, networks);
    expect_in_working_memory(flag, output, networks);
    if (!released.insert(output).second) throw UsageError(flag + ": the output is released twice");
  }
  return {released.begin(), released.end()};
}

// An output keeps its bytes until all its readers are done: the networks that it feeds, and the caller.
// The caller reads when everything has run, unless the output is released. An input that a network passes on
// as its own output has the bytes of the output that feeds it.
//
// The clock of a branch ends with it. Bytes needed afterwards are on a clock around it:
//
//     A | B; C, A feeds C         root   (fork)  c  c  c       readers: the clock that all of them are on,
//                                 A.out  |-------------|       or in branches of
//     A | B; C                    A.out  |-------------|       the end: the outermost clock on which anything
//     A | B                       A.out on the clock of A      comes after the fork

namespace {

class Keeper {
 public:
  Keeper(std::span<const NamedGraph> networks, const Timeline& timeline, std::span<const ResolvedFeed> feeds,
         std::span<const ModelTensor> released, const std::set<ModelTensor>& shared, Io io)
      : networks_(networks),
        timeline_(timeline),
        released_(released.begin(), released.end()),
        shared_(shared),
        io_(io) {
    for (const ResolvedFeed& feed : feeds) fed_by_.emplace(feed.input, feed.output);
  }

  std::vector<KeptOutput> run() {
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

  /// No operator writes over constants and state.
  [[nodiscard]] bool is_elsewhere(const ModelTensor& it) const {
    const Graph& graph = networks_[it.model].graph;
    const TensorKind kind = graph.tensors[it.tensor].kind;
    return is_constant(kind) || kind == TensorKind::state || shared_.contains(it) ||
           std::ranges::any_of(model::ties_in_place(graph), [&](const StateTie& tie) {
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
  const std::set<ModelTensor>& shared_;
  Io io_;
  std::map<ModelTensor, ModelTensor> fed_by_;
  std::map<ModelTensor, KeptOutput> kept_;  ///< By the output.
};

}  // namespace

std::vector<KeptOutput> kept_outputs(std::span<const NamedGraph> networks, const Timeline& timeline,
                                     std::span<const ResolvedFeed> feeds,
                                     std::span<const ModelTensor> released,
                                     const std::set<ModelTensor>& shared, Io io) {
  return Keeper(networks, timeline, feeds, released, shared, io).run();
}

}  // namespace stowage::share
