/// Example:
///
///     try {
///       throw stowage::Error("tensor 'x'", "size is -4, expected at least 0");
///     } catch (const stowage::Error& error) {
///       const stowage::Error located = error.in_file("model.onnx");
///       // model.onnx: tensor 'x': size is -4, expected at least 0
///       return std::string(located.what()).starts_with("model.onnx: tensor 'x'") && located.place() == "tensor 'x'"
///                  ? 0 : 1;
///     }
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace stowage {

/// A rejected input. The message names the file, the place in it, the wrong value and what was expected.
/// Running out of time or memory is a result, never an Error.
class Error : public std::runtime_error {
 public:
  /// `place` is the place in the file ("line 3", "tensor 'x'"); empty means the whole file. `problem` gives
  /// the value and what was expected.
  Error(std::string place, std::string problem);

  /// The same error, prefixed with the name of the file unless it already has one.
  [[nodiscard]] Error in_file(const std::string& file) const;

  /// The parts of the message; the file and the place may be empty.
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::string& place() const { return place_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 protected:
  Error(std::string file, std::string place, std::string problem);

 private:
  std::string file_;
  std::string place_;
  std::string problem_;
};

/// A file, or standard output, that cannot be written: no fault of the input.
class OutputError : public Error {
 public:
  OutputError(std::string file, std::string problem) : Error(std::move(file), {}, std::move(problem)) {}
};

/// An option that is wrong by itself or for this input, such as an unknown strategy or a bound for a tensor
/// that the model does not have.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The requested strategy does not apply to the problem.
class NotApplicable : public UsageError {
 public:
  /// `obstacle` is the reason; "strategy NAME obstacle" must be a sentence.
  NotApplicable(const std::string& strategy, std::string obstacle);

  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }

 private:
  std::string obstacle_;
};

}  // namespace stowage
