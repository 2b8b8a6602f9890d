#include "values.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "stowage/error.h"
#include "stowage/run.h"

namespace stowage::campaign {
namespace {

std::vector<float> floats_of(const Array& array) {
  std::vector<float> values(array.data.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), array.data.data(), values.size() * sizeof(float));
  return values;
}

/// Of a streamed run real numbers may differ by 1e-5 of the largest of their tensor (docs/running.md).
std::string difference(const NamedArray& one, const NamedArray& other, bool is_streamed) {
  if (one.name != other.name || one.array.shape != other.array.shape) return "another output";
  if (!is_streamed) return one.array.data == other.array.data ? "" : "not the same bits";
  const std::vector<float> values = floats_of(one.array);
  const std::vector<float> others = floats_of(other.array);
  float largest = 0;
  for (const float value : others)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (std::memcmp(&values[i], &others[i], sizeof(float)) == 0) continue;
    if (!(std::abs(values[i] - others[i]) <= 1e-5F * largest))
      return "element " + std::to_string(i) + " is " + std::to_string(values[i]) + ", not " +
             std::to_string(others[i]);
  }
  return "";
}

}  // namespace

Findings check_values(const Case& drawn, const Plan& plan, Tally& tally) {
  Findings findings;
  try {
    const Network network = parse_network(drawn.sources[0].content, drawn.sources[0].name, drawn.imports);
    PlanOptions plain;
    plain.alias = Alias::none;
    plain.order = Order::keep;
    plain.solve.strategy = "greedy-by-size";
    const PlanResult reference = make_plan(network.input, plain);
    const Runner runner(network, {.kernels = KernelSet::plain});
    const RunResult expected =
        runner.run(reference.plan, {.kernels = KernelSet::plain, .seed = drawn.number});
    const RunResult got =
        runner.run(plan, {.kernels = KernelSet::plain, .check = RunCheck::tensors, .seed = drawn.number});
    if (expected.fault) findings.push_back({"run: fault of the plain plan", expected.fault->what});
    if (got.fault) findings.push_back({"run: fault", got.fault->what});
    if (!findings.empty()) return findings;
    ++tally.families[drawn.family].run;
    for (std::size_t m = 0; m < plan.memories.size(); ++m)
      if (got.touched[m] > plan.memories[m].peak) findings.push_back({"run: touched beyond the peak", ""});
    if (got.outputs.size() != expected.outputs.size()) return {{"run: outputs are missing", ""}};
    for (std::size_t i = 0; i < got.outputs.size(); ++i)
      if (const std::string why = difference(got.outputs[i], expected.outputs[i], plan.streaming.has_value());
          !why.empty())
        findings.push_back({"run: other values", got.outputs[i].name + ": " + why});
    if (plan.streaming && got.multiplies_of_network > 0) {
      const double factor =
          static_cast<double>(got.multiplies) / static_cast<double>(got.multiplies_of_network);
      if (factor > drawn.options.stream->recompute + 1e-9)
        findings.push_back({"run: more multiplies than allowed", std::to_string(factor)});
      if (std::abs(factor - plan.streaming->recomputed) > 1e-6)
        findings.push_back(
            {"run: other multiplies than planned",
             std::to_string(factor) + ", planned " + std::to_string(plan.streaming->recomputed)});
    }
  } catch (const std::exception& error) {
    findings.push_back({"run: exception", error.what()});
  }
  return findings;
}

}  // namespace stowage::campaign
