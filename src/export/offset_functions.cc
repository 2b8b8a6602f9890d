// Offsets as functions of sizes: as a member of plan JSON, and as a C function. The C code computes all terms once, then
// each relation from below to above, one comparison for each pair:
//
//     t[3] = 64 * t[0];
//     ...
//     offsets[5] = at_least(offsets[2] + t[3], offsets[4] + t[7]);

#include "stowage/offset_functions.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.h"
#include "export/header_tables.h"
#include "export/json.h"
#include "stowage/error.h"
#include "stowage/export.h"

namespace stowage {
namespace {

using exporting::Json;
using Kind = SizeTerm::Kind;

Json functions_json(const OffsetFunctions& functions) {
  Json symbols = Json::array(), terms = Json::array();
  for (const SizeSymbol& it : functions.symbols) symbols.push_back(exporting::json_of(it));
  for (std::size_t t = 0; t < functions.terms.size(); ++t) {
    const SizeTerm& term = functions.terms[t];
    Json parts = Json::array();
    for (const SizeTerm::Part& part : term.parts) {
      parts.push_back(term.kind == Kind::sum ? Json{part.term, part.factor} : Json(part.term));
    }
    terms.push_back({{"kind", name_of(term.kind)}, {"parts", parts}, {"number", term.number}});
  }
  return {
      {"symbols", symbols}, {"terms", terms}, {"sizes", functions.sizes}, {"relations", functions.relations}};
}

/// Different names in C for the symbols.
std::vector<std::string> names_of(const std::vector<SizeSymbol>& symbols) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const SizeSymbol& it : symbols) {
    std::string name = it.name;
    for (char& c : name) {
      const bool is_part =
          (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
      if (!is_part) c = '_';
    }
    name = "n_" + name;  // no keyword, no digit first
    while (!taken.insert(name).second) name += '_';
    names.push_back(name);
  }
  return names;
}

/// A number of any size in C.
std::string literal(std::int64_t number) { return fmt::format("INT64_C({})", number); }

/// The part of all files that does not depend on the plan; @ is the prefix, % the prefix in capitals.
constexpr std::string_view opening = R"(#ifndef %_OFFSETS_H
#define %_OFFSETS_H

#include <stdint.h>

/* Where the buffers of a network lie, for sizes that each run chooses. Nothing is allocated, and all numbers stay
   within 64 bits for all sizes in the ranges. Memory for the largest sizes is enough for all. */

)";

constexpr std::string_view closing = R"(
#endif
)";

class FunctionWriter {
 public:
  FunctionWriter(const Plan& plan, const OffsetFunctions& functions, const std::string& prefix,
                 std::ostream& out)
      : plan_(plan),
        functions_(functions),
        prefix_(prefix),
        capitals_(exporting::macro_name(prefix)),
        names_(names_of(functions.symbols)),
        out_(out) {
    if (!exporting::is_identifier(prefix))
      throw UsageError(fmt::format("--prefix is \"{}\", expected a C identifier", prefix));
  }

  void write() {
    print_replaced(opening);
    write_dims();
    write_tensors();
    for (std::size_t r = 0; r < functions_.relations.size(); ++r) write_relation(r);
    write_terms();
    write_plan();
    print_replaced(closing);
  }

 private:
  void print_replaced(std::string_view text) {
    for (const char c : text) {
      if (c == '@') {
        out_ << prefix_;
      } else if (c == '%') {
        out_ << capitals_;
      } else {
        out_ << c;
      }
    }
  }

  void write_dims() {
    fmt::print(out_, "enum {{ {}_BUFFERS = {} }};\n\ntypedef struct {}_dims {{\n", capitals_,
               plan_.buffers.size(), prefix_);
    for (std::size_t s = 0; s < names_.size(); ++s) {
      const SizeSymbol& it = functions_.symbols[s];
      fmt::print(out_, "  int64_t {}; /* {} to {}{} */\n", names_[s], it.least, it.most,
                 it.step > 1 ? fmt::format(" in steps of {}", it.step) : std::string());
    }
    fmt::print(out_, "}} {}_dims;\n\n", prefix_);
  }

  /// Where each tensor is in its buffers.
  void write_tensors() {
    std::size_t count = 0;
    fmt::print(
        out_,
        "/* A tensor lies so many bytes behind the begin of a buffer, from position `begin` of the steps "
        "until before\n   `end`. */\ntypedef struct {0}_view {{\n  const char *tensor;\n  uint32_t buffer, "
        "begin, end;\n  int64_t offset;\n}} {0}_view;\n\nstatic const {0}_view {0}_views[] = {{\n",
        prefix_);
    for (const PlannedTensor& it : plan_.tensors) {
      for (const View& view : it.views) {
        fmt::print(out_, "    {{{}, {}, {}, {}, {}}},\n", exporting::dump(it.tensor.name), view.buffer,
                   view.life.lower, view.life.upper, view.offset);
        ++count;
      }
    }
    fmt::print(out_, "}};\nenum {{ {}_VIEWS = {} }};\n\n", capitals_, count);
    fmt::print(out_,
               "static inline int64_t {}_greater(int64_t a, int64_t b) {{ return a > b ? a : b; }}\n"
               "static inline int64_t {}_less(int64_t a, int64_t b) {{ return a < b ? a : b; }}\n",
               prefix_, prefix_);
  }

  [[nodiscard]] std::string folded(std::string_view function, const std::vector<std::string>& all) const {
    std::string text = all[0];
    for (std::size_t i = 1; i < all.size(); ++i)
      text = fmt::format("{}_{}({}, {})", prefix_, function, text, all[i]);
    return text;
  }

  void write_relation(std::size_t r) {
    const Relation& relation = functions_.relations[r];
    fmt::print(
        out_,
        "\nstatic inline int64_t {}_offsets_{}(const int64_t *t, int64_t *offsets) {{\n  int64_t peak = 0;\n",
        prefix_, r);
    std::vector<bool> is_written(relation.size());
    std::vector<std::size_t> way;
    for (std::size_t root = 0; root < relation.size(); ++root) {
      way.push_back(root);
      while (!way.empty()) {
        const std::size_t b = way.back();
        const auto open = std::ranges::find_if(relation[b], [&](std::size_t it) { return !is_written[it]; });
        if (!is_written[b] && open != relation[b].end()) {
          way.push_back(*open);
          continue;
        }
        way.pop_back();
        if (is_written[b]) continue;
        is_written[b] = true;
        write_buffer(relation, b);
      }
    }
    out_ << "  return peak;\n}\n";
  }

  void write_buffer(const Relation& relation, std::size_t b) {
    std::vector<std::string> ends;
    for (const std::size_t it : relation[b])
      ends.push_back(fmt::format("offsets[{}] + t[{}]", it, functions_.sizes[it]));
    if (ends.empty()) ends.push_back("0");
    fmt::print(out_, "  offsets[{}] = {};\n", b, folded("greater", ends));
    fmt::print(out_, "  peak = {}_greater(peak, offsets[{}] + t[{}]);\n", prefix_, b, functions_.sizes[b]);
  }

  [[nodiscard]] std::string in_c(const SizeTerm& term) const {
    std::vector<std::string> all;
    if (term.kind == Kind::symbol) return "dims->" + names_[term.parts[0].term];
    if (term.kind == Kind::quotient)
      return fmt::format("t[{}] / {}", term.parts[0].term, literal(term.number));
    all.push_back(literal(term.number));
    for (const SizeTerm::Part& part : term.parts) {
      const bool has_factor = term.kind == Kind::sum && part.factor != 1;
      all.push_back(has_factor ? fmt::format("{} * t[{}]", literal(part.factor), part.term)
                               : fmt::format("t[{}]", part.term));
    }
    if (term.kind == Kind::sum) return fmt::format("{}", fmt::join(all, " + "));
    if (term.kind == Kind::product) return fmt::format("{}", fmt::join(all, " * "));
    return folded(term.kind == Kind::least ? "less" : "greater", all);
  }

  void write_terms() {
    fmt::print(out_, "\nstatic inline void {0}_terms(const {0}_dims *dims, int64_t *t) {{\n", prefix_);
    for (std::size_t t = 0; t < functions_.terms.size(); ++t)
      fmt::print(out_, "  t[{}] = {};\n", t, in_c(functions_.terms[t]));
    out_ << "}\n";
  }

  void write_plan() {
    fmt::print(out_,
               "\n/* Writes the offset of each buffer. Returns the bytes of memory that these sizes need, or "
               "-1 for a "
               "size that is not\n   in its range; then nothing is written. */\n"
               "static inline int64_t {0}_plan(const {0}_dims *dims, int64_t offsets[{1}_BUFFERS]) {{\n",
               prefix_, capitals_);
    for (std::size_t s = 0; s < names_.size(); ++s) {
      const SizeSymbol& it = functions_.symbols[s];
      const std::string value = "dims->" + names_[s];
      fmt::print(
          out_, "  if ({0} < {1} || {0} > {2}{3}) return -1;\n", value, literal(it.least), literal(it.most),
          it.step > 1 ? fmt::format(" || ({} - {}) % {} != 0", value, literal(it.least), literal(it.step))
                      : std::string());
    }
    fmt::print(out_, "  int64_t t[{}];\n  {}_terms(dims, t);\n", functions_.terms.size(), prefix_);
    const std::size_t count = functions_.relations.size();
    if (count == 1) {
      fmt::print(out_, "  return {}_offsets_0(t, offsets);\n}}\n", prefix_);
      return;
    }
    fmt::print(out_, "  int64_t best = {}_offsets_0(t, offsets);\n  int which = 0;\n", prefix_);
    for (std::size_t r = 1; r < count; ++r) {
      fmt::print(out_,
                 "  {{\n    const int64_t peak = {}_offsets_{}(t, offsets);\n    if (peak < best) {{\n      "
                 "best = peak;\n"
                 "      which = {};\n    }}\n  }}\n",
                 prefix_, r, r);
    }
    for (std::size_t r = 0; r + 1 < count; ++r)
      fmt::print(out_, "  if (which == {0}) {1}_offsets_{0}(t, offsets);\n", r, prefix_);
    out_ << "  return best;\n}\n";
  }

  const Plan& plan_;
  const OffsetFunctions& functions_;
  std::string prefix_;
  std::string capitals_;
  std::vector<std::string> names_;
  std::ostream& out_;
};

}  // namespace

void write_json(const Plan& plan, const OffsetFunctions& functions, std::ostream& out) {
  std::ostringstream text;
  write_json(plan, text);
  const std::string document = text.str();
  out << document.substr(0, document.rfind('}'))
      << ",\n\"functions\":" << exporting::dump(functions_json(functions)) << "}\n";
}

void write_c_functions(const Plan& plan, const OffsetFunctions& functions, const std::string& prefix,
                       std::ostream& out) {
  FunctionWriter(plan, functions, prefix, out).write();
}

}  // namespace stowage
