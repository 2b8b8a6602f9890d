#pragma once

#include <iosfwd>
#include <string>

#include "export/header_macros.h"
#include "stowage/plan.h"

namespace stowage::exporting {

/// What headers differ in.
struct HeaderStyle {
  std::string prefix{};
  bool has_rows = false;  ///< Of plans by rows.
  bool is_large = false;  ///< Sizes have 64 bits.
  bool has_buckets = false;
  bool has_pauses = false;
};

/// Whether sizes of the plan need 64 bits.
[[nodiscard]] bool is_large(const Plan& plan);

/// A header is written from top to bottom: its beginning, macros, declarations of tables, their definitions, its end.
void begin_header(const HeaderStyle& style, std::ostream& out);
void declare_tables(const HeaderStyle& style, Macros& macros, std::ostream& out);
void begin_definitions(const HeaderStyle& style, std::ostream& out);
void end_header(const HeaderStyle& style, std::ostream& out);

}  // namespace stowage::exporting
