#include <fmt/format.h>

#include "import/json.h"
#include "import/plan_parts.h"
#include "stowage/buckets.h"

namespace stowage {

using import::Json;

Buckets parse_buckets(std::string_view text) {
  const Json::Value value = Json::parse(text);
  const Json document(value);
  import::expect_format(document, "stowage-buckets");
  Buckets buckets;
  for (const Json& json : document.at("buckets").elements()) {
    Bucket& bucket = buckets.all.emplace_back();
    for (const auto& [name, size] : json.at("sizes").members()) bucket.sizes.emplace(name, size.natural());
    bucket.plan = import::read_plan(json.at("plan"));
  }
  for (const Json& json : document.at("shared").elements())
    buckets.shared.push_back({json.at("buffer").string(), json.at("memory").string(),
                              json.at("offset").natural(), json.at("size").natural()});
  const std::vector<PlannedMemory> memories = memories_of(buckets);
  const std::vector<Json> given = document.at("memories").elements();
  if (given.size() != memories.size())
    throw document.at("memories")
        .error(fmt::format("has {} memories, expected {}", given.size(), memories.size()));
  for (std::size_t m = 0; m < given.size(); ++m) {
    if (given[m].at("name").string() != memories[m].memory.name)
      throw given[m].at("name").error(fmt::format("is {}, expected '{}' as in the plans",
                                                  given[m].at("name").shown(), memories[m].memory.name));
    if (given[m].at("peak").natural() != memories[m].peak)
      throw given[m].at("peak").error(fmt::format("is {}, expected {}, the largest of the plans",
                                                  given[m].at("peak").shown(), memories[m].peak));
  }
  return buckets;
}

}  // namespace stowage
