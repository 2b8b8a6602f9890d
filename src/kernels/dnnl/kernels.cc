#include "kernels/kernels.h"

#include <dnnl_version.h>
#include <fmt/format.h>

#include "kernels/dnnl/assembly.h"
#include "kernels/dnnl/operators.h"
#include "kernels/dnnl/special.h"
#include "stowage/parts.h"

namespace stowage::kernels {

const KernelTable& dnnl_kernels() {
  using namespace fast;
  static const KernelTable table{
      {"Abs", guarded<elementwise>},
      {"Add", guarded<combination>},
      {"AveragePool", guarded<pool>},
      {"BatchNormalization", guarded<batch_normalization>},
      {"Clip", guarded_from_nan<clip>},
      {"Conv", guarded<convolution>},
      {"ConvTranspose", guarded<transposed_convolution>},
      {"Div", guarded<combination>},
      {"Elu", guarded<elementwise>},
      {"Exp", guarded_from_nan<elementwise>},
      {"Gelu", guarded<elementwise>},
      {"Gemm", guarded<gemm>},
      {"GlobalAveragePool", guarded<global_pool>},
      {"GlobalMaxPool", guarded<global_pool>},
      {"HardSwish", guarded<elementwise>},
      {"LRN", guarded<local_response_normalization>},
      {"LayerNormalization", guarded<layer_normalization>},
      {"LeakyRelu", guarded<elementwise>},
      {"LogSoftmax", guarded<softmax>},
      {"MatMul", guarded<matrix_product>},
      {"Max", guarded_from_nan<combination>},
      {"MaxPool", guarded_from_nan<pool>},
      {"Min", guarded_from_nan<combination>},
      {"Mish", guarded<elementwise>},
      {"Mul", guarded<combination>},
      {"ReduceMax", guarded_from_nan<reduction>},
      {"ReduceMean", guarded<reduction>},
      {"ReduceMin", guarded_from_nan<reduction>},
      {"ReduceSum", guarded<reduction>},
      {"Relu", guarded_from_nan<elementwise>},
      {"Sigmoid", guarded<elementwise>},
      {"Softmax", guarded<softmax>},
      {"Softplus", guarded<elementwise>},
      {"Sqrt", guarded<elementwise>},
      {"Sub", guarded<combination>},
      {"Sum", guarded<combination>},
      {"Swish", guarded<elementwise>},
      {"Tanh", guarded<elementwise>},
  };
  return table;
}

}  // namespace stowage::kernels

namespace stowage {

std::string name_of_fast_kernels() {
  return fmt::format("oneDNN {}.{}.{}", DNNL_VERSION_MAJOR, DNNL_VERSION_MINOR, DNNL_VERSION_PATCH);
}

}  // namespace stowage
