#include "stowage/open_rows.h"

#include <ostream>
#include <sstream>

#include "export/json.h"
#include "stowage/export.h"

namespace stowage {

void write_json(const Plan& plan, const OpenRows& rows, std::ostream& out) {
  using exporting::Json;
  Json json{{"size", exporting::json_of(rows.size)}, {"at", rows.at}, {"steps", Json::array()}};
  for (const auto& it : rows.steps) {
    json["steps"].push_back(nullptr);
    if (it) json["steps"].back() = {{"times", it->times}, {"plus", it->plus}, {"over", it->over}};
  }
  std::ostringstream text;
  write_json(plan, text);
  const std::string document = text.str();
  out << document.substr(0, document.rfind('}')) << ",\n\"open_rows\":" << exporting::dump(json) << "}\n";
}

}  // namespace stowage
