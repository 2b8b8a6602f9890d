// Any sequence of calls of the C interface, with memory that may end at any of them. What fits is checked pair by pair.

#include <cstdint>
#include <cstdlib>
#include <vector>

#include "stowage_pack.h"

namespace {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}
  [[nodiscard]] bool is_empty() const { return left_ == 0; }
  std::uint8_t next() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  std::int64_t number() {
    const std::uint8_t byte = next();
    if (byte < 240) return byte % 40;
    return byte < 250 ? -static_cast<std::int64_t>(byte % 3) : INT64_MAX >> (byte - 250) * 9;
  }

 private:
  const std::uint8_t* data_;
  std::size_t left_;
};

struct Memory {
  std::int64_t left;  ///< Requests that are met.
  std::size_t bytes = 0;
};

void* allocate(void* context, std::size_t size) {
  auto& memory = *static_cast<Memory*>(context);
  if (memory.left-- <= 0) return nullptr;
  void* const it = std::malloc(size);
  if (it != nullptr) memory.bytes += size;
  return it;
}

void release(void* context, void* it, std::size_t size) {
  static_cast<Memory*>(context)->bytes -= size;
  std::free(it);
}

std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

void expect(bool holds) {
  if (!holds) std::abort();
}

void call(stowage_pack_problem* it, Bytes& bytes) {
  const auto number = [&] { return bytes.number(); };
  const std::uint8_t which = bytes.next() % 20;
  const std::int64_t a = number();
  const std::int64_t b = number();
  switch (which) {
    case 0:
      stowage_pack_add_memory(it, sum(a, b));
      return;
    case 1:
    case 2:
    case 3:
    case 4:
      stowage_pack_add_buffer(it, a, bytes.next() % 4 + 1, b, sum(b, number()));
      return;
    case 5:
      stowage_pack_add_life(it, a, b, sum(b, number()));
      return;
    case 6:
      stowage_pack_pin(it, a, b);
      return;
    case 7:
      stowage_pack_allow(it, a, b % 3);
      return;
    case 8:
      stowage_pack_reserve(it, a % 3, b, sum(b, number()));
      return;
    case 9:
      stowage_pack_together_at(it, a, b, number());
      return;
    case 10:
      stowage_pack_apart(it, a, b);
      return;
    case 11:
      stowage_pack_exclusive(it, a, b);
      return;
    case 12:
      stowage_pack_reuse_cost(it, a, b, number());
      return;
    case 13: {
      const std::int64_t gains[] = {b, sum(b, number())};
      stowage_pack_copies(it, a, gains, bytes.next() % 3);
      return;
    }
    case 14:
      stowage_pack_resize(it, a, b);
      return;
    case 15:
      stowage_pack_set_life(it, a, b, sum(b, number()));
      return;
    case 16:
      stowage_pack_remove(it, a);
      return;
    case 17:
      stowage_pack_set_objective(it, static_cast<stowage_pack_objective>(a & 3));
      stowage_pack_set_memory_cost(it, a % 3, b);
      stowage_pack_set_traffic(it, b, a);
      return;
    default: {
      const stowage_pack_status status =
          which == 18 ? stowage_pack_solve(it, a % 3, 0) : stowage_pack_solve_again(it, a % 3, 1);
      expect(status >= STOWAGE_PACK_FITS && status <= STOWAGE_PACK_NO_MEMORY);
      expect(status != STOWAGE_PACK_INVALID || *stowage_pack_error(it) != 0);
      expect(status != STOWAGE_PACK_FITS || stowage_pack_cannot_fit(it) == 0);
      expect(stowage_pack_cost_bound(it) <=
             stowage_pack_cost(it) + stowage_pack_memory_cost(it) - stowage_pack_gain(it));
      for (std::int64_t i = -1; i < 40; ++i) {
        expect(stowage_pack_offset(it, i) >= 0);
        expect(stowage_pack_memory_of(it, i) >= 0);
        expect(stowage_pack_peak(it, i) >= 0);
        expect(stowage_pack_copies_of(it, i) >= 0);
      }
      return;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Bytes bytes(data, size);
  const std::uint8_t most = bytes.next();
  Memory memory{.left =
                    most < 200 ? INT64_MAX : static_cast<std::int64_t>(most - 200) * 40 + bytes.next() % 40};
  const stowage_pack_allocator allocator{.allocate = allocate, .release = release, .context = &memory};
  stowage_pack_problem* const it = stowage_pack_create_with(&allocator);
  if (it == nullptr) return 0;
  for (int calls = 0; calls < 60 && !bytes.is_empty(); ++calls) call(it, bytes);
  stowage_pack_destroy(it);
  expect(memory.bytes == 0);
  return 0;
}
