/* SPDX-License-Identifier: Apache-2.0 */
/* BATCH_MATMUL of uint8. */
#include <stdint.h>

#define PRODUCT stowage_product_u8
#define LEAST 0
#define MOST UINT8_MAX

typedef uint8_t element;

#include "stowage_product.h"
