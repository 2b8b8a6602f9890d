#pragma once

#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "import/readers.h"
#include "stowage/error.h"

namespace stowage::import {

/// An omitted vector is an empty one.
template <typename Element>
std::size_t count(const flatbuffers::Vector<Element>* elements) {
  return elements == nullptr ? 0 : elements->size();
}

template <typename Table>
const Table& at(const flatbuffers::Vector<flatbuffers::Offset<Table>>* tables, std::size_t index) {
  return *tables->Get(static_cast<flatbuffers::uoffset_t>(index));
}

/// A flatbuffer may refer to one part many times, so that a small file can describe a huge model. Real files
/// do not; reading is limited to this many times the file's size.
constexpr std::size_t largest_reuse = 4;
constexpr std::size_t smallest_table = 8;  // bytes: a reference to the table, and one to its layout

/// True if the bytes have the identifier of a format; they may still be invalid.
inline bool has_identifier(std::string_view bytes, std::string_view identifier) {
  constexpr std::size_t place = sizeof(flatbuffers::uoffset_t);
  return bytes.size() >= place + identifier.size() && bytes.substr(place, identifier.size()) == identifier;
}

/// The file, or a copy if its bytes are not aligned: numbers cannot be read from those.
inline Source aligned(const Source& source) {
  const auto address = reinterpret_cast<std::uintptr_t>(source.bytes.data());
  return address % alignof(std::uint64_t) == 0 ? source : copy_of(source);
}

/// Calls `verify` with a verifier of aligned bytes. Throws Error if tables, vectors or strings do not lie inside.
template <typename Verify>
void verify_flatbuffer(std::string_view bytes, const Verify& verify) {
  // Data may follow the flatbuffer, which is below this size.
  const std::size_t size = std::min<std::size_t>(bytes.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  constexpr flatbuffers::uoffset_t deepest = 8;  // model, subgraph, operator, options: 4, plus a margin
  const auto most_tables = static_cast<flatbuffers::uoffset_t>(size / smallest_table * largest_reuse);
  flatbuffers::Verifier verifier(reinterpret_cast<const std::uint8_t*>(bytes.data()), size, deepest,
                                 most_tables);
  if (!verify(verifier)) throw Error("", "is truncated or corrupt, expected a flatbuffer");
}

}  // namespace stowage::import
