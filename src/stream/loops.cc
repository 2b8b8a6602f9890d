// An affine schedule maps each iteration of each statement to a time (t, position). A polyhedral code
// generator scans these times in lexicographic order. It finds the active statements in each range of t and
// writes loops over the ranges, with guards where a stride leaves times without an iteration.
//
//     x[i] -> (i, 0)      for (c0 = 0; c0 <= 8; c0 += 1) {
//     a[i] -> (i + 1, 1)    if (c0 <= 7) x(c0);
//                           if (c0 >= 1) a(c0 - 1);
//                         }
//
// Statements whose times overlap share a loop; other loops follow. Where the same loop follows for the next block of
// the same operators, they are one nest: the map goes from (b, i) to (b, t, position), with t within the block.
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
#include <utility>
#include <vector>

#include "stowage/parts.h"

namespace stowage::stream {
namespace {

struct Freed {
  void operator()(isl_ctx* it) const { isl_ctx_free(it); }
  void operator()(isl_ast_build* it) const { isl_ast_build_free(it); }
  void operator()(isl_ast_node* it) const { isl_ast_node_free(it); }
  void operator()(char* it) const { std::free(it); }  // NOLINT(cppcoreguidelines-no-malloc): the library's
};

/// Statements that run together, or the same statements for each block, one after the other.
struct Nest {
  std::vector<LoopStatement> statements{};  ///< Of the first block.
  std::int64_t blocks = 1;
};

/// Which iterations there are.
std::string domain_of(const LoopStatement& it) {
  if (!it.open) return fmt::format("0 <= i < {}", it.count);
  return fmt::format("0 <= i and {0}i + {0} <= {1}n + {2}", it.open->over, it.open->times, it.open->plus);
}

/// Iterations to times; over blocks, the number of the block comes first.
void add_map(const LoopStatement& it, const Nest& nest, std::string& schedule) {
  const auto out = std::back_inserter(schedule);
  if (!it.block) {
    fmt::format_to(out, "{}[i] -> [{}i + {}, {}] : {}; ", it.name, it.scale, it.shift, it.position,
                   domain_of(it));
  } else if (nest.blocks == 1) {
    fmt::format_to(out, "{}[b, i] -> [{}i + {}, {}] : b = {} and 0 <= i < {}; ", it.name, it.scale, it.shift,
                   it.position, *it.block, it.count);
  } else {
    fmt::format_to(out, "{}[b, i] -> [b, {}i + {}, {}] : {} <= b < {} and 0 <= i < {}; ", it.name, it.scale,
                   it.shift, it.position, *it.block, *it.block + nest.blocks, it.count);
  }
}

/// The sizes that there are.
std::string sizes_of(const SizeSymbol& size) {
  return fmt::format("[n] -> {{ : {} <= n <= {} and exists k : n = {} + {}k }}", size.least, size.most,
                     size.least, size.step);
}

/// The loops of statements whose times overlap. Atomic in t: one loop with guards, instead of one for each
/// range of t with other statements.
std::optional<std::string> loop_of(const Nest& nest, unsigned long effort, const SizeSymbol& size) {
  const std::unique_ptr<isl_ctx, Freed> context(isl_ctx_alloc());
  isl_options_set_on_error(context.get(), ISL_ON_ERROR_CONTINUE);
  isl_ctx_set_max_operations(context.get(), effort);
  std::string schedule = "[n] -> { ";
  for (const LoopStatement& it : nest.statements) add_map(it, nest, schedule);
  schedule += "}";
  // The library takes ownership of its arguments. It returns null when the effort is used up.
  isl_union_map* const map = isl_union_map_read_from_str(context.get(), schedule.c_str());
  isl_ast_build* build =
      isl_ast_build_from_context(isl_set_read_from_str(context.get(), sizes_of(size).c_str()));
  const char* const atomic =
      nest.blocks == 1 ? "{ [t, p] -> atomic[0] }" : "{ [b, t, p] -> atomic[0]; [b, t, p] -> atomic[1] }";
  build = isl_ast_build_set_options(build, isl_union_map_read_from_str(context.get(), atomic));
  const std::unique_ptr<isl_ast_build, Freed> owned(build);
  const std::unique_ptr<isl_ast_node, Freed> node(isl_ast_build_node_from_schedule_map(build, map));
  if (!node) return std::nullopt;
  const std::unique_ptr<char, Freed> text(isl_ast_node_to_C_str(node.get()));
  if (!text) return std::nullopt;
  return std::string(text.get());
}

using Together = std::vector<LoopStatement>;

/// Statements whose times overlap, one after the other. Those of which the number of iterations is open are together,
/// with all between them.
std::vector<Together> overlapping(std::span<const LoopStatement> by_time) {
  const auto end_of = [](const LoopStatement& it) { return it.scale * (it.count - 1) + it.shift; };
  std::int64_t end_of_open = by_time.empty() ? 0 : by_time.front().shift;
  for (const LoopStatement& it : by_time)
    if (it.open) end_of_open = std::max(end_of_open, end_of(it));
  std::vector<Together> all;
  for (auto first = by_time.begin(); first != by_time.end();) {
    auto last = first;
    std::int64_t end = std::max(first->shift, end_of_open);
    for (; last != by_time.end() && last->shift <= end; ++last) end = std::max(end, end_of(*last));
    all.emplace_back(first, last);
    first = last;
  }
  return all;
}

/// Whether statements are those of the first so many again, for a later block and all as much later.
bool are_moved(std::span<const Together> first, std::span<const Together> next, std::int64_t blocks) {
  for (std::size_t g = 0; g < first.size(); ++g) {
    if (first[g].size() != next[g].size()) return false;
    for (std::size_t s = 0; s < first[g].size(); ++s) {
      LoopStatement moved = next[g][s];
      moved.shift -= next[0][0].shift - first[0][0].shift;
      moved.position -= next[0][0].position - first[0][0].position;
      if (!moved.block || !first[g][s].block || *moved.block != *first[g][s].block + blocks) return false;
      moved.block = first[g][s].block;
      if (moved != first[g][s]) return false;
    }
  }
  return true;
}

/// The first so many statements, for as many blocks as follow.
Nest nest_of(std::span<const Together> all, std::size_t length) {
  Nest nest;
  for (const Together& it : all.first(length))
    nest.statements.insert(nest.statements.end(), it.begin(), it.end());
  const auto block = [&](std::int64_t b) {
    return all.subspan(static_cast<std::size_t>(b) * length, length);
  };
  while (static_cast<std::size_t>(nest.blocks + 1) * length <= all.size() &&
         are_moved(block(0), block(nest.blocks), nest.blocks))
    ++nest.blocks;
  return nest;
}

std::vector<Nest> nests_of(std::span<const LoopStatement> by_time) {
  const std::vector<Together> groups = overlapping(by_time);
  std::vector<Nest> nests;
  for (std::span<const Together> left(groups); !left.empty();) {
    std::size_t length = 1;
    Nest nest = nest_of(left, length);
    while (nest.blocks == 1 && left[0][0].block && 2 * (length + 1) <= left.size())
      nest = nest_of(left, ++length);
    if (nest.blocks == 1) nest = nest_of(left, length = 1);
    left = left.subspan(length * static_cast<std::size_t>(nest.blocks));
    nests.push_back(std::move(nest));
  }
  return nests;
}

}  // namespace

std::string_view missing_for_loops() { return {}; }

std::optional<std::string> loop_nest(std::span<const LoopStatement> statements, unsigned long effort,
                                     const SizeSymbol& size) {
  std::vector<LoopStatement> by_time;
  for (const LoopStatement& it : statements) {
    if (it.count > 0 || it.open) by_time.push_back(it);
  }
  std::sort(by_time.begin(), by_time.end(), [](const LoopStatement& a, const LoopStatement& b) {
    return std::pair(a.shift, a.position) < std::pair(b.shift, b.position);
  });
  std::string text;
  for (const Nest& nest : nests_of(by_time)) {
    const auto loop = loop_of(nest, effort, size);
    if (!loop) return std::nullopt;
    text += *loop;
  }
  return text;
}

}  // namespace stowage::stream

namespace stowage {

bool has_isl() { return true; }

}  // namespace stowage
