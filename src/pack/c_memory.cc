// operator new and delete of the C library, which shares them with nobody: its symbols are local, also those of the C++
// library inside. What is allocated begins with a note of where it is from, so any thread may release it at any time:
//
//     | allocator | size | the object ...
//
// What is in no problem (tables of strategies) is from malloc.

#include "pack/c_memory.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

thread_local const stowage_pack_allocator* current = nullptr;

struct alignas(std::max_align_t) Note {
  const stowage_pack_allocator* from;
  std::size_t size;
};

void* allocate(std::size_t size) noexcept {
  if (size > PTRDIFF_MAX - sizeof(Note)) return nullptr;
  const std::size_t whole = size + sizeof(Note);
  void* const memory = current == nullptr ? std::malloc(whole) : current->allocate(current->context, whole);
  if (memory == nullptr) return nullptr;
  return new (memory) Note{current, whole} + 1;
}

void release(void* object) noexcept {
  if (object == nullptr) return;
  Note* const note = static_cast<Note*>(object) - 1;
  if (note->from == nullptr)
    std::free(note);
  else
    note->from->release(note->from->context, note, note->size);
}

}  // namespace

namespace stowage::pack {

MemoryOf::MemoryOf(const stowage_pack_allocator& allocator) : before_(current) { current = &allocator; }
MemoryOf::~MemoryOf() { current = before_; }

}  // namespace stowage::pack

void* operator new(std::size_t size) {
  if (void* const object = allocate(size)) return object;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* object) noexcept { release(object); }
void operator delete(void* object, std::size_t) noexcept { release(object); }
void operator delete(void* object, const std::nothrow_t&) noexcept { release(object); }
void operator delete[](void* object) noexcept { release(object); }
void operator delete[](void* object, std::size_t) noexcept { release(object); }
void operator delete[](void* object, const std::nothrow_t&) noexcept { release(object); }

#if defined(__GLIBCXX__)
/// Instead of the one that prints the exception, and would bring a third of the library with it.
namespace __gnu_cxx {
void __verbose_terminate_handler();
void __verbose_terminate_handler() { std::abort(); }
}  // namespace __gnu_cxx
#endif
