// TFLite_Detection_PostProcess: a call, with scratch memory in which boxes are ordered.

#include "generate/detection.h"

#include <fmt/format.h>

#include <string>

#include "generate/element_loops.h"
#include "generate/sources.h"
#include "generate/text.h"
#include "kernels/tflite/detection.h"

namespace stowage::generate {
namespace {

using kernels::Detections;

constexpr Bytes alignment_of_detections = sizeof(float);

Bytes bytes_for(const Detections& it) {
  constexpr Bytes of_candidate = 8;
  constexpr Bytes of_box = 16;
  return it.boxes * of_candidate + (it.is_by_class ? it.boxes_of_class() * of_box : 0);
}

std::string affine_text(const std::optional<kernels::Affine>& bytes) {
  const kernels::Affine it = bytes.value_or(kernels::Affine{});
  return fmt::format("{{{}, {}}}", literal(it.scale), it.zero_point);
}

void emit_detections(Writer& writer) {
  const Detections it = kernels::detections_of(writer.signature());
  const std::string scratch = writer.needed_scratch(bytes_for(it), alignment_of_detections);
  for (std::size_t i = 0; i < 3; ++i) expect_countable(writer.input(i));
  expect_countable(writer.output());
  writer.need("stowage_detect");
  const std::string layer = writer.layer(
      "stowage_detection_layer",
      fmt::format("{}, {}, {}, {}, {}, /* boxes, their numbers; scores, the first of a class, classes */\n"
                  "    {}, {}, {}, {}, {},\n    {{{}, {}, {}, {}}},\n    {}, {}, {}, {}, {},\n",
                  it.boxes, it.length, it.columns, it.first, it.classes, it.most, it.classes_per_box,
                  it.boxes_of_class(), literal(it.least_score), literal(it.largest_share),
                  literal(it.scales[0]), literal(it.scales[1]), literal(it.scales[2]), literal(it.scales[3]),
                  it.box_bytes ? 1 : 0, it.score_bytes ? 1 : 0, affine_text(it.box_bytes),
                  affine_text(it.anchor_bytes), affine_text(it.score_bytes)));
  writer.line(fmt::format("stowage_detect{}(&{}, {}, {}, {}, {}, {}, {}, {}, {});",
                          it.is_by_class ? "_by_class" : "", layer, writer.input(0).at, writer.input(1).at,
                          writer.input(2).at, writer.output().at, writer.output(1).at, writer.output(2).at,
                          writer.output(3).at, scratch));
}

}  // namespace

Bytes detection_scratch(const kernels::Signature& signature) {
  return bytes_for(kernels::detections_of(signature));
}

EmitPart detection_operators() { return {{"TFLite_Detection_PostProcess", emit_detections}}; }

}  // namespace stowage::generate
