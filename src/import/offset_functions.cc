#include "stowage/offset_functions.h"

#include <fmt/format.h>

#include "import/json.h"
#include "import/plan_parts.h"

namespace stowage {

SizeSymbol import::read_symbol(const Json& json) {
  const SizeSymbol symbol{json.at("name").string(), json.at("least").natural(), json.at("most").natural(),
                          json.at("step").natural()};
  if (symbol.most < symbol.least || symbol.step < 1 || (symbol.most - symbol.least) % symbol.step != 0)
    throw json.error("has no range, expected least <= most in whole steps");
  return symbol;
}

namespace {

using import::enumerator;
using import::Json;
using Kind = SizeTerm::Kind;

/// A number of one of the things before it.
std::size_t read_reference(const Json& json, std::size_t count) {
  const std::size_t index = json.index();
  if (index >= count) throw json.error(fmt::format("is {}, expected a number below {}", json.shown(), count));
  return index;
}

std::vector<std::size_t> read_references(const Json& json, std::size_t count) {
  std::vector<std::size_t> references;
  for (const Json& it : json.elements()) references.push_back(read_reference(it, count));
  return references;
}

SizeTerm read_term(const Json& json, const OffsetFunctions& before) {
  SizeTerm term{.kind = enumerator(json.at("kind"), size_term_kind_named),
                .number = json.at("number").integer()};
  const Json parts = json.at("parts");
  const std::size_t known = term.kind == Kind::symbol ? before.symbols.size() : before.terms.size();
  for (const Json& part : parts.elements()) {
    if (term.kind != Kind::sum) {
      term.parts.push_back({read_reference(part, known)});
      continue;
    }
    const std::vector<Json> pair = part.elements();
    if (pair.size() != 2) throw part.error("is " + part.shown() + ", expected a term and its factor");
    term.parts.push_back({read_reference(pair[0], known), pair[1].integer()});
  }
  const bool has_one = term.kind == Kind::symbol || term.kind == Kind::quotient;
  if (has_one && term.parts.size() != 1)
    throw parts.error(fmt::format("has {} elements, expected one", term.parts.size()));
  if (term.kind == Kind::quotient && term.number < 1)
    throw json.at("number").error(fmt::format("is {}, expected a positive divisor", term.number));
  return term;
}

}  // namespace

std::optional<OffsetFunctions> parse_offset_functions(std::string_view text) {
  const Json::Value value = Json::parse(text);
  const Json document(value);
  const auto json = document.find("functions");
  if (!json) return std::nullopt;
  OffsetFunctions functions;
  for (const Json& it : json->at("symbols").elements()) functions.symbols.push_back(import::read_symbol(it));
  for (const Json& it : json->at("terms").elements()) functions.terms.push_back(read_term(it, functions));
  functions.sizes = read_references(json->at("sizes"), functions.terms.size());
  for (const Json& it : json->at("relations").elements()) {
    Relation relation;
    const std::vector<Json> buffers = it.elements();
    if (buffers.size() != functions.sizes.size())
      throw it.error(fmt::format("has {} elements, expected {}, one for each buffer", buffers.size(),
                                 functions.sizes.size()));
    for (const Json& below : buffers) relation.push_back(read_references(below, functions.sizes.size()));
    functions.relations.push_back(std::move(relation));
  }
  if (functions.relations.empty()) throw json->at("relations").error("is empty, expected a relation");
  return functions;
}

}  // namespace stowage
