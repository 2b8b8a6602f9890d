#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/print.h"
#include "base/text.h"
#include "export/json.h"
#include "export/order_profile.h"
#include "export/proof.h"
#include "export/readable.h"
#include "export/strategy_rows.h"
#include "model/ties.h"
#include "pack/bounds.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using exporting::readable;

constexpr std::size_t buffers_shown = 5;
constexpr std::size_t reasons_shown = 5;
constexpr std::size_t regions_shown = 10;
constexpr std::size_t sizes_shown = 3;
constexpr std::size_t longest_name = 60;

/// Steps of all clocks.
std::size_t steps_of(const Plan& plan) {
  std::size_t steps = 0;
  for (const Clock& clock : plan.clocks) steps += clock.steps.size();
  return steps;
}

struct Alive {
  Bytes bytes = 0;
  std::size_t buffer = 0;
};

/// The first position with most live bytes, without constants, which are always live.
Position fullest_position(const std::vector<Buffer>& buffers) {
  const auto counts = [](const Buffer& it) { return !is_constant(it.kind); };
  if (std::ranges::all_of(buffers, counts)) return pack::fullest(buffers).at;
  std::vector<Buffer> counted;
  std::ranges::copy_if(buffers, std::back_inserter(counted), counts);
  return pack::fullest(counted).at;
}

std::vector<Alive> alive_at(const std::vector<Buffer>& buffers, Position at) {
  std::vector<Alive> result;
  for (std::size_t b = 0; b < buffers.size(); ++b) {
    if (is_constant(buffers[b].kind)) continue;
    Bytes bytes = 0;
    for (const Piece& piece : buffers[b].pieces) {
      if (piece.life.lower <= at && at < piece.life.upper) bytes += piece.size;
    }
    if (bytes > 0) result.push_back({bytes, b});
  }
  return result;
}

void write_largest(const Plan& plan, std::ostream& out) {
  if (plan.buffers.empty()) return;
  const bool has_one_axis = plan.clocks.size() == 1;
  const std::vector<Buffer> unfolded = has_one_axis ? std::vector<Buffer>() : exporting::on_one_axis(plan);
  const std::vector<Buffer>& buffers = has_one_axis ? plan.buffers : unfolded;
  const Position at = fullest_position(buffers);
  std::vector<Alive> alive = alive_at(buffers, at);
  const std::size_t count = std::min(alive.size(), buffers_shown);
  std::ranges::partial_sort(alive, alive.begin() + static_cast<std::ptrdiff_t>(count),
                            [](const Alive& a, const Alive& b) {
                              return a.bytes != b.bytes ? a.bytes > b.bytes : a.buffer < b.buffer;
                            });
  fmt::print(out, "\nlargest buffers at position {}, where {} are live:\n", at, alive.size());
  fmt::print(out, "  {:>14}  {:>14}  {:>19}  {}\n", "bytes", "offset", "lifetime", "buffer");
  for (std::size_t i = 0; i < count; ++i) {
    const Buffer& buffer = buffers[alive[i].buffer];
    Lifetime life = buffer.pieces.front().life;
    for (const Piece& piece : buffer.pieces) {
      life = {std::min(life.lower, piece.life.lower), std::max(life.upper, piece.life.upper)};
    }
    const Place& place = plan.places[alive[i].buffer];
    const std::string where =
        plan.memories.size() > 1 ? fmt::format(" ({})", plan.memories[place.memory].memory.name) : "";
    base::print(out, "  {:>14}  {:>14}  {:>19}  {}{}\n", alive[i].bytes, place.offset,
                fmt::format("[{}, {})", life.lower, life.upper),
                exporting::shortened(buffer.id, longest_name), where);
  }
}

template <typename Row>
void write_kept_state(const Plan& plan, const Row& row) {
  Bytes bytes = 0;
  for (const PlannedTensor& tensor : plan.tensors) {
    if (tensor.tensor.kind == TensorKind::state && tensor.views.empty()) bytes += tensor.tensor.bytes;
  }
  if (bytes > 0) row("state", readable(bytes) + ", kept by the runtime, not in the arena");
}

/// How state grows with sizes that runs decide: "16384 bytes for each step along axis 2 of past".
std::string growth_of_state(const Plan& plan) {
  struct Growth {
    Bytes bytes = 0;
    std::string example{};
  };
  std::map<std::size_t, Growth> growths;  // by symbol
  std::set<std::size_t> seen;             // buffers: both ends of a tie are in one
  const auto is_old = [](const PlannedTensor* it) { return it->tensor.kind != TensorKind::output; };
  std::vector<const PlannedTensor*> tensors;
  for (const PlannedTensor& tensor : plan.tensors) tensors.push_back(&tensor);
  std::ranges::stable_partition(tensors, is_old);  // a state has the size of the old one, if there is one
  for (const PlannedTensor* const tensor : tensors) {
    const PlannedTensor& it = *tensor;
    if (it.views.empty() || it.tensor.open.empty()) continue;
    const std::size_t buffer = it.views[0].buffer;
    if (plan.buffers[buffer].kind != TensorKind::state || !seen.insert(buffer).second) continue;
    if (it.tensor.open.size() > 1) return "";  // no step of one size alone
    const OpenExtent& open = it.tensor.open[0];
    const auto row = bytes_of_row(it.tensor, open.axis);
    if (!row) return "";
    Growth& growth = growths[open.symbol];
    growth.bytes += *row;
    if (growth.example.empty())
      growth.example =
          fmt::format("axis {} of {}", open.axis, exporting::shortened(it.tensor.name, longest_name));
  }
  std::string text;
  for (const auto& [symbol, growth] : growths)
    text += fmt::format("; {} bytes for each step along {}", growth.bytes, growth.example);
  return text;
}

/// What is always live, and what is left for one run after the other; weights are elsewhere.
template <typename Row>
void write_split(const Plan& plan, const Row& row) {
  Bytes state = 0;
  for (const Buffer& buffer : plan.buffers)
    if (buffer.kind == TensorKind::state) state += buffer.size;
  if (state == 0) return;
  Bytes weights = 0;
  for (const PlannedTensor& it : plan.tensors)
    if (is_constant(it.tensor.kind)) weights += it.tensor.bytes;
  if (plan.savings) weights = plan.savings->weights.shared;
  row("state", fmt::format("{} always live, {} for all else; weights {}{}", readable(state),
                           readable(plan.summary.peak - state), readable(weights), growth_of_state(plan)));
}

/// New states that are copied to the place of the old ones.
template <typename Row>
void write_copied(const Plan& plan, const Row& row) {
  std::size_t count = 0;
  Bytes bytes = 0;
  std::string first;
  for (const Feed& state : plan.states) {
    if (!model::is_copied(plan, state)) continue;
    const PlannedTensor& output = plan.tensors[state.output];
    if (count++ == 0) first = exporting::shortened(output.tensor.name, longest_name);
    bytes += output.tensor.bytes;
  }
  if (count == 0) return;
  const bool are_several = count > 1;
  row("copied", fmt::format("{}{}, to the place{} of the old state{} when the model has run, {}", first,
                            are_several ? fmt::format(" and {} more", count - 1) : "", are_several ? "s" : "",
                            are_several ? "s" : "", readable(bytes)));
}

/// Copies of tensors, or of rows, between memories.
template <typename Row>
void write_moves(const Plan& plan, const Row& row) {
  std::size_t count = 0;
  Bytes bytes = 0;
  for (const Clock& clock : plan.clocks) {
    for (const Step& step : clock.steps) {
      const auto* const copy = std::get_if<Copy>(&step);
      if (copy == nullptr) continue;
      ++count;
      bytes += bytes_of(plan, *copy);
    }
  }
  if (count > 0) row("moves", fmt::format("{} from memory to memory, {}", count, readable(bytes)));
}

/// Where models run between steps of others.
template <typename Row>
void write_pauses(const Plan& plan, const Row& row) {
  for (const Pausing& it : plan.pauses) {
    std::vector<std::string> names;
    for (const Step& step : plan.clocks[it.clock].steps) {
      const auto* const run = std::get_if<Run>(&step);
      if (run == nullptr) continue;
      const std::string& name = plan.models[run->model].name;
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    std::ptrdiff_t count = 0;
    for (const Clock& clock : plan.clocks) count += std::ranges::count(clock.steps, Step(Pause{it.clock}));
    row("pauses", fmt::format("{} for {}, at most {} steps apart; {} carried, {}", count,
                              fmt::join(names, ", "), it.every, readable(it.carried),
                              it.carried == it.least_carried
                                  ? std::string("no others that are as near have less")
                                  : fmt::format("others have {} at least", readable(it.least_carried))));
  }
}

/// Tensors that may be smaller in a run.
template <typename Row>
void write_open_sizes(const Plan& plan, const Row& row) {
  std::size_t count = 0;
  std::map<std::size_t, std::string> first;  // by symbol
  for (const PlannedTensor& it : plan.tensors) {
    if (is_constant(it.tensor.kind) || it.views.empty() || !is_open(it.tensor)) continue;
    ++count;
    for (const OpenExtent& open : it.tensor.open) {
      first.try_emplace(
          open.symbol,
          fmt::format("{} up to {}", base::quoted(exporting::shortened(it.tensor.name, longest_name)),
                      fmt::join(*it.tensor.shape, "x")));
    }
  }
  if (count == 0) return;
  std::vector<std::string> examples;
  for (const auto& [symbol, text] : first) {
    if (examples.size() < sizes_shown && std::ranges::find(examples, text) == examples.end())
      examples.push_back(text);
  }
  const std::string words = examples.empty() ? std::string("every size up to theirs")
                                             : fmt::format("every {}{}", fmt::join(examples, ", "),
                                                           first.size() > sizes_shown ? ", ..." : "");
  row("open sizes", fmt::format("{} tensor{}; the plan holds for {}", count, count == 1 ? "" : "s", words));
}

/// Removed copies, and why others are kept.
template <typename Row>
void write_copies(const Plan& plan, const Row& row) {
  if (plan.copies_removed.count == 0 && plan.copies_kept.empty()) return;
  Bytes kept = 0;
  std::map<std::string_view, std::vector<const KeptCopy*>> by_reason;
  for (const KeptCopy& copy : plan.copies_kept) {
    kept += copy.bytes;
    by_reason[copy.why].push_back(&copy);
  }
  row("copies", fmt::format("{} removed, {}; {} kept, {}", plan.copies_removed.count,
                            readable(plan.copies_removed.bytes), plan.copies_kept.size(), readable(kept)));
  std::size_t shown = 0;
  for (const auto& [why, copies] : by_reason) {
    if (shown++ == reasons_shown) {
      row("", fmt::format("and {} more reasons", by_reason.size() - reasons_shown));
      break;
    }
    const std::string more = copies.size() > 1 ? fmt::format(" and {} more", copies.size() - 1) : "";
    row("  kept",
        fmt::format("{}{}: {}", exporting::shortened(copies.front()->operation, longest_name), more, why));
  }
}

/// Whether bounds of whole operators say nothing of the rows that were asked for.
bool lacks_rows(const Plan& plan) { return left_out(plan, Wish::rows) != nullptr; }

/// Result of the search for an order, for each searched model.
template <typename Row>
void write_order_searches(const Plan& plan, const Row& row) {
  for (const OrderSearch& search : plan.order_searches) {
    const std::string proof = search.load == search.lower_bound
                                  ? lacks_rows(plan) ? "proven optimal for whole operators" : "proven optimal"
                                  : fmt::format("no order has less than {}", readable(search.lower_bound));
    const std::string model = plan.models.size() > 1 ? plan.models[search.model].name + ": " : std::string();
    row("order",
        fmt::format("{}load {}, {}; the model's own {}; {} states in {:.3f} s", model, readable(search.load),
                    proof, readable(search.own_load), search.states, search.seconds));
  }
}

/// Compares streaming with whole operators, and with the lower bound of all orders.
template <typename Row>
void write_streamed(const Plan& plan, const Row& row) {
  if (!plan.streaming) return;
  const Streaming& streaming = *plan.streaming;
  const Claim* const claim = exporting::claim_of_rows(plan);
  std::string proof;
  if (claim != nullptr && claim->lower_bound > 0) {
    proof = claim->scope == ClaimScope::rows
                ? ", along these axes and in these blocks no order has less"
                : ", no order of operators or ascending rows along the axes tried has less";
    if (claim->lower_bound < streaming.load) proof += fmt::format(" than {}", readable(claim->lower_bound));
    if (streaming.recompute_limit > 1) proof += " if these rows are computed again";
  }
  row("streamed",
      fmt::format("load {}{}; {} by layers; rows by {}; multiplies {:.3f} times", readable(streaming.load),
                  proof, readable(streaming.load_of_layers), streaming.granule, streaming.recomputed));
  if (!streaming.affine) return;
  const Bytes saved = streaming.affine->load - streaming.load;
  row("affine",
      streaming.affine->is_followed
          ? std::string("the steps follow an affine schedule; --layout ring --print-loops prints loops")
          : fmt::format("load {} in the best affine schedule; this order {} {}",
                        readable(streaming.affine->load), saved < 0 ? "needs more, by" : "saves",
                        readable(std::abs(saved))));
}

/// What was asked for and is not in the plan, and what may bring it.
template <typename Row>
void write_left_out(const Plan& plan, const Row& row) {
  const LeftOut* before = nullptr;
  for (const LeftOut& it : plan.left_out) {
    if (before != nullptr && before->why == it.why)
      continue;  // what the plan has without rows follows from that
    row(before == nullptr ? "left out" : "",
        fmt::format("{}: {}{}", name_of(it.what), it.why, it.help.empty() ? "" : "; may help: " + it.help));
    before = &it;
  }
}

std::string name_of(const StreamRegion& region) {
  if (region.operators.empty()) return "arrival of inputs";
  const auto [first, last] = std::ranges::minmax(region.operators);
  return first == last ? fmt::format("{}", first) : fmt::format("{} to {}", first, last);
}

/// Regions that run row by row, and the bytes that this saves: the highest ones, in the order in which they run.
void write_streaming(const Streaming& streaming, std::ostream& out) {
  if (streaming.regions.empty()) return;  // of several networks
  fmt::print(out, "\n{:<26}{:>14}  {:>14}   live bytes, row by row and operator by operator\n", "operators",
             "by rows", "by layers");
  std::vector<const StreamRegion*> regions;
  for (const StreamRegion& region : streaming.regions) regions.push_back(&region);
  std::ranges::stable_sort(regions, std::greater{}, &StreamRegion::load);
  const std::size_t shown = std::min(regions.size(), regions_shown);
  std::sort(regions.begin(), regions.begin() + static_cast<std::ptrdiff_t>(shown));
  for (const StreamRegion* const region : std::span(regions).first(shown))
    fmt::print(out, "{:<26}{:>14}  {:>14}\n", name_of(*region), region->load, region->load_of_layers);
  if (shown == regions.size()) return;
  const std::string others = fmt::format("and {} others, at most", regions.size() - shown);
  fmt::print(out, "{:<26}{:>14}\n", others, regions[shown]->load);
}

/// The price of bytes in multiplies.
void write_curve(const std::vector<RecomputePoint>& curve, std::ostream& out) {
  fmt::print(out, "\n{:<16}{:>14}  {:>14}\n", "multiplies up to", "run", "peak");
  for (const RecomputePoint& it : curve)
    fmt::print(out, "{:<16.3f}{:>14.3f}  {:>14}{}\n", it.limit, it.recomputed, it.peak,
               it.interrupted ? "  cut short" : "");
}

/// Savings of models that share a device; the working memory of one alone is shared with none.
void write_savings(const Plan& plan, std::ostream& out) {
  const Savings& savings = *plan.savings;
  fmt::print(out, "\n{:<16}{:>14}  {:>14}  {:>14}\n", "bytes", "separate", "shared", "saved");
  const auto row = [&](std::string_view what, const Saving& saving) {
    fmt::print(out, "{:<16}{:>14}  {:>14}  {:>14}\n", what, saving.separate, saving.shared,
               saving.separate - saving.shared);
  };
  row("weights", savings.weights);
  row("instructions", savings.instructions);
  if (plan.models.size() > 1) row("working memory", savings.working);
}

std::string bound_of(const Plan& plan) {
  std::string text = readable(plan.summary.lower_bound);
  if (!exporting::is_of_chosen_memories(plan)) return text;
  text += " in the chosen memories";
  const auto claim = std::ranges::find(plan.claims, ClaimScope::memories, &Claim::scope);
  return claim == plan.claims.end() ? text : text + fmt::format(", {} in any", readable(claim->lower_bound));
}

/// Whether the peak is proven to be the least, of some scope.
bool is_proven(const Plan& plan) { return exporting::proof_of(plan) != exporting::Proof::nothing; }

/// Whether the search has ended because the plan fits.
bool has_stopped(const Plan& plan) {
  if (plan.memories.size() != 1 || plan.interrupted) return false;
  const bool has_proof = std::ranges::any_of(plan.claims, [&](const Claim& it) {
    return it.proven_optimal && (!is_streamed(plan) || it.scope == ClaimScope::stream);
  });
  if (has_proof) return false;
  const auto& capacity = plan.memories[0].memory.capacity;
  return capacity && plan.memories[0].peak <= *capacity;
}

}  // namespace

std::string proof_in_words(const Plan& plan) {
  const auto proven = [&](std::string_view scope, std::string_view rest) {
    return fmt::format("proven optimal for {}{}", scope,
                       plan.interrupted ? fmt::format("; the search for {} was cut short", rest) : "");
  };
  switch (exporting::proof_of(plan)) {
    case exporting::Proof::nothing:
      return "not proven optimal";
    case exporting::Proof::plan:
      return "proven optimal";
    case exporting::Proof::operators:
      return proven("whole operators", "rows");
    case exporting::Proof::memories:
      return proven(plan.tensors.empty() ? "these memories" : "this order and these memories", "others");
    default:
      return proven("this order and sharing", "others");
  }
}

bool is_cut_short(const Plan& plan) {
  return plan.interrupted && exporting::proof_of(plan) != exporting::Proof::plan;
}

void write_summary(const Plan& plan, std::ostream& out) {
  const Summary& summary = plan.summary;
  const auto row = [&](std::string_view what, const std::string& value) {
    base::print(out, "{:<13}{}\n", what, value);
  };
  for (const ModelInfo& model : plan.models)
    row("model", fmt::format("{} ({})", model.source, name_of(model.format)));
  if (!plan.tensors.empty()) {
    const auto planned = std::count_if(plan.tensors.begin(), plan.tensors.end(), [](const PlannedTensor& it) {
      return !it.views.empty() && !is_constant(it.tensor.kind);
    });
    row("tensors",
        fmt::format("{} in the arena, {} in all; {} steps", planned, plan.tensors.size(), steps_of(plan)));
    write_kept_state(plan, row);
  } else {
    row("buffers", fmt::format("{}", plan.buffers.size()));
  }
  write_open_sizes(plan, row);
  write_copies(plan, row);
  write_moves(plan, row);
  write_pauses(plan, row);
  row("naive", readable(summary.naive));
  row("peak", readable(summary.peak));
  write_split(plan, row);
  write_copied(plan, row);
  row("lower bound", bound_of(plan));
  const auto gap = exporting::gap_in_percent(summary);
  row("gap", (gap ? *gap + " %, " : "") + proof_in_words(plan));
  if (has_stopped(plan)) row("stopped", "it fits its memory; without a limit of that the search goes on");
  write_order_searches(plan, row);
  write_streamed(plan, row);
  write_left_out(plan, row);
  if (summary.cost > 0) {
    const std::string bound = summary.cost_bound > 0
                                  ? fmt::format("no choice of memories has less than {}", summary.cost_bound)
                                  : "no bound";
    row("traffic cost",
        fmt::format("{}, {}{}", summary.cost, bound,
                    plan.interrupted && summary.cost > summary.cost_bound ? ", cut short" : ""));
  }
  for (const auto& [what, value] : exporting::rows_of_pools(plan)) row(what, value);
  row("strategy", summary.strategy + (plan.interrupted && !is_proven(plan) ? ", cut short" : ""));
  for (const auto& [what, value] : exporting::rows_of_tunings(plan)) row(what, value);
  row("seconds", fmt::format("{:.4f}", summary.seconds));
  for (const PlannedMemory& memory : plan.memories) {
    const auto& capacity = memory.memory.capacity;
    const Bytes missing = memory.peak - capacity.value_or(largest_value);
    const std::string limit =
        !capacity
            ? "no limit"
            : readable(*capacity) + (missing > 0 ? fmt::format(", missed by {}", readable(missing)) : "");
    if (plan.memories.size() > 1) {
      row("memory", fmt::format("{}: peak {}, capacity {}, traffic {}", memory.memory.name,
                                readable(memory.peak), limit, readable(memory.traffic)));
    } else if (capacity) {
      row("capacity", limit);
    }
  }
  if (plan.savings) write_savings(plan, out);
  if (plan.streaming) write_streaming(*plan.streaming, out);
  if (plan.streaming && !plan.streaming->curve.empty()) write_curve(plan.streaming->curve, out);
  write_largest(plan, out);
  if (plan.order_profile) exporting::write_order_profile(*plan.order_profile, out);
}

namespace {

using exporting::Json;

std::string remarks_on(const Comparison& comparison) {
  std::string remarks;
  if (comparison.summary.strategy != comparison.strategy) remarks += ", by " + comparison.summary.strategy;
  const Summary& summary = comparison.summary;
  const bool is_proven = summary.peak == summary.lower_bound && summary.cost <= summary.cost_bound;
  if (comparison.interrupted) remarks += is_proven ? ", proven for these buffers" : ", cut short";
  for (const LeftOut& it : comparison.left_out) remarks += fmt::format(", without {}", name_of(it.what));
  if (comparison.outcome == Outcome::exceeds_capacity) remarks += ", does not fit";
  if (comparison.summary.cost > 0) remarks += fmt::format(", traffic cost {}", comparison.summary.cost);
  if (comparison.memories.size() > 1) {
    for (const PlannedMemory& memory : comparison.memories)
      remarks += fmt::format(", {} {}", memory.memory.name, memory.peak);
  }
  return remarks.empty() ? remarks : remarks.substr(2);
}

Json comparison_json(const Comparison& it) {
  Json json{{"strategy", it.strategy}, {"applies", it.obstacle.empty()}};
  if (!it.obstacle.empty()) {
    json["obstacle"] = it.obstacle;
    return json;
  }
  json["peak"] = it.summary.peak;
  json["lower_bound"] = it.summary.lower_bound;
  if (it.summary.cost > 0) {
    json["cost"] = it.summary.cost;
    json["cost_bound"] = it.summary.cost_bound;
  }
  json["found_by"] = it.summary.strategy;
  json["seconds"] = it.summary.seconds;
  json["copies_removed"] = {{"count", it.copies_removed.count}, {"bytes", it.copies_removed.bytes}};
  json["interrupted"] = it.interrupted;
  for (const LeftOut& left_out : it.left_out) json["left_out"].push_back(name_of(left_out.what));
  json["fits"] = it.outcome == Outcome::fits;
  json["memories"] = Json::array();
  for (const PlannedMemory& memory : it.memories)
    json["memories"].push_back(
        {{"name", memory.memory.name}, {"peak", memory.peak}, {"lower_bound", memory.lower_bound}});
  return json;
}

}  // namespace

void write_comparison(std::span<const Comparison> comparisons, std::span<const ModelInfo> models,
                      std::ostream& out) {
  for (const ModelInfo& model : models) base::print(out, "{} ({})\n", model.source, name_of(model.format));
  out << '\n';
  fmt::print(out, "{:<20} {:>14} {:>8} {:>10} {:>15} {:>14}\n", "strategy", "peak", "gap %", "seconds",
             "copies removed", "their bytes");
  for (const Comparison& it : comparisons) {
    if (!it.obstacle.empty()) {
      base::print(out, "{:<20} {:>14}  {}\n", it.strategy, "-", it.obstacle);
      continue;
    }
    const std::string row =
        fmt::format("{:<20} {:>14} {:>8} {:>10.4f} {:>15} {:>14}  {}", it.strategy, it.summary.peak,
                    exporting::gap_in_percent(it.summary).value_or(""), it.summary.seconds,
                    it.copies_removed.count, it.copies_removed.bytes, remarks_on(it));
    base::print(out, "{}\n", row.substr(0, row.find_last_not_of(' ') + 1));
  }
}

void write_comparison_json(std::span<const Comparison> comparisons, std::span<const ModelInfo> models,
                           std::ostream& out) {
  exporting::Document document(out, "stowage-comparison");
  document.models(models);
  document.rows("strategies", comparisons, comparison_json);
  document.finish();
}

}  // namespace stowage
