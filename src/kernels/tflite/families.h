#pragma once

#include "kernels/kernels.h"

namespace stowage::kernels {

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
void add_indexing(KernelTable& table);
void add_batches(KernelTable& table);
void add_resizing(KernelTable& table);
void add_transpose_conv(KernelTable& table);
void add_products(KernelTable& table);
void add_svdf(KernelTable& table);
void add_joining(KernelTable& table);
void add_lstm(KernelTable& table);
void add_quantize(KernelTable& table);

}  // namespace stowage::kernels
