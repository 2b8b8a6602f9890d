#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "generate/program.h"
#include "generate/sources.h"
#include "stowage/open_rows.h"

namespace stowage::generate {

/// A package as it is at one size.
struct WrittenAt {
  std::int64_t size = 1;
  Model* model = nullptr;
  Sources* sources = nullptr;
};

/// Makes the first of these packages, which are of one plan at several sizes, that for all sizes: numbers of rows become
/// members of its state. Throws Error that names an operator whose C depends on the size in another way.
void open_rows(std::span<const WrittenAt> all, const Plan& plan, const OpenRows& rows);

}  // namespace stowage::generate
