#include "stowage/open_rows.h"

#include "import/json.h"
#include "import/plan_parts.h"

namespace stowage {
namespace {

using import::Json;

StepCount read_count(const Json& json) {
  StepCount count{json.at("times").natural(), json.at("plus").integer(), json.at("over").natural()};
  if (count.over < 1) throw json.at("over").error("is 0, expected a positive divisor");
  return count;
}

}  // namespace

std::optional<OpenRows> parse_open_rows(std::string_view text) {
  const Json::Value value = Json::parse(text);
  const Json document(value);
  const auto json = document.find("open_rows");
  if (!json) return std::nullopt;
  OpenRows rows{.size = import::read_symbol(json->at("size")), .at = json->at("at").natural()};
  const bool is_in_range = rows.at >= rows.size.least && rows.at <= rows.size.most &&
                           (rows.at - rows.size.least) % rows.size.step == 0;
  if (!is_in_range)
    throw json->at("at").error("is " + json->at("at").shown() + ", expected a size of the range");
  for (const Json& it : json->at("steps").elements())
    rows.steps.push_back(it.is_null() ? std::nullopt : std::optional(read_count(it)));
  return rows;
}

}  // namespace stowage
