#include <fmt/format.h>

#include <utility>

#include "import/plan_parts.h"
#include "model/plan_format.h"
#include "pack/life.h"

namespace stowage::import {
namespace {

std::string block_name(const std::string& name, std::size_t number) {
  return fmt::format("{}[{}]", name, number);
}

/// A piece, or several of one size.
void read_pieces(const Json& json, std::vector<Piece>& pieces, Repeated& repeated) {
  const auto offsets = json.find("offsets");
  if (!offsets) {
    pieces.push_back({json.at("offset").natural(), json.at("size").natural(), read_life(json)});
    return;
  }
  const auto offset = read_list(*offsets, std::nullopt, 0, repeated);
  const auto lives = read_lives(json, offset.size(), repeated);
  for (std::size_t i = 0; i < offset.size(); ++i)
    pieces.push_back({offset[i], json.at("size").natural(), lives[i]});
}

Buffer read_buffer(const Json& json, Repeated& repeated) {
  Buffer buffer{.id = json.at("id").string(),
                .clock = json.at("clock").index(),
                .size = json.at("size").natural(),
                .alignment = json.at("alignment").natural(),
                .kind = enumerator(json.at("kind"), tensor_kind_named)};
  for (const Json& piece : json.at("pieces").elements()) read_pieces(piece, buffer.pieces, repeated);
  if (const auto pinned = json.find("pinned")) buffer.pinned = pinned->natural();
  if (const auto traffic = json.find("traffic")) buffer.traffic = traffic->natural();
  return buffer;
}

/// The names of a view's buffers: one, or several.
std::vector<Json> names_of(const Json& buffer) {
  if (!buffer.is_array()) return {buffer};
  std::vector<Json> names = buffer.elements();
  if (names.empty()) throw buffer.error("names no buffer");
  return names;
}

/// The buffers of a view, those of row blocks name by name.
std::vector<std::size_t> buffers_of(const Json& json, const std::vector<Json>& names, const Names& buffers,
                                    Repeated& repeated) {
  const auto blocks = json.find("blocks");
  std::vector<std::size_t> all;
  for (const Json& name : names) {
    if (!blocks) {
      all.push_back(buffers(name));
      continue;
    }
    repeated.take(*blocks, blocks->index(), model::counted(name.string().size()));
    for (std::size_t i = 0; i < blocks->index(); ++i)
      all.push_back(buffers(name, block_name(name.string(), json.at("first").index() + i)));
  }
  return all;
}

/// Lives that are not in the file are those of the buffers.
std::vector<Lifetime> lives_of_views(const Json& json, const std::vector<std::size_t>& in, const Plan& plan,
                                     Repeated& repeated) {
  if (json.find("lower") || json.find("upper")) {
    const bool is_one = !json.find("blocks") && !json.at("buffer").is_array();
    return is_one ? std::vector{read_life(json)} : read_lives(json, in.size(), repeated);
  }
  std::vector<Lifetime> lives;
  for (const std::size_t buffer : in) lives.push_back(pack::life_of(plan.buffers[buffer]));
  return lives;
}

std::vector<OpenBytes> read_moves(const Json& json) {
  std::vector<OpenBytes> moves;
  for (const Json& it : json.elements()) {
    OpenBytes term{.bytes = it.at("bytes").integer()};
    for (const Json& symbol : it.at("symbols").elements()) term.symbols.push_back(symbol.index());
    moves.push_back(std::move(term));
  }
  return moves;
}

}  // namespace

void read_buffers(const Json& json, const Names& memories, Plan& plan, Names& buffers, Repeated& repeated) {
  const auto blocks = json.find("blocks");
  const std::size_t memory = memories(json.at("memory"));
  if (!blocks) {
    buffers.add(json.at("id"), plan.buffers.size());
    plan.buffers.push_back(read_buffer(json, repeated));
    plan.places.push_back({memory, json.at("offset").natural()});
    return;
  }
  const std::size_t count = blocks->index();
  const Json id = json.at("id");
  repeated.take(*blocks, count, model::counted(id.string().size()));
  const auto offsets = read_list(json.at("offsets"), count, 0, repeated);
  const auto lives = read_lives(json, count, repeated);
  for (std::size_t i = 0; i < count; ++i) {
    Buffer buffer{.id = block_name(id.string(), json.at("first").index() + i),
                  .clock = json.at("clock").index(),
                  .size = json.at("size").natural(),
                  .alignment = json.at("alignment").natural(),
                  .pieces = {{0, json.at("bytes").natural(), lives[i]}},
                  .kind = enumerator(json.at("kind"), tensor_kind_named)};
    buffers.add(id, buffer.id, plan.buffers.size());
    plan.buffers.push_back(std::move(buffer));
    plan.places.push_back({memory, offsets[i]});
  }
}

void read_views(const Json& json, const Names& buffers, const Plan& plan, std::vector<View>& views,
                Repeated& repeated) {
  const std::vector<Json> names = names_of(json.at("buffer"));
  const std::vector<std::size_t> in = buffers_of(json, names, buffers, repeated);
  const std::vector<Lifetime> lives = lives_of_views(json, in, plan, repeated);
  const std::size_t row_blocks = json.find("blocks") ? in.size() / names.size() : 1;
  std::optional<Ring> ring;
  if (const auto it = json.find("ring"))
    ring = Ring{it->at("axis").index(), it->at("granule").natural(), it->at("count").natural()};
  std::vector<RowRange> rows;
  if (json.find("rows") || json.find("blocks"))
    rows = ranges_from(read_rows(json), row_blocks, json.at("rows"));
  std::vector<RowRange> blocks;
  if (names.size() > 1 || json.find("block"))
    blocks = ranges_from(read_rows(json.at("block")), names.size(), json.at("block"));
  for (std::size_t i = 0; i < in.size(); ++i) {
    View view{.buffer = in[i], .offset = json.at("offset").natural(), .life = lives[i], .ring = ring};
    if (!rows.empty()) view.rows = rows[i % row_blocks];
    if (!blocks.empty()) view.block = blocks[i / row_blocks];
    if (const auto moves = json.find("moves")) view.moves = read_moves(*moves);
    views.push_back(std::move(view));
  }
}

}  // namespace stowage::import
