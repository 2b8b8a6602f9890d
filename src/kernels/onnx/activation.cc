#include "kernels/onnx/activation.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "kernels/onnx/operands.h"

namespace stowage::kernels::onnx_ops {
namespace {

/// A function, and its number of parameters.
struct Known {
  std::string_view name;
  double (*function)(double x, double alpha, double beta);
  int parameters;
  double alpha;
  double beta;
};

const std::array<Known, 11> known_functions{{
    {"affine", [](double x, double a, double b) { return a * x + b; }, 2, 1, 0},
    {"elu", [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }, 1, 1, 0},
    {"hardsigmoid", [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }, 2, 0.2,
     0.5},
    {"leakyrelu", [](double x, double a, double) { return x < 0 ? a * x : x; }, 1, 0.01, 0},
    {"relu", [](double x, double, double) { return x < 0 ? 0 : x; }, 0, 0, 0},
    {"scaledtanh", [](double x, double a, double b) { return a * std::tanh(b * x); }, 2, 1, 1},
    {"sigmoid", [](double x, double, double) { return 1 / (1 + std::exp(-x)); }, 0, 0, 0},
    {"softplus", [](double x, double, double) { return std::log1p(std::exp(x)); }, 0, 0, 0},
    {"softsign", [](double x, double, double) { return x / (1 + std::abs(x)); }, 0, 0, 0},
    {"tanh", [](double x, double, double) { return std::tanh(x); }, 0, 0, 0},
    {"thresholdedrelu", [](double x, double a, double) { return x > a ? x : 0; }, 1, 1, 0},
}};

std::string lowered(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name;
}

/// The functions of one direction of a network that names none.
std::vector<std::string> usual_activations(std::int64_t gates) {
  if (gates == 1) return {"Tanh"};
  if (gates == 3) return {"Sigmoid", "Tanh"};
  return {"Sigmoid", "Tanh", "Tanh"};
}

/// The names listed for all directions, or the usual ones of each.
std::vector<std::string> names_of(const Signature& signature, const std::vector<std::string>& usual,
                                  std::size_t directions) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < directions; ++i) names.insert(names.end(), usual.begin(), usual.end());
  return signature.attributes.texts("activations", std::move(names));
}

}  // namespace

bool has_usual_activations(const Signature& signature, std::int64_t gates) {
  const std::vector<std::string> usual = usual_activations(gates);
  const std::vector<std::string> names = names_of(signature, usual, 1);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (lowered(names[i]) != lowered(usual[i % usual.size()])) return false;
  return true;
}

std::vector<Activation> activations_of(const Signature& signature, std::int64_t gates,
                                       std::size_t directions) {
  const std::vector<std::string> usual = usual_activations(gates);
  const auto alphas = signature.attributes.reals("activation_alpha", {});
  const auto betas = signature.attributes.reals("activation_beta", {});
  std::size_t alpha = 0;
  std::size_t beta = 0;
  std::vector<Activation> result;
  for (const std::string& name : names_of(signature, usual, directions)) {
    const auto known = std::find_if(known_functions.begin(), known_functions.end(),
                                    [&](const Known& it) { return it.name == lowered(name); });
    if (known == known_functions.end()) refuse("there is no activation {}", name);
    Activation activation{
        .function = known->function, .alpha = known->alpha, .beta = known->beta, .name = known->name};
    // Only functions with parameters use the lists.
    if (known->parameters > 0 && alpha < alphas.size())
      activation.alpha = static_cast<double>(alphas[alpha++]);
    if (known->parameters > 1 && beta < betas.size()) activation.beta = static_cast<double>(betas[beta++]);
    result.push_back(activation);
  }
  if (result.size() != usual.size() * directions)
    refuse("{} activations, expected {}", result.size(), usual.size() * directions);
  return result;
}

}  // namespace stowage::kernels::onnx_ops
