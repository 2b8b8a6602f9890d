// Idea. An affine schedule maps each iteration of each statement to a time (t, position). A polyhedral code
// generator scans these times in lexicographic order. It finds the active statements in each range of t and
// writes loops over the ranges, with guards where a stride leaves times without an iteration.
//
//     x[i] -> (i, 0)      for (c0 = 0; c0 <= 8; c0 += 1) {
//     a[i] -> (i + 1, 1)    if (c0 <= 7) x(c0);
//                           if (c0 >= 1) a(c0 - 1);
//                         }
//
// Statements whose times overlap share a loop; other loops follow.
//
// Source: S. Verdoolaege, "isl: An Integer Set Library for the Polyhedral Model", 2010; T. Grosser, S.
// Verdoolaege, A. Cohen, "Polyhedral AST Generation Is More Than Scanning Polyhedra", 2015.
// Cost: bounded by `effort`.

#include "stream/loops.h"

#include <fmt/format.h>
#include <isl/ast.h>
#include <isl/ast_build.h>
#include <isl/ctx.h>
#include <isl/options.h>
#include <isl/set.h>
#include <isl/union_map.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <vector>

namespace stowage::stream {
namespace {

struct Freed {
  void operator()(isl_ctx* it) const { isl_ctx_free(it); }
  void operator()(isl_ast_build* it) const { isl_ast_build_free(it); }
  void operator()(isl_ast_node* it) const { isl_ast_node_free(it); }
  void operator()(char* it) const { std::free(it); }  // NOLINT(cppcoreguidelines-no-malloc): the library's
};

/// The loop of statements whose times overlap. Atomic in t: one loop with guards, instead of one for each
/// range of t with other statements.
std::optional<std::string> loop_of(std::span<const LoopStatement> statements, unsigned long effort) {
  const std::unique_ptr<isl_ctx, Freed> context(isl_ctx_alloc());
  isl_options_set_on_error(context.get(), ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(context.get(), effort);
  std::string schedule = "{ ";
  for (const LoopStatement& it : statements) {
    fmt::format_to(std::back_inserter(schedule), "{}[i] -> [{}i + {}, {}] : 0 <= i < {}; ", it.name, it.scale,
                   it.shift, it.position, it.count);
  }
  schedule += "}";
  // The library takes ownership of its arguments. It returns null when the effort is used up.
  isl_union_map* const map = isl_union_map_read_from_str(context.get(), schedule.c_str());
  isl_ast_build* build = isl_ast_build_from_context(isl_set_read_from_str(context.get(), "{ : }"));
  build =
      isl_ast_build_set_options(build, isl_union_map_read_from_str(context.get(), "{ [t, p] -> atomic[0] }"));
  const std::unique_ptr<isl_ast_build, Freed> owned(build);
  const std::unique_ptr<isl_ast_node, Freed> node(isl_ast_build_node_from_schedule_map(build, map));
  if (!node) return std::nullopt;
  const std::unique_ptr<char, Freed> text(isl_ast_node_to_C_str(node.get()));
  if (!text) return std::nullopt;
  return std::string(text.get());
}

}  // namespace

std::optional<std::string> loop_nest(std::span<const LoopStatement> statements, unsigned long effort) {
  std::vector<LoopStatement> by_time;
  for (const LoopStatement& it : statements) {
    if (it.count > 0) by_time.push_back(it);
  }
  std::sort(by_time.begin(), by_time.end(),
            [](const LoopStatement& a, const LoopStatement& b) { return a.shift < b.shift; });
  std::string text;
  for (auto first = by_time.begin(); first != by_time.end();) {
    auto last = first;
    std::int64_t end = first->shift;
    for (; last != by_time.end() && last->shift <= end; ++last)
      end = std::max(end, last->scale * (last->count - 1) + last->shift);
    const auto loop = loop_of({first, last}, effort);
    if (!loop) return std::nullopt;
    text += *loop;
    first = last;
  }
  return text;
}

}  // namespace stowage::stream
