#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "cli/commands.h"

namespace {

/// Lists of a million buffers need large blocks, one after the other. From this size on a block is mapped by
/// itself, so that it goes back to the system when it is freed. glibc would raise this size to 32 MiB as blocks
/// are freed, and then keep what is smaller.
void give_back_freed_memory() {
#ifdef __GLIBC__
  constexpr int mapped_from = 4 << 20;       // bytes
  ::mallopt(M_MMAP_THRESHOLD, mapped_from);  // NOLINT(concurrency-mt-unsafe): there are no threads yet
#endif
}

}  // namespace

int main(int argc, char** argv) {
  give_back_freed_memory();
  return stowage::cli::run_command_line(argc, argv);
}
