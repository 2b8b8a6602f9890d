// Operators with bodies, which their importers know, and those on lists of tensors and on optional ones.
// These are not planned, but a tensor may come out of one.

#include "operators/families.h"
#include "operators/shapes.h"

namespace stowage::operators {

std::span<const Facts> control_family() {
  static constexpr Facts rows[] = {
      {.onnx = "If", .tflite = "IF", .results = Results::of_branch},
      {.onnx = "Loop", .results = Results::carried, .carried = 2},
      {.onnx = "Scan"},
      {.onnx = "SequenceMap"},
      {.onnx = "ai.onnx.preview.training.Gradient"},
      {.tflite = "ASSIGN_VARIABLE"},
      {.tflite = "CALL_ONCE"},
      {.tflite = "READ_VARIABLE"},
      {.tflite = "WHILE", .results = Results::carried},
      {.onnx = "ConcatFromSequence", .shape = shapes::joined_sequence, .inputs = 1},
      {.onnx = "Optional", .shape = shapes::optional},
      {.onnx = "OptionalGetElement", .shape = shapes::element_of_first, .inputs = 1},
      {.onnx = "OptionalHasElement", .shape = shapes::truth},
      {.onnx = "SequenceAt", .shape = shapes::element_of_first, .inputs = 1},
      {.onnx = "SequenceConstruct", .shape = shapes::sequence_of_inputs, .inputs = 1},
      {.onnx = "SequenceEmpty", .shape = shapes::empty_sequence},
      {.onnx = "SequenceErase", .shape = shapes::shorter_sequence, .inputs = 1},
      {.onnx = "SequenceInsert", .shape = shapes::longer_sequence, .inputs = 1},
      {.onnx = "SequenceLength", .shape = shapes::whole_number, .inputs = 1},
      {.onnx = "SplitToSequence", .shape = shapes::sequence_of_first, .inputs = 1},
  };
  return rows;
}

}  // namespace stowage::operators
