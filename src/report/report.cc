#include "stowage/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>

#include "report/difference_data.h"
#include "report/page.h"
#include "report/plan_data.h"
#include "stowage/error.h"

namespace stowage {
namespace {

/// Writes JSON for a script element: HTML ends it at "</script" whatever the JSON says, so no '<' is left.
void write_for_html(std::string_view json, std::ostream& out) {
  for (std::size_t begin = 0; begin <= json.size();) {
    const std::size_t end = std::min(json.find('<', begin), json.size());
    out << json.substr(begin, end - begin);
    if (end < json.size()) out << "\\u003c";
    begin = end + 1;
  }
}

}  // namespace

void write_report(std::span<const ReportedPlan> plans, const ReportOptions& options, std::ostream& out) {
  if (plans.empty() || plans.size() > 2)
    throw UsageError(fmt::format("a report shows one plan or two, not {}", plans.size()));
  exporting::Json data{{"format", "stowage-report"},
                       {"version", 1},
                       {"program", options.version},
                       {"command", options.command},
                       {"plans", exporting::Json::array()}};
  for (const ReportedPlan& reported : plans)
    data["plans"].push_back(report::data_of(reported, plans.size() == 1 ? options.command : std::string()));
  if (plans.size() == 2) {
    const Plan &before = plans[0].plan, &after = plans[1].plan;
    data["difference"] = report::data_of(difference_of(before, after), before, after);
  }
  const std::string_view page = report::page();
  const std::size_t mark = page.find(report::data_mark);
  out << page.substr(0, mark);
  write_for_html(exporting::dump(data), out);
  out << page.substr(mark + report::data_mark.size());
}

}  // namespace stowage
