// Writes plans for several sizes as one C header: the tables of each, and a function that chooses.

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "export/header_declarations.h"
#include "export/header_macros.h"
#include "export/header_tables.h"
#include "stowage/buckets.h"
#include "stowage/error.h"

namespace stowage {
namespace {

using exporting::macro_name;

std::vector<Graph> graphs_of(const ReadBucket& read, const BucketSizes& sizes) {
  std::vector<Graph> graphs;
  for (Input& input : read(sizes)) {
    auto* const graph = std::get_if<Graph>(&input.content);
    if (graph == nullptr) throw UsageError("a C header of several sizes is for models, not for lists");
    graphs.push_back(std::move(*graph));
  }
  return graphs;
}

/// The sizes, as a function takes them, and the tables.
void write_choice(const std::vector<const Bucket*>& buckets, const std::string& prefix, std::ostream& out) {
  fmt::print(out, "\nconst {0}_bucket {0}_buckets[] = {{\n", prefix);
  for (std::size_t b = 0; b < buckets.size(); ++b) {
    std::string sizes;
    for (const auto& [name, size] : buckets[b]->sizes)
      sizes += fmt::format("{}{}u", sizes.empty() ? "" : ", ", size);
    fmt::print(
        out,
        "  {{{{{1}}}, {2}u, {3}u, {0}_{4}_memories, {0}_{4}_tensors, {0}_{4}_clocks, {0}_{4}_models}}{5}\n",
        prefix, sizes, buckets[b]->plan.tensors.size(), buckets[b]->plan.clocks.size(), b,
        b + 1 == buckets.size() ? "" : ",");
  }
  fmt::print(out,
             "}};\n\nconst {0}_bucket *{0}_bucket_for(const {0}_bytes *sizes) {{\n"
             "  uint32_t b, s;\n"
             "  for (b = 0; b < {1}_BUCKETS; b++) {{\n"
             "    for (s = 0; s < {1}_SIZES && sizes[s] <= {0}_buckets[b].sizes[s]; s++) {{\n    }}\n"
             "    if (s == {1}_SIZES) return &{0}_buckets[b];\n  }}\n  return 0;\n}}\n",
             prefix, macro_name(prefix));
}

}  // namespace

void write_header(const Buckets& buckets, const ReadBucket& read, const HeaderOptions& options,
                  std::ostream& out) {
  if (!exporting::is_identifier(options.prefix))
    throw UsageError(fmt::format("--prefix is \"{}\", expected a C identifier", options.prefix));
  if (buckets.all.empty()) throw UsageError("a C header of several sizes needs one");
  const std::vector<const Bucket*> sorted = in_order_of_size(buckets);
  exporting::HeaderStyle style{.prefix = options.prefix, .has_buckets = true};
  for (const Bucket& it : buckets.all) {
    style.has_rows = style.has_rows || is_streamed(it.plan);
    style.has_pauses = style.has_pauses || !it.plan.pauses.empty();
    style.is_large = style.is_large || exporting::is_large(it.plan);
  }
  Plan all;  // what they have in common
  all.models = sorted.back()->plan.models;
  all.memories = memories_of(buckets);
  exporting::Macros macros(macro_name(options.prefix), out);
  exporting::begin_header(style, out);
  macros.define("MEMORIES", std::ssize(all.memories));
  macros.define("MODELS", std::ssize(all.models));
  macros.define("BUCKETS", std::ssize(sorted));
  macros.define_files(all, options.details);
  macros.define_memories(all);
  out << "\n/* The sizes that a plan is chosen by, and where each is among those of a bucket. */\n";
  macros.define("SIZES", std::ssize(sorted[0]->sizes));
  std::int64_t place = 0;
  for (const auto& [name, size] : sorted[0]->sizes) macros.define("SIZE_" + macro_name(name), place++);
  exporting::declare_tables(style, macros, out);
  fmt::print(out,
             "\n/* The plan of the smallest sizes that hold these, {1}_SIZES of them; 0 if none does. */\n"
             "const {0}_bucket *{0}_bucket_for(const {0}_bytes *sizes);\n",
             options.prefix, macro_name(options.prefix));
  exporting::begin_definitions(style, out);
  exporting::write_memories(all, options, out);
  for (std::size_t b = 0; b < sorted.size(); ++b)
    exporting::write_header_tables(sorted[b]->plan, graphs_of(read, sorted[b]->sizes), options,
                                   {.name = fmt::format("{}", b), .has_rows = style.has_rows}, out);
  write_choice(sorted, options.prefix, out);
  exporting::end_header(style, out);
}

}  // namespace stowage
