#pragma once

#include "run/kernels.h"

namespace stowage::run {

/// Each adds the kernels of one file to the table.
void add_convolutions(KernelTable& table);
void add_fully_connected(KernelTable& table);
void add_pooling(KernelTable& table);
void add_softmax(KernelTable& table);
void add_arithmetic(KernelTable& table);
void add_activations(KernelTable& table);
void add_elementwise(KernelTable& table);
void add_reductions(KernelTable& table);
void add_moves(KernelTable& table);
void add_quantize(KernelTable& table);

}  // namespace stowage::run
