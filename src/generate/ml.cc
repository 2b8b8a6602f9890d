// LinearClassifier and Normalizer of ai.onnx.ml.

#include "kernels/onnx/ml.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "generate/element_loops.h"
#include "generate/text.h"

namespace stowage::generate {
namespace {

using kernels::refuse;
using kernels::onnx_ops::LinearClassifier;
using kernels::onnx_ops::PostTransform;
using kernels::onnx_ops::RowNorm;

std::string logistic_of(std::string_view x) {
  return fmt::format(
      "{0} < 0.0F ? 1.0F - 1.0F / (1.0F + expf(-fabsf({0}))) : 1.0F / (1.0F + expf(-fabsf({0})))", x);
}

/// Makes scores of a sample what they are for its user, once the label is known.
void write_transform(Writer& writer, const LinearClassifier& it) {
  const bool is_logistic = it.transform == PostTransform::logistic;
  if (it.targets == 1 && it.classes() == 2) {
    writer.line("  const float score = scores[0];");
    writer.line(fmt::format("  scores[0] = {};", is_logistic ? logistic_of("(-score)") : "1.0F - score"));
    writer.line(fmt::format("  scores[1] = {};", is_logistic ? logistic_of("score") : "score"));
  } else if (is_logistic) {
    writer.line(
        fmt::format("  for (c = 0; c < {}; c++) scores[c] = {};", it.targets, logistic_of("scores[c]")));
  } else if (it.transform == PostTransform::softmax) {
    writer.line("  const float most = scores[best];\n  float total = 0.0F;");
    writer.line(fmt::format("  for (c = 0; c < {}; c++) {{", it.targets));
    writer.line("    scores[c] = expf(scores[c] - most);\n    total = total + scores[c];\n  }");
    writer.line(fmt::format("  for (c = 0; c < {}; c++) scores[c] = scores[c] / total;", it.targets));
  }
}

void emit_linear_classifier(Writer& writer) {
  const LinearClassifier it = kernels::onnx_ops::linear_classifier_of(writer.signature());
  const std::string n = writer.number();
  Sources& sources = writer.sources();
  const std::string weights =
      sources.array("coefficients_" + n, "coefficients of operator " + n, DType::float32, it.coefficients);
  const std::string terms =
      sources.array("intercepts_" + n, "intercepts of operator " + n, DType::float32, it.intercepts);
  const std::string labels = sources.array("labels_" + n, "labels of operator " + n, DType::int64, it.labels);
  const Operand in = writer.input(0);
  expect_countable(in);
  expect_countable(writer.output(1));
  writer.need_math();
  writer.declare("int32_t i, j, c, best;");
  writer.line(fmt::format("for (i = 0; i < {}; i++) {{", it.samples));
  writer.line(fmt::format("  const {} *const from = {} + i * {};", c_type(in.dtype), in.at, it.features));
  writer.line(fmt::format("  float *const scores = {} + i * {};", writer.output(1).at, it.classes()));
  writer.line(fmt::format("  for (c = 0; c < {}; c++) {{", it.targets));
  writer.line(fmt::format("    double total = (double){}[c];", terms));
  writer.line(
      fmt::format("    for (j = 0; j < {0}; j++) total = total + (double)from[j] * (double){1}[c * {0} + j];",
                  it.features, weights));
  writer.line("    scores[c] = (float)total;\n  }");
  writer.line(it.targets == 1 ? "  best = scores[0] > 0.0F ? 1 : 0;" : "  best = 0;");
  if (it.targets != 1)
    writer.line(
        fmt::format("  for (c = 1; c < {}; c++)\n    if (scores[c] > scores[best]) best = c;", it.targets));
  writer.line(
      fmt::format("  ({})[i] = {}[{}];", writer.output(0).at, labels, it.classes() == 1 ? "0" : "best"));
  writer.line("  {");
  write_transform(writer, it);
  writer.line("  }\n}");
}

void emit_normalizer(Writer& writer) {
  const RowNorm norm = kernels::onnx_ops::row_norm_of(writer.signature());
  const Operand in = writer.input(0);
  expect_countable(in);
  if (in.count() == 0) return;
  const std::int64_t size = in.shape.back();
  writer.need_math();
  writer.declare("int32_t i, j;");
  writer.line(fmt::format("for (i = 0; i < {}; i += {}) {{", in.count(), size));
  writer.line(fmt::format("  const {} *const from = {} + i;", c_type(in.dtype), in.at));
  writer.line(fmt::format("  float *const to = {} + i;", writer.output().at));
  writer.line(fmt::format("  double by = {};", norm == RowNorm::most ? "-INFINITY" : "0.0"));
  writer.line(fmt::format("  for (j = 0; j < {}; j++) {{\n    const double x = (double)from[j];", size));
  writer.line(fmt::format("    by = {};\n  }}", norm == RowNorm::most    ? "x > by ? x : by"
                                                : norm == RowNorm::sizes ? "by + fabs(x)"
                                                                         : "by + x * x"));
  if (norm == RowNorm::squares) writer.line("  by = sqrt(by);");
  writer.line("  if (by == 0.0) by = 1.0;");
  writer.line(fmt::format("  for (j = 0; j < {}; j++) to[j] = (float)((double)from[j] / by);\n}}", size));
}

}  // namespace

EmitPart ml_operators() {
  return {{"ai.onnx.ml.LinearClassifier", emit_linear_classifier},
          {"ai.onnx.ml.Normalizer", emit_normalizer}};
}

}  // namespace stowage::generate
