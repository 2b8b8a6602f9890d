#include "kernels/kernels.h"

#include <fmt/format.h>

namespace stowage::kernels {

KernelTable table_of(std::initializer_list<TablePart (*)()> parts) {
  KernelTable table;
  for (const auto part : parts) {
    for (const auto& [type, prepare_one] : part()) table.emplace(type, prepare_one);
  }
  return table;
}

Kernel prepare(const Signature& signature, KernelSet kernels) {
  if (kernels == KernelSet::fast) {
    if (const auto fast = dnnl_kernels().find(signature.type); fast != dnnl_kernels().end()) {
      try {
        return fast->second(signature);
      } catch (const Unsupported&) {
        // Plain loops may know what oneDNN does not.
      }
    }
  }
  for (const KernelTable* const table : {&onnx_kernels(), &tflite_kernels()}) {
    const auto plain = table->find(signature.type);
    if (plain != table->end()) return plain->second(signature);
  }
  throw Unsupported{fmt::format("there is no kernel for {}", signature.type)};
}

}  // namespace stowage::kernels
