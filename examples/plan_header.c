/* Walks through a plan as a runtime would: where each operator finds its operands in the arena.

   stowage plan model.tflite -o plan.h --prefix plan
   cc -std=c99 -I. plan_header.c -o plan_header */

#include <stdio.h>

#define PLAN_IMPLEMENTATION
#include "plan.h"

/* C99 has no alignas: some bytes more, of which the first aligned one is taken. */
static unsigned char memory[PLAN_ARENA_SIZE + PLAN_ARENA_ALIGNMENT];

static unsigned char* arena(void) {
  const uintptr_t rest = (uintptr_t)memory % PLAN_ARENA_ALIGNMENT;
  return memory + (rest == 0 ? 0 : PLAN_ARENA_ALIGNMENT - rest);
}

/* The address of an operand; weights have none here. */
static unsigned char* address(const plan_operand* operand) {
  return operand->memory == PLAN_NOWHERE ? NULL : arena() + operand->offset;
}

int main(void) {
  uint32_t at;
  const plan_clock* const clock = &plan_clocks[0];
  printf("%s: %lu bytes, %lu steps\n", plan_models[0].name, (unsigned long)PLAN_ARENA_SIZE,
         (unsigned long)clock->steps);
  for (at = 0; at < clock->steps; ++at) {
    const plan_step* const step = &clock->step[at];
    uint32_t i;
    if (step->action != PLAN_RUN) continue;
    printf("%4lu %s", (unsigned long)at, step->type);
    for (i = 0; i < step->inputs + step->outputs; ++i) {
      const plan_operand* const operand = &step->operand[i];
      if (i == step->inputs) printf(" ->");
      if (address(operand) == NULL) continue;
      printf(" %lu@%ld", (unsigned long)plan_tensors[operand->tensor].bytes,
             (long)(address(operand) - arena()));
    }
    printf("\n");
  }
  return 0;
}
