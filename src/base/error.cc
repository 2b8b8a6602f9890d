#include "stowage/error.h"

#include <utility>

#include "base/text.h"

namespace stowage {
namespace {

std::string join(const std::string& file, const std::string& place, const std::string& problem) {
  std::string message;
  for (const std::string* part : {&file, &place}) {
    if (!part->empty()) message += base::visible(*part) + ": ";
  }
  return message + base::visible_lines(problem);
}

}  // namespace

Error::Error(std::string place, std::string problem) : Error({}, std::move(place), std::move(problem)) {}

Error::Error(std::string file, std::string place, std::string problem)
    : std::runtime_error(join(file, place, problem)),
      file_(std::move(file)),
      place_(std::move(place)),
      problem_(std::move(problem)) {}

NotApplicable::NotApplicable(const std::string& strategy, std::string obstacle)
    : UsageError("strategy " + strategy + " " + obstacle), obstacle_(std::move(obstacle)) {}

Error Error::in_file(const std::string& file) const {
  return Error(file_.empty() ? file : file_, place_, problem_);
}

}  // namespace stowage
