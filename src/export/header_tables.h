#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "stowage/export.h"
#include "stowage/graph.h"
#include "stowage/plan.h"

namespace stowage::exporting {

/// True if C allows the text as a name.
[[nodiscard]] bool is_identifier(std::string_view text);

/// The text in capitals, with characters replaced that C does not allow in names.
[[nodiscard]] std::string macro_name(std::string_view text);

/// A string literal. Escapes question marks, which could form trigraphs; long texts are shortened.
[[nodiscard]] std::string literal(const std::string& text);

/// Tables of a bucket, which other tables point to.
struct BucketTables {
  std::string name{};     ///< Of the bucket, in theirs; empty: the tables are those of the header.
  bool has_rows = false;  ///< Some bucket is by rows.
};

/// Writes the definition of the table of memories.
void write_memories(const Plan& plan, const HeaderOptions& options, std::ostream& out);

/// Writes the definitions of a header's tables, for the declarations in header_declarations.cc.
void write_header_tables(const Plan& plan, std::span<const Graph> graphs, const HeaderOptions& options,
                         const BucketTables& bucket, std::ostream& out);

}  // namespace stowage::exporting
