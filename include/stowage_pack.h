/* The packer in C99: buffers and what they have to do with each other in, offsets out. It never throws, starts no
 * thread, keeps no state between problems, and searches by counted work, so the result is the same on every machine.
 *
 *     stowage_pack_problem *problem = stowage_pack_create();
 *     int64_t arena = stowage_pack_add_memory(problem, STOWAGE_PACK_UNLIMITED);
 *     int64_t a = stowage_pack_add_buffer(problem, 64, 16, 0, 2);
 *     int64_t b = stowage_pack_add_buffer(problem, 32, 16, 2, 4);
 *     if (stowage_pack_solve(problem, 100, 0) != STOWAGE_PACK_FITS) puts(stowage_pack_error(problem));
 *     int64_t offset_of_a = stowage_pack_offset(problem, a);
 *     stowage_pack_destroy(problem);
 *
 * Numbers of memories and buffers count from 0 in the order in which they were added. A number is negative if there was
 * no memory for it. Whatever else is wrong with a problem, stowage_pack_solve says. Sizes, offsets and capacities are in
 * bytes, lives in positions: a buffer is live from `lower` to before `upper`. docs/compilers.md explains the relations.
 *
 * Link with libstowage_pack_c, shared or static. It needs no C++: `cc program.c -lstowage_pack_c -lm`.
 */
#ifndef STOWAGE_PACK_H
#define STOWAGE_PACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define STOWAGE_PACK_API __attribute__((visibility("default")))
#else
#define STOWAGE_PACK_API
#endif

/* Of this header. A library whose stowage_pack_abi() is the same has all that is here. */
#define STOWAGE_PACK_ABI 1

#define STOWAGE_PACK_UNLIMITED ((int64_t)-1)

typedef struct stowage_pack_problem stowage_pack_problem;

typedef enum {
  STOWAGE_PACK_FITS = 0,         /* Every buffer has an offset within the capacity of its memory. */
  STOWAGE_PACK_DOES_NOT_FIT = 1, /* No such offsets were found; see stowage_pack_cannot_fit. */
  STOWAGE_PACK_INVALID = 2,      /* The problem is wrong: see stowage_pack_error. */
  STOWAGE_PACK_NO_MEMORY = 3     /* This machine has too little memory. */
} stowage_pack_status;

/* Where all memory of a problem comes from: what it says, what a search needs, and the solution. `allocate` returns memory
 * aligned for any object of C, or NULL. `release` gets what `allocate` returned, and its size. Both are only called by
 * functions that get the problem, on their thread. (What C++ itself needs to throw, a few hundred bytes while a search runs
 * out of memory, is from malloc.) */
typedef struct {
  void* (*allocate)(void* context, size_t size);
  void (*release)(void* context, void* memory, size_t size);
  void* context;
} stowage_pack_allocator;

/* What counts once all buffers fit. */
typedef enum {
  STOWAGE_PACK_COST = 0,           /* Little cost, whatever the peaks within the capacities. */
  STOWAGE_PACK_COST_THEN_PEAK = 1, /* Of offsets of that cost, some with low peaks. */
  STOWAGE_PACK_PEAK_THEN_COST = 2  /* Low peaks, and within these little cost. */
} stowage_pack_objective;

STOWAGE_PACK_API int stowage_pack_abi(void);

/* NULL if there is no memory. */
STOWAGE_PACK_API stowage_pack_problem* stowage_pack_create(void);
/* The allocator is copied. */
STOWAGE_PACK_API stowage_pack_problem* stowage_pack_create_with(const stowage_pack_allocator* allocator);
STOWAGE_PACK_API void stowage_pack_destroy(stowage_pack_problem* problem);

/* What is added first is fastest. Returns the number of the memory. */
STOWAGE_PACK_API int64_t stowage_pack_add_memory(stowage_pack_problem* problem, int64_t capacity);
/* Returns the number of the buffer. */
STOWAGE_PACK_API int64_t stowage_pack_add_buffer(stowage_pack_problem* problem, int64_t size,
                                                 int64_t alignment, int64_t lower, int64_t upper);

/* What a byte read or written in a memory costs; 1 if nothing is said. */
STOWAGE_PACK_API stowage_pack_status stowage_pack_set_memory_cost(stowage_pack_problem* problem,
                                                                  int64_t memory, int64_t cost);
/* Bytes that are read and written in a buffer; its size if nothing is said, and after it was resized. */
STOWAGE_PACK_API stowage_pack_status stowage_pack_set_traffic(stowage_pack_problem* problem, int64_t buffer,
                                                              int64_t bytes);

/* Of a buffer: it is live in [lower, upper), too; it has this offset; it may be in this memory (the first call excludes
 * all others). */
STOWAGE_PACK_API stowage_pack_status stowage_pack_add_life(stowage_pack_problem* problem, int64_t buffer,
                                                           int64_t lower, int64_t upper);
STOWAGE_PACK_API stowage_pack_status stowage_pack_pin(stowage_pack_problem* problem, int64_t buffer,
                                                      int64_t offset);
STOWAGE_PACK_API stowage_pack_status stowage_pack_allow(stowage_pack_problem* problem, int64_t buffer,
                                                        int64_t memory);

/* Of a buffer, to solve again: it has this size; it is live in [lower, upper) and at no other time; it is no more. Its number
 * stays, and what was said of it and others is forgotten. */
STOWAGE_PACK_API stowage_pack_status stowage_pack_resize(stowage_pack_problem* problem, int64_t buffer,
                                                         int64_t size);
STOWAGE_PACK_API stowage_pack_status stowage_pack_set_life(stowage_pack_problem* problem, int64_t buffer,
                                                           int64_t lower, int64_t upper);
STOWAGE_PACK_API stowage_pack_status stowage_pack_remove(stowage_pack_problem* problem, int64_t buffer);

/* Of a buffer: it may have 2 to count + 1 copies, one behind the other, each aligned as it. gains[i] is what i + 2 copies
 * gain beside one; more gain no less. At most 15 gains. */
STOWAGE_PACK_API stowage_pack_status stowage_pack_copies(stowage_pack_problem* problem, int64_t buffer,
                                                         const int64_t* gains, size_t count);

/* No buffer may have these bytes of a memory, [begin, end). */
STOWAGE_PACK_API stowage_pack_status stowage_pack_reserve(stowage_pack_problem* problem, int64_t memory,
                                                          int64_t begin, int64_t end);

/* Of two buffers: they have one place; they share no byte, whatever their lives; they are never live at the same time,
 * though their lives overlap; it costs something if they share a byte. */
STOWAGE_PACK_API stowage_pack_status stowage_pack_together(stowage_pack_problem* problem, int64_t a,
                                                           int64_t b);
/* The offset of b is that of a and this distance, in the same memory. */
STOWAGE_PACK_API stowage_pack_status stowage_pack_together_at(stowage_pack_problem* problem, int64_t a,
                                                              int64_t b, int64_t distance);
STOWAGE_PACK_API stowage_pack_status stowage_pack_apart(stowage_pack_problem* problem, int64_t a, int64_t b);
STOWAGE_PACK_API stowage_pack_status stowage_pack_exclusive(stowage_pack_problem* problem, int64_t a,
                                                            int64_t b);
STOWAGE_PACK_API stowage_pack_status stowage_pack_reuse_cost(stowage_pack_problem* problem, int64_t a,
                                                             int64_t b, int64_t cost);

/* What counts: STOWAGE_PACK_COST if nothing is said. Without costs, copies, reserved bytes and pairs the peak counts
 * always. */
STOWAGE_PACK_API stowage_pack_status stowage_pack_set_objective(stowage_pack_problem* problem,
                                                                stowage_pack_objective objective);
/* Solving ends soon, with the best offsets so far, when *flag is not 0. Another thread or a signal handler may set it. NULL:
 * no flag. */
STOWAGE_PACK_API void stowage_pack_set_cancel_flag(stowage_pack_problem* problem, const volatile int* flag);

/* Finds offsets. 1000 of effort are about a second of one processor; a proven optimum ends the search before. What the
 * problem says may be changed and solved again. */
STOWAGE_PACK_API stowage_pack_status stowage_pack_solve(stowage_pack_problem* problem, int64_t effort,
                                                        uint64_t seed);

/* The same, but begins with the offsets of the last solution: they are kept where they are still legal, and the others are
 * placed around them. What the search finds then replaces them only if its peak is lower, or its cost (as the objective
 * says). So if nothing was changed, or with an effort of 0, no buffer moves that can stay. */
STOWAGE_PACK_API stowage_pack_status stowage_pack_solve_again(stowage_pack_problem* problem, int64_t effort,
                                                              uint64_t seed);

/* Of the last solution; 0 if there is none, or no such buffer or memory. */
STOWAGE_PACK_API int64_t stowage_pack_offset(const stowage_pack_problem* problem, int64_t buffer);
STOWAGE_PACK_API int64_t stowage_pack_memory_of(const stowage_pack_problem* problem, int64_t buffer);
STOWAGE_PACK_API int64_t stowage_pack_peak(const stowage_pack_problem* problem, int64_t memory);
/* No offsets have a lower peak (of several memories: sum of peaks, if each keeps its buffers). */
STOWAGE_PACK_API int64_t stowage_pack_lower_bound(const stowage_pack_problem* problem);
/* Of reuse; and what traffic costs more than if each buffer were in the cheapest memory that it may be in. */
STOWAGE_PACK_API int64_t stowage_pack_cost(const stowage_pack_problem* problem);
STOWAGE_PACK_API int64_t stowage_pack_memory_cost(const stowage_pack_problem* problem);
/* How many copies a buffer has, and what all copies gain. */
STOWAGE_PACK_API int64_t stowage_pack_copies_of(const stowage_pack_problem* problem, int64_t buffer);
STOWAGE_PACK_API int64_t stowage_pack_gain(const stowage_pack_problem* problem);
/* No offsets that fit have a lower sum of costs, less gain. */
STOWAGE_PACK_API int64_t stowage_pack_cost_bound(const stowage_pack_problem* problem);
/* 1 if it is proven that no peaks are lower: of the memory added last, then of the one before, and so on. */
STOWAGE_PACK_API int stowage_pack_is_least_peak(const stowage_pack_problem* problem);
/* 1 if it is proven that no offsets fit. */
STOWAGE_PACK_API int stowage_pack_cannot_fit(const stowage_pack_problem* problem);

/* Why the last call failed, in English; "" if it did not. Valid until the next call with the problem. */
STOWAGE_PACK_API const char* stowage_pack_error(const stowage_pack_problem* problem);

#ifdef __cplusplus
}
#endif

#endif
