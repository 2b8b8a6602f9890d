/* Offsets from a compiler in C: three buffers, of which reuse of one by the other costs a wait.
 *   cc -std=c99 -c examples/pack.c -Iinclude && c++ pack.o -lstowage_pack -o pack */
#include <stdio.h>

#include "stowage_pack.h"

int main(void) {
  stowage_pack_problem *problem = stowage_pack_create();
  int64_t vec, buffers[3];
  int b, status;
  if (problem == NULL) return 1;
  vec = stowage_pack_add_memory(problem, 64);
  for (b = 0; b < 3; b++) buffers[b] = stowage_pack_add_buffer(problem, 32, 32, 2 * b, 2 * b + 2);
  stowage_pack_reuse_cost(problem, buffers[0], buffers[1], 5);
  stowage_pack_reuse_cost(problem, buffers[1], buffers[2], 1);
  status = stowage_pack_solve(problem, 100, 0);
  if (status != STOWAGE_PACK_FITS) {
    printf("%s\n", stowage_pack_error(problem));
    stowage_pack_destroy(problem);
    return 1;
  }
  for (b = 0; b < 3; b++) printf("buffer %d at %d\n", b, (int)stowage_pack_offset(problem, buffers[b]));
  printf("cost %d, at least %d; peak %d\n", (int)stowage_pack_cost(problem), (int)stowage_pack_cost_bound(problem),
         (int)stowage_pack_peak(problem, vec));
  stowage_pack_destroy(problem);
  return 0;
}
