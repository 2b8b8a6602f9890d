#include <ostream>
#include <string_view>

#include "export/json.h"
#include "stowage/buckets.h"

namespace stowage {

using exporting::Json;

void write_json(const Buckets& buckets, std::ostream& out, PlanForm form) {
  exporting::Document document(out, "stowage-buckets");
  document.rows("memories", memories_of(buckets), [](const PlannedMemory& memory) {
    return Json{{"name", memory.memory.name}, {"peak", memory.peak}};
  });
  document.rows("shared", buckets.shared, [](const SharedPlace& it) {
    return Json{{"buffer", it.buffer}, {"memory", it.memory}, {"offset", it.offset}, {"size", it.size}};
  });
  document.key("buckets") << "[";
  std::string_view separator = "\n";
  for (const Bucket& bucket : buckets.all) {
    Json sizes = Json::object();
    for (const auto& [name, size] : bucket.sizes) sizes[name] = size;
    out << separator << "{\"sizes\":" << exporting::dump(sizes) << ",\"plan\":";
    write_json(bucket.plan, out, form);
    out << "}";
    separator = ",\n";
  }
  out << "]";
  document.finish();
}

}  // namespace stowage
