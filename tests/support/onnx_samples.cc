#include "onnx_samples.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <sstream>
#include <vector>

#include "onnx_models.h"

namespace stowage::testing {
namespace {

/// Calls of some operators from a set on. An operand is "float[2,3]": an input; "=float[2,3]": a constant of
/// fractions, or of zeros if it is of another type; "{1,2}", "5", "{1.5,2.0}": a constant with these elements; "-": left out. An attribute is "axis=1",
/// "perm=[1,0]", "alpha=0.5" or "mode=linear".
struct Sample {
  std::string_view types;
  int from;
  std::string_view operands;
  std::string_view attributes{};
  int results = 1;
};

const Sample samples[] = {
    // Element by element
    {"Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish "
     "Identity IsInf IsNaN LeakyRelu Log Mish Neg Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh "
     "Softplus "
     "Softsign Sqrt Swish Tan Tanh ThresholdedRelu Bernoulli com.microsoft.Gelu com.microsoft.FastGelu "
     "com.microsoft.QuickGelu",
     1, "float[1,3,4,4]"},
    {"Add Sub Mul Div Pow", 1, "float[1,3,4,4] float[1,3,4,4]"},
    {"Max Mean Min Sum", 1, "float[1,3,4,4] float[1,3,4,4]"},
    {"PRelu", 1, "float[1,3,4,4] =float[3]"},
    {"PRelu", 7, "float[1,3,4,4] =float[3,1,1]"},
    {"Mod", 10, "int64[1,3,4,4] =int64[1,3,4,4]"},
    {"BitShift", 11, "uint8[1,3,4,4] uint8[1,3,4,4]", "direction=LEFT"},
    {"BitwiseAnd BitwiseOr BitwiseXor", 18, "uint8[1,3,4,4] uint8[1,3,4,4]"},
    {"BitwiseNot", 18, "uint8[1,3,4,4]"},
    {"Not", 1, "bool[1,3,4,4]"},
    {"And Or Xor", 1, "bool[1,3,4,4] bool[1,3,4,4]"},
    {"Equal", 1, "int64[1,3,4,4] int64[1,3,4,4]"},
    {"Greater GreaterOrEqual Less LessOrEqual", 1, "float[1,3,4,4] float[1,3,4,4]"},
    {"Where", 9, "bool[1,3,4,4] float[1,3,4,4] float[1,3,4,4]"},
    {"Clip", 1, "float[1,3,4,4]", "min=0.0 max=6.0"},
    {"Clip", 11, "float[1,3,4,4] 0.0 6.0"},
    {"Cast", 1, "float[1,3,4,4]", "to=INT32"},
    {"Cast", 6, "float[1,3,4,4]", "to=6"},
    {"CastLike", 15, "float[1,3,4,4] =int32[1]"},
    {"BitCast", 26, "float[1,3,4,4]", "to=6"},
    {"Dropout", 1, "float[1,3,4,4]", "is_test=1"},
    {"Dropout", 7, "float[1,3,4,4]"},
    {"com.microsoft.BiasAdd", 1, "float[2,4,3] =float[3] float[2,4,3]"},
    {"com.microsoft.BiasGelu", 1, "float[2,4,3] =float[3]"},
    {"com.microsoft.BiasDropout", 1, "float[2,4,3] =float[3]"},
    {"com.microsoft.BiasSoftmax", 1, "float[2,4,3] float[2,4,3]", "axis=2 is_inner_broadcast=0"},
    {"com.microsoft.BiasSplitGelu", 1, "float[2,4,6] =float[6]"},
    {"com.microsoft.ComplexMul com.microsoft.ComplexMulConj", 1, "float[2,4,2] float[2,4,2]"},
    // Types of few bits
    {"QuantizeLinear com.microsoft.QuantizeLinear", 1, "float[1,3,4,4] 0.5 =uint8[]"},
    {"DequantizeLinear com.microsoft.DequantizeLinear", 1, "uint8[1,3,4,4] 0.5 =uint8[]"},
    {"DynamicQuantizeLinear", 11, "float[1,3,4,4]", "", 3},
    {"QLinearConv", 10, "uint8[1,2,6,6] 0.5 =uint8[] =uint8[3,2,3,3] 0.5 =uint8[] 0.5 =uint8[]"},
    {"QLinearMatMul", 10, "uint8[4,3] 0.5 =uint8[] =uint8[3,5] 0.5 =uint8[] 0.5 =uint8[]"},
    {"ConvInteger", 10, "uint8[1,2,6,6] =uint8[3,2,3,3]"},
    {"MatMulInteger com.microsoft.MatMulInteger16", 1, "uint8[4,3] uint8[3,5]"},
    {"com.microsoft.QLinearAdd com.microsoft.QLinearMul stowage.QLinearSub", 1,
     "uint8[2,3] 0.5 =uint8[] uint8[2,3] 0.5 =uint8[] 0.5 =uint8[]"},
    {"com.microsoft.QLinearAveragePool", 1, "uint8[1,2,6,6] 0.5 =uint8[] 0.5 =uint8[]", "kernel_shape=[2,2]"},
    {"com.microsoft.QLinearGlobalAveragePool", 1, "uint8[1,2,6,6] 0.5 =uint8[] 0.5 =uint8[]"},
    {"com.microsoft.QLinearConcat", 1, "0.5 =uint8[] uint8[2,3] 0.5 =uint8[] uint8[2,3] 0.5 =uint8[]",
     "axis=0"},
    {"com.microsoft.QLinearConv", 1, "uint8[1,2,6,6] 0.5 =uint8[] =uint8[3,2,3,3] 0.5 =uint8[] 0.5 =uint8[]"},
    {"com.microsoft.QLinearLeakyRelu com.microsoft.QLinearSigmoid com.microsoft.QLinearSoftmax "
     "stowage.Requantize",
     1, "uint8[2,3] 0.5 =uint8[] 0.5 =uint8[]"},
    {"com.microsoft.QLinearReduceMean", 1, "uint8[2,3] 0.5 =uint8[] 0.5 =uint8[]", "axes=[1] keepdims=1"},
    {"com.microsoft.QLinearWhere", 1,
     "bool[2,3] uint8[2,3] 0.5 =uint8[] uint8[2,3] 0.5 =uint8[] 0.5 =uint8[]"},
    {"com.microsoft.QGemm", 1, "uint8[4,3] 0.5 =uint8[] =uint8[3,5] 0.5 =uint8[] - 0.5 =uint8[]"},
    {"com.microsoft.MatMulIntegerToFloat", 1, "uint8[4,3] uint8[3,5] 0.5 0.5"},
    {"com.microsoft.DynamicQuantizeMatMul", 1, "float[4,3] =uint8[3,5] 0.5"},
    {"com.microsoft.MatMulNBits", 1, "float[2,7,32] =uint8[16,1,16] =float[16]",
     "K=32 N=16 bits=4 block_size=32"},
    {"com.microsoft.MatMulBnb4", 1, "float[2,7,32] =uint8[256] =float[16]",
     "K=32 N=16 block_size=32 quant_type=0"},
    {"com.microsoft.MatMulFpQ4", 1, "float[2,7,32] =uint8[256] {32,16}"},
    {"com.microsoft.GatherBlockQuantized", 1, "=uint8[8,32] int64[3] =float[8,2]", "block_size=16 bits=8"},
    // Products
    {"MatMul com.microsoft.FusedMatMul com.microsoft.TransposeMatMul com.microsoft.FusedMatMulActivation", 1,
     "float[2,4,3] float[2,3,5]"},
    {"Gemm", 1, "float[1,3] =float[3,5] =float[5]"},
    {"com.microsoft.FusedGemm", 1, "float[4,3] =float[3,5] =float[5]", "activation=Relu"},
    {"com.microsoft.GemmFastGelu", 1, "float[4,3] =float[3,5] =float[5]"},
    {"Einsum", 12, "float[4,3] float[3,5]", "equation=ij,jk->ik"},
    {"Det com.microsoft.Inverse", 1, "float[2,4,4]"},
    // Windows
    {"Conv", 1, "float[1,2,6,6] =float[3,2,3,3] =float[3]"},
    {"com.microsoft.FusedConv", 1, "float[1,2,6,6] =float[3,2,3,3] =float[3]", "activation=Relu"},
    {"ConvTranspose", 1, "float[1,2,6,6] =float[2,3,3,3]"},
    {"DeformConv", 19, "float[1,2,6,6] =float[3,2,3,3] float[1,18,4,4]"},
    {"CausalConvWithState", 27, "float[1,2,6] =float[2,1,3] =float[2] float[1,2,2]", "", 2},
    {"AveragePool LpPool MaxPool", 1, "float[1,2,6,6]", "kernel_shape=[2,2] strides=[2,2]"},
    {"GlobalAveragePool GlobalLpPool GlobalMaxPool", 1, "float[1,2,6,6]"},
    {"MaxRoiPool", 1, "float[1,2,6,6] float[3,5]", "pooled_shape=[2,2]"},
    {"MaxUnpool", 9, "float[1,2,3,3] int64[1,2,3,3]", "kernel_shape=[2,2] strides=[2,2]"},
    {"RoiAlign", 10, "float[1,2,6,6] float[3,4] int64[3]"},
    {"Col2Im", 18, "float[1,18,16] {6,6} {3,3}"},
    // Norms
    {"BatchNormalization", 1, "float[1,3,4,4] =float[3] =float[3] =float[3] =float[3]",
     "is_test=1 consumed_inputs=[0,0,0,1,1]"},
    {"BatchNormalization", 6, "float[1,3,4,4] =float[3] =float[3] =float[3] =float[3]", "is_test=1"},
    {"BatchNormalization", 7, "float[1,3,4,4] =float[3] =float[3] =float[3] =float[3]"},
    {"InstanceNormalization", 1, "float[1,3,4,4] =float[3] =float[3]"},
    {"GroupNormalization", 18, "float[1,4,4,4] =float[2] =float[2]", "num_groups=2"},
    {"GroupNormalization", 21, "float[1,4,4,4] =float[4] =float[4]", "num_groups=2"},
    {"com.microsoft.GroupNorm", 1, "float[2,4,4,4] =float[4] =float[4]",
     "groups=2 activation=0 channels_last=1"},
    {"com.microsoft.SkipGroupNorm", 1, "float[2,4,4,4] =float[4] =float[4] float[2,4,4,4]",
     "groups=2 activation=0 channels_last=1"},
    {"LayerNormalization RMSNormalization SimplifiedLayerNormalization", 1, "float[2,4,6] =float[6]"},
    {"com.microsoft.SkipLayerNormalization com.microsoft.SkipSimplifiedLayerNormalization", 1,
     "float[2,4,6] float[2,4,6] =float[6]"},
    {"com.microsoft.EmbedLayerNormalization", 1,
     "int32[2,4] int32[2,4] =float[9,6] =float[9,6] =float[2,6] =float[6] =float[6]", "", 2},
    {"MeanVarianceNormalization", 9, "float[1,3,4,4]"},
    {"LRN", 1, "float[1,3,4,4]", "size=3"},
    {"LpNormalization Softmax LogSoftmax Hardmax", 1, "float[1,6,5]", "axis=2"},
    // Reductions
    {"ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
     "ReduceSumSquare",
     1, "float[1,6,5]", "axes=[2]"},
    {"ReduceSum", 13, "float[1,6,5] {2}"},
    {"ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd "
     "ReduceSumSquare",
     18, "float[1,6,5] {2}"},
    {"ArgMax ArgMin", 1, "float[4,6,5]", "axis=1"},
    {"CumSum CumProd", 11, "float[4,6,5] 1"},
    {"TopK", 1, "float[4,6,5]", "axis=1 k=2", 2},
    {"TopK", 10, "float[4,6,5] {2}", "axis=1", 2},
    {"NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", 12, "float[4,6,5] int64[4,5]"},
    // Places
    {"Reshape", 1, "float[4,6,5]", "shape=[4,30]"},
    {"Reshape", 5, "float[4,6,5] {4,30}"},
    {"Flatten", 1, "float[4,6,5]"},
    {"Squeeze", 1, "float[4,1,5]", "axes=[1]"},
    {"Squeeze", 13, "float[4,1,5] {1}"},
    {"Unsqueeze", 1, "float[4,5]", "axes=[1]"},
    {"Unsqueeze", 13, "float[4,5] {1}"},
    {"Transpose", 1, "float[4,1,5]", "perm=[1,0,2]"},
    {"Expand", 8, "float[4,5] {4,5}"},
    {"Tile", 1, "float[4,5] 1 0"},
    {"Tile", 6, "float[4,5] {1,1}"},
    {"Concat", 1, "float[4,5] float[2,5]", "axis=0"},
    {"Split", 1, "float[4,6]", "axis=0 split=[2,2]", 2},
    {"Split", 13, "float[4,6] {2,2}", "axis=0", 2},
    {"Slice", 1, "float[4,6]", "starts=[1] ends=[3] axes=[0]"},
    {"Slice", 10, "float[4,6] {1} {3} {0}"},
    {"Pad", 1, "float[4,6]", "paddings=[1,1,1,1]"},
    {"Pad", 2, "float[4,6]", "pads=[1,1,1,1]"},
    {"Pad com.microsoft.Pad", 11, "float[4,6] {1,1,1,1}"},
    {"com.microsoft.Pad", 1, "float[4,6] {1,1,1,1}"},
    {"CenterCropPad", 18, "float[4,6] {2,8}"},
    {"Trilu com.microsoft.Trilu", 1, "float[2,4,4]"},
    {"DepthToSpace", 1, "float[1,8,4,4]", "blocksize=2"},
    {"SpaceToDepth", 1, "float[1,2,4,4]", "blocksize=2"},
    {"ReverseSequence", 10, "float[4,6,5] int64[6]"},
    {"Upsample", 1, "float[1,2,4,4]", "width_scale=2.0 height_scale=2.0"},
    {"Upsample", 7, "float[1,2,4,4]", "scales=[1.0,1.0,2.0,2.0]"},
    {"Upsample", 9, "float[1,2,4,4] {1.0,1.0,2.0,2.0}"},
    {"Resize", 10, "float[1,2,4,4] {1.0,1.0,2.0,2.0}"},
    {"Resize", 11, "float[1,2,4,4] =float[0] {1.0,1.0,2.0,2.0}"},
    {"GridSample com.microsoft.GridSample", 1, "float[1,2,4,4] float[1,3,3,2]"},
    {"AffineGrid", 20, "float[1,2,3] {1,2,4,4}"},
    {"Gather com.microsoft.Gather", 1, "float[4,6] int64[3]"},
    {"GatherElements", 11, "float[4,6] int64[4,6]"},
    {"GatherND com.microsoft.GatherND", 1, "float[4,6] int64[3,1]"},
    {"Scatter ScatterElements", 9, "float[4,6] int64[2,6] float[2,6]"},
    {"ScatterND", 11, "float[4,6] int64[2,1] float[2,6]"},
    {"TensorScatter", 24, "float[1,2,8,4] float[1,2,1,4] int64[1]"},
    {"OneHot", 9, "int64[4] 6 {0.0,1.0}"},
    {"Compress", 9, "float[4,6] bool[4]", "axis=0"},
    {"Unique com.microsoft.Unique", 1, "float[6]"},
    {"NonZero", 9, "float[4,6]"},
    {"NonMaxSuppression", 10, "float[1,6,4] float[1,2,6] 3"},
    {"Shape Size", 1, "float[4,6]"},
    // What depends on no data
    {"Constant", 12, "", "value_floats=[1.0,2.0]"},
    {"ConstantOfShape", 9, "{4,6}"},
    {"EyeLike RandomNormalLike RandomUniformLike", 1, "float[4,6]"},
    {"RandomNormal RandomUniform", 1, "", "shape=[4,6]"},
    {"Multinomial", 7, "float[4,6]", "sample_size=2"},
    {"Range com.microsoft.Range", 1, "0 6 1"},
    {"BlackmanWindow HammingWindow HannWindow", 17, "8"},
    {"MelWeightMatrix", 17, "4 16 8000 0.0 4000.0"},
    {"DFT", 17, "float[1,8,2]", "axis=1"},
    {"DFT", 20, "float[1,8,2] - 1"},
    {"STFT", 17, "float[1,32,1] 8 - 16"},
    // Sequences
    {"RNN", 1, "float[4,2,3] =float[1,5,3] =float[1,5,5]", "hidden_size=5"},
    {"GRU", 1, "float[4,2,3] =float[1,15,3] =float[1,15,5]", "hidden_size=5"},
    {"GRU", 3, "float[4,2,3] =float[1,15,3] =float[1,15,5]", "hidden_size=5 linear_before_reset=1"},
    {"LSTM", 1, "float[4,2,3] =float[1,20,3] =float[1,20,5]", "hidden_size=5"},
    {"com.microsoft.DynamicQuantizeLSTM", 1,
     "float[4,2,3] =uint8[1,3,20] =uint8[1,5,20] - - - - - =float[1] =uint8[1] =float[1] =uint8[1]",
     "hidden_size=5"},
    {"Attention", 23, "float[1,4,6,8] float[1,2,6,8] float[1,2,6,8]"},
    {"LinearAttention", 27, "float[1,6,32] float[1,6,16] float[1,6,16]",
     "q_num_heads=4 kv_num_heads=2 update_rule=linear", 2},
    {"RotaryEmbedding", 23, "float[1,4,6,8] =float[1,6,4] =float[1,6,4]"},
    {"SwiGLU", 28, "float[2,6] float[2,6]"},
    {"com.microsoft.RotaryEmbedding", 1, "float[1,6,32] {0} =float[9,4] =float[9,4]"},
    {"com.microsoft.Attention", 1, "float[2,7,12] =float[12,36] =float[36]", "num_heads=3"},
    {"com.microsoft.QAttention", 1, "uint8[2,7,12] =uint8[12,36] =float[36] 0.5 0.5", "num_heads=3"},
    {"com.microsoft.MultiHeadAttention", 1, "float[2,7,12] float[2,5,12] float[2,5,12]", "num_heads=3"},
    {"com.microsoft.GroupQueryAttention", 1,
     "float[1,1,32] float[1,1,16] float[1,1,16] float[1,2,6,8] float[1,2,6,8] =int32[1] 7",
     "num_heads=4 kv_num_heads=2"},
    {"com.microsoft.LongformerAttention", 1,
     "float[1,4,6] =float[6,18] =float[18] float[1,4] =float[6,18] =float[18] int32[1,4]",
     "num_heads=2 window=2"},
    {"com.microsoft.RelativePositionBias", 1, "=float[32,4] 6 6", "max_distance=128"},
    {"com.microsoft.MoE", 1, "float[4,6] float[4,2] =float[2,6,8] - =float[2,8,6]"},
    {"com.microsoft.QMoE", 1, "float[4,6] float[4,2] =uint8[2,6,8] =float[2,8] - =uint8[2,8,6] =float[2,6]"},
    // Classical learning
    {"ai.onnx.ml.ArrayFeatureExtractor", 1, "float[4,6] int64[2]"},
    {"ai.onnx.ml.Binarizer ai.onnx.ml.Imputer ai.onnx.ml.Normalizer ai.onnx.ml.Scaler", 1, "float[4,6]"},
    {"ai.onnx.ml.FeatureVectorizer", 1, "float[4,6] float[4,2]", "inputdimensions=[6,2]"},
    {"ai.onnx.ml.LabelEncoder", 2, "float[4,6]", "keys_floats=[1.0] values_floats=[2.0]"},
    {"ai.onnx.ml.LinearClassifier", 1, "float[4,6]",
     "classlabels_ints=[3,5] coefficients=[0.5,0.25,1.0,-0.5,0.125,2.0] intercepts=[0.5]", 2},
    {"ai.onnx.ml.LinearRegressor", 1, "float[4,6]", "coefficients=[1.0] targets=2"},
    {"ai.onnx.ml.OneHotEncoder", 1, "int64[4]", "cats_int64s=[1,2,3]"},
    {"ai.onnx.ml.SVMRegressor", 1, "float[4,6]", "n_supports=1"},
    {"ai.onnx.ml.TreeEnsemble ai.onnx.ml.TreeEnsembleRegressor", 1, "float[4,6]", "n_targets=2"},
    // Training
    {"ai.onnx.preview.training.Adagrad ai.onnx.preview.training.Momentum", 1,
     "=float[] =int64[] float[4] float[4] float[4]", "", 2},
    {"ai.onnx.preview.training.Adam", 1, "=float[] =int64[] float[4] float[4] float[4] float[4]", "", 3},
};

std::vector<std::string> words_in(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> elements_in(const std::string& list) {
  std::vector<std::string> elements;
  std::istringstream stream(list.substr(1, list.size() - 2));
  for (std::string element; std::getline(stream, element, ',');) elements.push_back(element);
  return elements;
}

bool is_real(const std::string& text) { return text.find('.') != std::string::npos; }

std::vector<float> reals_in(const std::vector<std::string>& texts) {
  std::vector<float> values;
  for (const std::string& text : texts) values.push_back(std::stof(text));
  return values;
}

std::vector<std::int64_t> integers_in(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> values;
  for (const std::string& text : texts) values.push_back(std::stoll(text));
  return values;
}

const std::map<std::string, int> element_types{{"float", onnx::TensorProto::FLOAT},
                                               {"uint8", onnx::TensorProto::UINT8},
                                               {"int32", onnx::TensorProto::INT32},
                                               {"int64", onnx::TensorProto::INT64},
                                               {"bool", onnx::TensorProto::BOOL}};

/// A constant of numbers between 0 and 1.
onnx::TensorProto fractions(const std::string& name, const Shape& shape) {
  constexpr int different = 7;
  onnx::TensorProto tensor = zeros(name, shape, onnx::TensorProto::FLOAT);
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  tensor.clear_raw_data();
  for (std::int64_t i = 0; i < count; ++i)
    tensor.add_float_data(static_cast<float>(i % different + 1) / (different + 1));
  return tensor;
}

/// Adds an operand to the model and says its name.
std::string operand_of(const std::string& text, OnnxParts& parts) {
  const std::string name = "x" + std::to_string(parts.inputs.size() + parts.initializers.size());
  if (text == "-") return "";
  const std::size_t bracket = text.find('[');
  if (bracket == std::string::npos) {
    const bool is_list = text.front() == '{';
    const auto elements = is_list ? elements_in(text) : std::vector<std::string>{text};
    onnx::TensorProto constant =
        is_real(text) ? reals(name, reals_in(elements)) : vector_of(name, integers_in(elements));
    if (!is_list) constant.clear_dims();
    parts.initializers.push_back(constant);
    return name;
  }
  const bool is_constant = text.front() == '=';
  const Shape shape = integers_in(elements_in(text.substr(bracket)));
  const int type = element_types.at(text.substr(is_constant ? 1 : 0, bracket - (is_constant ? 1 : 0)));
  if (is_constant) {
    const bool is_list = type == onnx::TensorProto::FLOAT && !shape.empty();
    parts.initializers.push_back(is_list ? fractions(name, shape) : zeros(name, shape, type));
  } else {
    parts.inputs.push_back(tensor_value(name, Dimensions(shape.begin(), shape.end()), type));
  }
  return name;
}

onnx::AttributeProto attribute_of(const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const std::string value = text.substr(equals + 1);
  const bool is_number = value.find_first_not_of("0123456789.-") == std::string::npos;
  if (value.front() == '[' && is_real(value)) {
    onnx::AttributeProto list;
    list.set_name(name);
    list.set_type(onnx::AttributeProto::FLOATS);
    for (const float one : reals_in(elements_in(value))) list.add_floats(one);
    return list;
  }
  if (value.front() == '[') return attribute(name, integers_in(elements_in(value)));
  if (!is_number) return attribute(name, value);
  return is_real(value) ? attribute(name, std::stof(value))
                        : attribute(name, std::int64_t{std::stoll(value)});
}

onnx::ModelProto model_of_sample(const Sample& sample, std::string_view type, int operator_set) {
  OnnxParts parts;
  Names operands;
  for (const std::string& text : words_in(sample.operands)) operands.push_back(operand_of(text, parts));
  Names results;
  for (int i = 0; i < sample.results; ++i) {
    results.push_back("result" + std::to_string(i));
    parts.outputs.push_back(untyped_value(results.back()));
  }
  NodeAttributes attributes;
  for (const std::string& text : words_in(sample.attributes)) attributes.push_back(attribute_of(text));
  const std::size_t dot = type.rfind('.');
  const std::string domain(dot == std::string_view::npos ? "" : type.substr(0, dot));
  parts.nodes = {node(std::string(type.substr(dot + 1)), operands, results, attributes, domain)};
  onnx::ModelProto model = onnx_model(parts, domain.empty() ? operator_set : newest_known_set);
  if (!domain.empty()) {
    auto& set = *model.add_opset_import();
    set.set_domain(domain);
    set.set_version(operator_set);
  }
  return model;
}

onnx::ModelProto branch_sample(int operator_set) {
  const auto branch = [](const std::string& type) {
    return onnx_graph({.nodes = {node(type, {"x"}, {type})}, .outputs = {untyped_value(type)}, .name = type});
  };
  return onnx_model(
      {.nodes = {node("If", {"condition"}, {"result"},
                      {attribute("then_branch", branch("Relu")), attribute("else_branch", branch("Neg"))})},
       .inputs = {tensor_value("x", {4}), tensor_value("condition", {}, onnx::TensorProto::BOOL)},
       .outputs = {untyped_value("result")}},
      operator_set);
}

/// Set 8 has a dimension for batches, and their lengths before all others.
onnx::ModelProto scan_sample(int operator_set) {
  const bool has_batch = operator_set < 9;
  const onnx::GraphProto body =
      onnx_graph({.nodes = {node("Add", {"before", "one"}, {"after"}), node("Identity", {"after"}, {"row"})},
                  .inputs = {tensor_value("before", {4}), tensor_value("one", {4})},
                  .outputs = {tensor_value("after", {4}), tensor_value("row", {4})},
                  .name = "body"});
  const Names operands = has_batch ? Names{"", "state", "rows"} : Names{"state", "rows"};
  return onnx_model(
      {.nodes = {node("Scan", operands, {"last", "all"},
                      {attribute("body", body), attribute("num_scan_inputs", std::int64_t{1})})},
       .inputs = {tensor_value("state", has_batch ? Dimensions{1, 4} : Dimensions{4}),
                  tensor_value("rows", has_batch ? Dimensions{1, 3, 4} : Dimensions{3, 4})},
       .outputs = {untyped_value("last"), untyped_value("all")}},
      operator_set);
}

}  // namespace

std::optional<onnx::ModelProto> sample_of(std::string_view type, int operator_set) {
  if (type == "If") return branch_sample(operator_set);
  if (type == "Loop") return onnx_model(counting_loop(), operator_set);
  if (type == "Scan") return scan_sample(operator_set);
  const Sample* found = nullptr;
  for (const Sample& sample : samples) {
    const auto types = words_in(sample.types);
    const bool is_its = std::find(types.begin(), types.end(), type) != types.end();
    if (is_its && sample.from <= operator_set && (found == nullptr || sample.from >= found->from))
      found = &sample;
  }
  if (found == nullptr) return std::nullopt;
  return model_of_sample(*found, type, operator_set);
}

}  // namespace stowage::testing
