/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 8 bits by a table of all results. */
#include "stowage_kernels.h"

void stowage_table_8(const uint8_t *table, uint8_t flip, const uint8_t *input, uint8_t *output,
                     int32_t count) {
  for (; count > 0; count--) *output++ = table[*input++ ^ flip];
}
