// A network at several sizes as C: a plan for each, of which one runs at a time in the same memory. Each becomes files of
// its own; weights with equal elements are there once. A function chooses by sizes, and one runs what it has chosen.
//
//     encoder_128.c    encoder_512.c     the plans
//     encoder.c        int encoder_bucket_for(sizes);  void encoder_run(bucket, arena, x, y);

#include "stowage/buckets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "generate/package.h"
#include "generate/parts.h"
#include "generate/text.h"
#include "generate/working_memories.h"
#include "stowage/error.h"
#include "stowage/generate.h"

namespace stowage {
namespace generate {
namespace {

/// "encoder_1_128": the sizes in the order of their names.
std::string name_of_bucket(const std::string& name, const Bucket& bucket) {
  std::string own = name;
  for (const auto& [what, size] : bucket.sizes) own += fmt::format("_{}", size);
  return own;
}

/// What all of them have in common: the memories, each of the largest peak.
Plan plan_of_all(const Buckets& buckets) {
  Plan plan = without_weights_memories(buckets.all[0].plan);
  for (PlannedMemory& memory : plan.memories) {
    for (const PlannedMemory& it : memories_of(buckets))
      if (it.memory.name == memory.memory.name) memory.peak = it.peak;
    for (const Bucket& bucket : buckets.all) {
      for (const PlannedMemory& it : bucket.plan.memories)
        if (it.memory.name == memory.memory.name)
          memory.memory.alignment = std::max(memory.memory.alignment, it.memory.alignment);
    }
  }
  return plan;
}

/// Parameters of the function that runs any of them; empty if they differ, or if rows come and go.
std::string parameters_of_all(const Parts& parts) {
  std::string all = parts.packages()[0].uses.front().parameters;
  for (const Package& it : parts.packages())
    if (it.uses.front().parameters != all) all.clear();
  return all;
}

/// "arena, x, y" of "void *arena, const float *x, float *y"
std::string arguments_of(const std::string& parameters) {
  std::string text;
  std::size_t from = 0;
  while (from < parameters.size()) {
    const std::size_t end = std::min(parameters.find(", ", from), parameters.size());
    const std::size_t star = parameters.rfind('*', end);
    text += (text.empty() ? "" : ", ") + parameters.substr(star + 1, end - star - 1);
    from = end + 2;
  }
  return text;
}

std::string header_of(const Buckets& buckets, const std::string& name, const Parts& parts) {
  const std::string big = upper(name);
  std::string sizes;
  for (const auto& [what, size] : buckets.all[0].sizes)
    sizes += fmt::format("{}{}", sizes.empty() ? "" : ", ", in_comment(what));
  std::string text = fmt::format(
      "/* A model at several sizes, each with a plan in the same memory, made by stowage; README.md says "
      "more. One runs\n * at a time. */\n"
      "#ifndef {0}_H\n#define {0}_H\n\n#include <stdint.h>\n\n",
      big);
  for (const std::string& own : parts.names()) text += fmt::format("#include \"{}.h\"\n", own);
  text += memory_macros(plan_of_all(buckets), name);
  text += fmt::format(
      "\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
      "/* Of each bucket its sizes: {1}. Inputs have the sizes of their bucket. */\n"
      "#define {0}_SIZES {2}\n#define {0}_BUCKETS {3}\n"
      "extern const int32_t {4}_sizes[{0}_BUCKETS][{0}_SIZES];\n\n"
      "/* The bucket of the smallest sizes that hold these; -1 if none does. */\n"
      "int {4}_bucket_for(const int32_t *sizes);\n",
      big, sizes, buckets.all[0].sizes.size(), buckets.all.size(), name);
  const std::string parameters = parameters_of_all(parts);
  if (!parameters.empty())
    text += fmt::format(
        "\n/* Runs the model once at the sizes of this bucket, as the `_run` of its header. */\n"
        "void {}_run(int bucket, {});\n",
        name, parameters);
  return text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
}

std::string source_of(const Buckets& buckets, const std::string& name, const Parts& parts) {
  const std::string big = upper(name);
  std::string text =
      fmt::format("#include \"{0}.h\"\n\nconst int32_t {0}_sizes[{1}_BUCKETS][{1}_SIZES] = {{\n", name, big);
  for (const Bucket& it : buckets.all) {
    std::vector<std::int64_t> sizes;
    for (const auto& [what, size] : it.sizes) sizes.push_back(size);
    text += fmt::format("  {{{}}},\n", fmt::join(sizes, ", "));
  }
  text += fmt::format(
      "}};\n\nint {0}_bucket_for(const int32_t *sizes) {{\n  int b, s;\n"
      "  for (b = 0; b < {1}_BUCKETS; b++) {{\n"
      "    for (s = 0; s < {1}_SIZES && sizes[s] <= {0}_sizes[b][s]; s++) {{\n    }}\n"
      "    if (s == {1}_SIZES) return b;\n  }}\n  return -1;\n}}\n",
      name, big);
  const std::string parameters = parameters_of_all(parts);
  if (parameters.empty()) return text;
  text += fmt::format("\nvoid {}_run(int bucket, {}) {{\n  switch (bucket) {{\n", name, parameters);
  for (std::size_t b = 0; b < parts.names().size(); ++b)
    text += fmt::format("    case {}: {}_run({}); break;\n", b, parts.names()[b], arguments_of(parameters));
  return text + "    default: break;\n  }\n}\n";
}

std::string readme_of(const Buckets& buckets, const std::string& name, const Parts& parts) {
  std::string memories;
  const Plan all = plan_of_all(buckets);
  for (const PlannedMemory& memory : all.memories)
    memories += fmt::format("| {} | {} |\n", in_comment(memory.memory.name), memory.peak);
  std::string first;
  for (const auto& [what, size] : buckets.all[0].sizes)
    first += fmt::format("{}{}", first.empty() ? "" : ", ", size);
  return fmt::format(
      "# {0}\n\nC99 that runs a model at {1} sizes, one at a time, in the same memory. Made by stowage.\n\n"
      "| memory | bytes |\n|---|---|\n{2}\n"
      "| size | state | weights | control tables | layers | steps |\n|---|---|---|---|---|---|\n{3}{4}\n"
      "Weights, control tables and layers are in flash: {5} bytes in all, beside code; weights with equal "
      "elements count\nonce, at the first size that has them. The stack stays below 1 kB.\n\n"
      "`{0}_bucket_for` takes sizes and says which plan holds them; inputs are padded to `{0}_sizes` of "
      "it:\n\n"
      "```c\n#include \"{0}.h\"\n\n{6}\nint32_t sizes[{7}_SIZES] = {{{8}}};\n"
      "int bucket = {0}_bucket_for(sizes);\n{9}```\n\n"
      "`make test` runs each size on known inputs on this machine. Add all `.c` files\n"
      "but those that end in `_test.c` to your project.\n{10}",
      name, buckets.all.size(), memories, parts.table(), parts.outlets(), parts.flash(),
      declarations_of_memories(all, name), upper(name), first,
      parameters_of_all(parts).empty()
          ? std::string()
          : fmt::format("{}_run(bucket, {});\n", name, arguments_of(parameters_of_all(parts))),
      licence_text);
}

std::string plans_json_of(Buckets buckets) {
  for (Bucket& bucket : buckets.all) bucket.plan = without_folders(std::move(bucket.plan));
  std::ostringstream out;
  write_json(buckets, out);
  return std::move(out).str();
}

}  // namespace
}  // namespace generate

Package generate_package(const Buckets& buckets, const ReadNetworkOfBucket& read,
                         const GenerateOptions& options) {
  using namespace generate;
  if (buckets.all.empty()) throw UsageError("C for several sizes needs one");
  Buckets sorted = buckets;
  sorted.all.clear();
  for (const Bucket* it : in_order_of_size(buckets)) sorted.all.push_back(*it);
  Parts parts;
  Bytes arena = 0;
  for (const Bucket& bucket : sorted.all) {
    if (bucket.plan.models.size() != 1)
      throw Error("plan", fmt::format("is of {} models: C for several sizes is generated for one",
                                      bucket.plan.models.size()));
    for (const auto& [what, size] : bucket.sizes) {
      if (size > std::numeric_limits<std::int32_t>::max())
        throw Error("plan", fmt::format("is for {}={}, more than the C counts", what, size));
    }
    const Network network = read(bucket.sizes);
    if (!kept_tensors(network, bucket.plan).empty())
      throw Error("plan", "keeps variables from run to run, for which no C of several sizes is generated");
    GenerateOptions own = options;
    own.name = name_of_bucket(options.name, bucket);
    parts.add(network, bucket.plan, own);
  }
  for (const PlannedMemory& it : plan_of_all(sorted).memories) arena += it.peak;
  std::vector<GeneratedFile> files{{options.name + ".h", header_of(sorted, options.name, parts)},
                                   {options.name + ".c", source_of(sorted, options.name, parts)},
                                   {"plan.json", plans_json_of(sorted)},
                                   {"README.md", readme_of(sorted, options.name, parts)}};
  Package package = std::move(parts).package(options.name, std::move(files), {options.name + ".c"});
  package.arena = arena;
  return package;
}

}  // namespace stowage
