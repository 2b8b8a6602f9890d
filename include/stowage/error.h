/// Example:
///
///     try {
///       throw stowage::Error("tensor 'x'", "size is -4, expected at least 0");
///     } catch (const stowage::Error& error) {
///       const stowage::Error located = error.in_file("model.onnx");
///       // model.onnx: tensor 'x': size is -4, expected at least 0
///       return std::string(located.what()).starts_with("model.onnx: tensor 'x'") ? 0 : 1;
///     }
#pragma once

#include <stdexcept>
#include <string>

namespace stowage {

/// Input that is rejected. The message names the file, the place in it, the value that is wrong
/// and what was expected. Running out of time or not fitting is a result, never an Error.
class Error : public std::runtime_error {
 public:
  /// `place` is where in the file ("line 3", "tensor 'x'"), empty when it is the whole file;
  /// `problem` says the value and what was expected.
  Error(std::string place, std::string problem);

  /// The same error, with the file it was found in put in front, unless it has one already.
  [[nodiscard]] Error in_file(const std::string& file) const;

 private:
  Error(std::string file, std::string place, std::string problem);

  std::string file_;
  std::string place_;
  std::string problem_;
};

/// An option that makes no sense by itself or for this input: a strategy nobody knows, a bound for
/// a tensor the model does not have.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A strategy that was asked for by name and cannot serve the problem.
class NotApplicable : public UsageError {
 public:
  /// `obstacle` says why, so that "strategy NAME obstacle" is a sentence.
  NotApplicable(const std::string& strategy, std::string obstacle);

  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }

 private:
  std::string obstacle_;
};

}  // namespace stowage
