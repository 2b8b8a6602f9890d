#include "import/plan_parts.h"

namespace stowage::import {
namespace {

/// The times of an operator or an arrival, or of several blocks of an operator.
void add_timed(const Json& json, Repeated& repeated, std::vector<TimedSteps>& all) {
  TimedSteps steps{.count = json.at("steps").natural(), .scale = json.at("scale").natural()};
  if (const auto op = json.find("operator")) steps.op = op->index();
  if (const auto tensor = json.find("arrives")) steps.tensor = tensor->index();
  if (const auto sums = json.find("sums")) steps.sums = sums->boolean();
  steps.block = read_block(json);
  const auto blocks = json.find("blocks");
  if (!blocks) {
    steps.shift = json.at("shift").integer();
    steps.position = json.at("position").natural();
    all.push_back(steps);
    return;
  }
  repeated.take(*blocks, blocks->index(), 1);
  const auto shifts = read_list(json.at("shift"), blocks->index(), -largest_value, repeated);
  const auto positions = read_list(json.at("position"), blocks->index(), 0, repeated);
  const Json block = json.at("block");
  const std::vector<RowRange> ranges = ranges_from(read_rows(block), blocks->index(), block);
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    steps.shift = shifts[i];
    steps.position = positions[i];
    steps.block = ranges[i];
    all.push_back(steps);
  }
}

AffineSchedule read_affine(const Json& json, Repeated& repeated) {
  AffineSchedule affine{.load = json.at("load").natural(), .is_followed = json.at("followed").boolean()};
  for (const Json& entry : json.at("operators").elements()) add_timed(entry, repeated, affine.operators);
  return affine;
}

}  // namespace

Streaming read_streaming(const Json& json, Repeated& repeated) {
  Streaming streaming{.granule = json.at("granule").natural(),
                      .load = json.at("load").natural(),
                      .load_of_layers = json.at("load_of_layers").natural(),
                      .recomputed = json.at("recomputed").number(),
                      .recompute_limit = json.at("recompute_limit").number()};
  for (const Json& entry : json.at("regions").elements()) {
    StreamRegion region{.load = entry.at("load").natural(),
                        .load_of_layers = entry.at("load_of_layers").natural()};
    for (const Json& op : entry.at("operators").elements()) region.operators.push_back(op.index());
    streaming.regions.push_back(std::move(region));
  }
  if (const auto affine = json.find("affine")) streaming.affine = read_affine(*affine, repeated);
  const auto curve = json.find("curve");
  for (const Json& it : curve ? curve->elements() : std::vector<Json>{}) {
    const auto interrupted = it.find("interrupted");
    streaming.curve.push_back({it.at("limit").number(), it.at("recomputed").number(), it.at("peak").natural(),
                               interrupted && interrupted->boolean()});
  }
  return streaming;
}

}  // namespace stowage::import
