// What may help a list that does not fit: the cheapest buffers to keep elsewhere.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "base/text.h"
#include "stowage/export.h"
#include "stowage/report.h"
#include "stowage/spill.h"

namespace stowage {
namespace {

std::string_view name_of_verdict(Remedy::Verdict verdict) {
  switch (verdict) {
    case Remedy::Verdict::found:
      return "found";
    case Remedy::Verdict::done:
      return "done";
    case Remedy::Verdict::possible:
      return "possible";
    case Remedy::Verdict::impossible:
      return "impossible";
  }
  return "";
}

}  // namespace

std::vector<Remedy> spill_remedies(const Plan& plan, Bytes capacity, const SolveOptions& options) {
  if (!plan.tensors.empty() || plan.memories.size() != 1 || plan.clocks.size() > 1) return {};
  Problem problem{.buffers = plan.buffers, .memories = {plan.memories[0].memory}};
  problem.memories[0].capacity = capacity;
  SolveOptions quick = options;
  quick.time_limit =
      std::min<std::chrono::duration<double>>(options.time_limit, std::chrono::milliseconds(250));
  if (options.effort) quick.effort = *options.effort / 16;
  quick.progress = {};
  const SpillAdvice advice = least_spill(problem, quick);
  if (advice.spills.empty()) return {};
  constexpr std::size_t most_named = 4;
  std::string names;
  for (std::size_t i = 0; i < std::min(advice.spills.size(), most_named); ++i) {
    const Spill& it = advice.spills[i];
    names += i == 0 ? "" : ", ";
    names += base::quoted(plan.buffers[it.buffer].id);
    if (!it.is_whole) names += fmt::format(" from position {} to before {}", it.lower, it.upper);
  }
  if (advice.spills.size() > most_named)
    names += fmt::format(" and {} more", advice.spills.size() - most_named);
  const std::string proof =
      advice.bytes == advice.least ? "no choice has fewer" : fmt::format("at least {} must go", advice.least);
  return {{.verdict = advice.fits ? Remedy::Verdict::found : Remedy::Verdict::possible,
           .what = fmt::format("Keep elsewhere, or let live shorter, buffers of {} bytes ({}): {}",
                               advice.bytes, proof, names),
           .why = advice.fits
                      ? "Offsets of the others within the capacity were found."
                      : "The live bytes of the others are within the capacity; offsets were not found yet.",
           .bytes = plan.summary.peak - capacity}};
}

void write_json(const Plan& plan, const std::vector<Remedy>& remedies, std::ostream& out, PlanForm form) {
  if (remedies.empty()) return write_json(plan, out, form);
  std::ostringstream text;
  write_json(plan, text, form);
  const std::string document = text.str();
  nlohmann::json rows = nlohmann::json::array();
  for (const Remedy& it : remedies)
    rows.push_back({{"verdict", name_of_verdict(it.verdict)},
                    {"what", base::as_utf8(it.what)},
                    {"why", base::as_utf8(it.why)},
                    {"bytes", it.bytes ? nlohmann::json(*it.bytes) : nlohmann::json()},
                    {"command", base::as_utf8(it.command)}});
  out << document.substr(0, document.rfind('}')) << ",\n\"remedies\":" << rows.dump() << "}\n";
}

}  // namespace stowage
