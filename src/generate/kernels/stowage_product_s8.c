/* SPDX-License-Identifier: Apache-2.0 */
/* BATCH_MATMUL of int8. */
#include <stdint.h>

#define PRODUCT stowage_product_s8
#define LEAST INT8_MIN
#define MOST INT8_MAX

typedef int8_t element;

#include "stowage_product.h"
