#pragma once

#include <cstdint>
#include <dnnl.hpp>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

namespace stowage::kernels::fast {

using dnnl::memory;

/// An argument of a primitive: its memory, its first byte there, and the layout of its elements.
struct Place {
  enum class Memory : std::uint8_t { input, output, scratch, held };

  Memory memory = Memory::input;
  std::size_t index = 0;  ///< Of the operand or held part; in scratch memory, of the first byte.
  memory::desc layout{};
};

/// A dense, row-major layout of float32; one dimension of 1 if there are none.
[[nodiscard]] memory::desc dense(const memory::dims& dimensions);

/// A layout that oneDNN may choose.
[[nodiscard]] memory::desc any_layout(const memory::dims& dimensions);

/// Throws Unsupported for operands that are not float32, that are empty, or that are too large for kernels
/// with 32-bit offsets, and if their number is out of range.
struct Count {
  std::size_t least = 1;
  std::size_t most = 1;
};
void expect_floats(const Signature& signature, Count inputs, Count outputs = {});

/// Throws Unsupported for a layout that is too large for kernels with 32-bit offsets.
void expect_small(const memory::desc& layout);

[[nodiscard]] const Shape& input_shape(const Signature& signature, std::size_t i);
[[nodiscard]] const Shape& output_shape(const Signature& signature, std::size_t i = 0);

/// The elements of a constant input; Unsupported if it is not constant.
[[nodiscard]] std::vector<float> constant_floats(const Signature& signature, std::size_t i);
[[nodiscard]] std::vector<std::int64_t> constant_integers(const Signature& signature, std::size_t i);

/// Assembles primitives to a kernel, which runs them one after the other.
class Assembly {
 public:
  explicit Assembly(const Signature& signature);

  using Arguments = std::vector<std::pair<int, Place>>;

  [[nodiscard]] const dnnl::engine& engine() const { return engine_; }
  /// Attributes that request external scratchpads.
  [[nodiscard]] static dnnl::primitive_attr attributes();

  /// True unless the implementation of that name is a reference loop.
  [[nodiscard]] static bool is_optimised(std::string_view implementation) {
    return !implementation.starts_with("ref");
  }

  /// Operands, with their elements in that layout.
  [[nodiscard]] Place input(std::size_t i, const memory::desc& layout) const;
  [[nodiscard]] Place output(std::size_t i, const memory::desc& layout) const;
  /// Memory for that layout while the kernel runs.
  [[nodiscard]] Place scratch(const memory::desc& layout);

  /// Constants that the kernel keeps.
  [[nodiscard]] Place held(const memory::desc& layout, std::span<const float> numbers);

  /// The same elements in another layout: constants are converted now, others in every run.
  [[nodiscard]] Place converted(const Place& from, const memory::desc& to);
  /// Converts in every run, unless both are one place.
  void convert(const Place& from, const Place& to);

  /// Runs the primitive of that descriptor with those arguments. Throws Unsupported if oneDNN only has
  /// reference loops for it: ours are better.
  template <typename Primitive>
  void add(const typename Primitive::primitive_desc& descriptor, Arguments arguments) {
    if (!is_optimised(descriptor.impl_info_str()))
      throw Unsupported{"oneDNN has only reference loops for these shapes"};
    append(Primitive(descriptor), descriptor.scratchpad_desc(), std::move(arguments));
  }

  [[nodiscard]] Kernel finish();

 private:
  struct Step {
    dnnl::primitive primitive{};
    Arguments arguments{};
  };
  struct Parts;

  [[nodiscard]] Place hold(const memory::desc& layout);
  void append(dnnl::primitive primitive, const memory::desc& scratchpad, Arguments arguments);

  const Signature& signature_;
  dnnl::engine engine_;
  std::shared_ptr<Parts> parts_;
  Bytes scratch_ = 0;
  Bytes held_ = 0;
};

/// The kernel from `prepare`, with its errors as reasons.
template <Kernel (*prepare)(const Signature&)>
[[nodiscard]] Kernel guarded(const Signature& signature);

[[nodiscard]] Kernel guard(Kernel (*prepare)(const Signature&), const Signature& signature);

template <Kernel (*prepare)(const Signature&)>
Kernel guarded(const Signature& signature) {
  return guard(prepare, signature);
}

}  // namespace stowage::kernels::fast
