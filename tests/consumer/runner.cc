#include <stowage/run.h>

#include <iostream>

int main() {
  stowage::Graph graph;
  graph.tensors = {{.name = "x",
                    .kind = stowage::TensorKind::input,
                    .dtype = stowage::DType::float32,
                    .shape = stowage::Shape{1, 8},
                    .bytes = 32},
                   {.name = "y",
                    .kind = stowage::TensorKind::output,
                    .dtype = stowage::DType::float32,
                    .shape = stowage::Shape{1, 8},
                    .bytes = 32}};
  graph.subgraphs = {{.name = "main",
                      .inputs = {0},
                      .outputs = {1},
                      .operators = {{.name = "relu", .type = "Relu", .inputs = {0}, .outputs = {1}}}}};
  stowage::Network network;
  network.input.content = graph;
  network.details = {{{}}};
  network.quantizations.resize(2);
  const stowage::RunResult result = stowage::run_plan(network, stowage::make_plan(network.input).plan);
  std::cout << "outputs " << result.outputs.size() << "\n";
  return result.outputs.size() == 1 ? 0 : 1;
}
