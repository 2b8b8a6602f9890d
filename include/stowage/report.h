/// Example: plan a list and write the page that shows the plan.
///
///     const stowage::Input input = stowage::parse_input("id,lower,upper,size\na,0,2,64\n", "list.csv");
///     const std::vector<stowage::ReportedPlan> plans{{.plan = stowage::make_plan(input).plan}};
///     std::ostringstream page;
///     stowage::write_report(plans, {.command = "stowage plan list.csv"}, page);
///     return page.str().find("<!doctype html>") == 0 ? 0 : 1;
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stowage/export.h"
#include "stowage/graph.h"
#include "stowage/plan.h"
#include "stowage/problem.h"

namespace stowage {

/// What a plan does for its peak, or what could lower the peak.
struct Remedy {
  enum class Verdict : std::uint8_t {
    found,       ///< Another plan was made: its peak is `bytes` lower; 0 or less: it is not lower.
    done,        ///< The plan does it: `bytes` are saved.
    possible,    ///< It may lower the peak, by at most `bytes`.
    impossible,  ///< It cannot lower the peak: that is proven.
  };
  Verdict verdict = Verdict::possible;
  std::string what{};            ///< A few words: "Another order of operators".
  std::string why{};             ///< Sentences with the figures.
  std::optional<Bytes> bytes{};  ///< None: only another run can tell.
  std::string command{};         ///< The run that would tell; may be empty.

  bool operator==(const Remedy&) const = default;
};

/// What the plan alone proves about its peak: each remedy has figures of the plan, or a command that finds them
/// out. `command` made the plan; empty: unknown. Cost: n log n in pieces and steps.
[[nodiscard]] std::vector<Remedy> remedies_of(const Plan& plan, const std::string& command = {});

/// For the plan of a list in one memory: the buffers with the fewest bytes to keep elsewhere, so that the others fit into
/// the capacity. Empty for other plans. Takes up to four seconds, or about the effort.
[[nodiscard]] std::vector<Remedy> spill_remedies(const Plan& plan, Bytes capacity,
                                                 const SolveOptions& options);

/// The plan as JSON, with remedies as a member "remedies", which `parse_plan` passes over.
void write_json(const Plan& plan, const std::vector<Remedy>& remedies, std::ostream& out, PlanForm form);

/// One figure of plans that differ in one option.
struct Curve {
  struct Point {
    std::string value{};   ///< Of the option: "4 rows".
    Bytes bytes = 0;       ///< The figure.
    bool is_plan = false;  ///< The reported plan has this value.

    bool operator==(const Point&) const = default;
  };
  std::string what{};  ///< Figure and option: "Peak against rows of a step".
  std::vector<Point> points{};

  bool operator==(const Curve&) const = default;
};

struct ReportedPlan {
  Plan plan{};
  std::string title{};          ///< Empty: the names of its models.
  std::vector<Graph> graphs{};  ///< In the order of the plan's models: names of operators. May be empty.
  std::vector<std::uint64_t> hashes{};  ///< XXH64 of the models' files, in their order. May be empty.
  std::vector<Remedy>
      tried{};  ///< Plans that were made with other options; each replaces the remedy of its name.
  std::vector<Curve> curves{};  ///< Of plans with other options.
};

struct ReportOptions {
  std::string command{};  ///< The command line that made the plans. Empty: unknown.
  std::string version{};  ///< Of the program.
};

/// Writes one HTML file that needs no other file: the picture of the plan, the tensors at its peak and what
/// would lower it; see docs/report.md. A second plan is compared with the first one. Throws UsageError unless
/// there are one or two plans.
void write_report(std::span<const ReportedPlan> plans, const ReportOptions& options, std::ostream& out);

}  // namespace stowage
