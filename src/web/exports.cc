// What the worker of the page calls, and what calls the worker (report-ui/src/plan/worker.ts).

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>

#include "web/answer.h"

extern "C" {

/// Tells the worker how far the search is.
[[clang::import_module("page"), clang::import_name("progress")]] void page_progress(const char* what,
                                                                                    std::size_t size,
                                                                                    double fraction);

/// Memory for what the worker gives.
[[clang::export_name("take")]] void* page_take(std::size_t size) { return std::malloc(size); }

}  // extern "C"

namespace {

stowage::web::Answer last;

/// The next text, up to a byte 0.
std::string next(std::string_view& texts) {
  const std::size_t end = texts.find('\0');
  std::string text(texts.substr(0, end));
  texts.remove_prefix(end == std::string_view::npos ? texts.size() : end + 1);
  return text;
}

}  // namespace

extern "C" {

/// Plans a file. `fields` are texts, each with a byte 0 behind it: name, capacity, seconds, sizes, values, states, and "rows"
/// or nothing.
[[clang::export_name("plan")]] void page_plan(const char* bytes, std::size_t bytes_size, const char* fields,
                                              std::size_t fields_size) {
  std::string_view texts(fields, fields_size);
  stowage::web::Question question{.bytes = {bytes, bytes_size}};
  for (std::string* const field : {&question.name, &question.capacity, &question.seconds, &question.sizes,
                                   &question.values, &question.states})
    *field = next(texts);
  question.by_rows = next(texts) == "rows";
  last = stowage::web::answer(question, [](std::string_view what, double fraction) {
    page_progress(what.data(), what.size(), fraction);
  });
}

/// Texts of the answer: error, notes, report, plan.
[[clang::export_name("text")]] const char* page_text(std::size_t which) {
  return std::array{&last.error, &last.notes, &last.report, &last.plan}.at(which)->data();
}
[[clang::export_name("text_size")]] std::size_t page_text_size(std::size_t which) {
  return std::array{&last.error, &last.notes, &last.report, &last.plan}.at(which)->size();
}

/// Figures of the answer: peak, lower bound.
[[clang::export_name("figure")]] double page_figure(std::size_t which) {
  return static_cast<double>(std::array{last.peak, last.lower_bound}.at(which));
}

}  // extern "C"
