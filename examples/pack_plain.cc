// Offsets from a compiler in C++ that is built without exceptions and RTTI: the caller's memory, and a second solution that
// moves as little as it can.
//   c++ -std=c++17 -fno-exceptions -fno-rtti examples/pack_plain.cc -Iinclude -lstowage_pack_c -o pack_plain
#include <cstdio>
#include <cstdlib>

#include "stowage_pack.h"

namespace {

struct Counted {
  std::size_t bytes = 0;
};

void* allocate(void* context, std::size_t size) {
  static_cast<Counted*>(context)->bytes += size;
  return std::malloc(size);
}

void release(void* context, void* memory, std::size_t size) {
  static_cast<Counted*>(context)->bytes -= size;
  std::free(memory);
}

}  // namespace

int main() {
  if (stowage_pack_abi() != STOWAGE_PACK_ABI) return 1;
  Counted counted;
  const stowage_pack_allocator allocator = {allocate, release, &counted};
  stowage_pack_problem* const problem = stowage_pack_create_with(&allocator);
  if (problem == nullptr) return 1;
  stowage_pack_add_memory(problem, 256);
  for (int b = 0; b < 4; ++b) stowage_pack_add_buffer(problem, 64, 16, b, b + 2);
  int status = stowage_pack_solve(problem, 10, 0);
  if (status == STOWAGE_PACK_FITS) status = stowage_pack_resize(problem, 3, 100);
  if (status == STOWAGE_PACK_FITS) status = stowage_pack_solve_again(problem, 0, 0);
  if (status != STOWAGE_PACK_FITS) std::printf("%s\n", stowage_pack_error(problem));
  for (int b = 0; b < 4; ++b)
    std::printf("buffer %d at %lld\n", b, static_cast<long long>(stowage_pack_offset(problem, b)));
  stowage_pack_destroy(problem);
  std::printf("bytes left %zu\n", counted.bytes);
  return status;
}
