#include "export/drawing.h"

namespace stowage::exporting {

std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        // Other control characters have no place in XML at all.
        result += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
    }
  }
  return result;
}

std::int64_t step_of_marks(std::int64_t range, std::int64_t count, std::int64_t base) {
  std::int64_t step = 1;
  while (range / step > count * base) step *= base;
  while (range / step > count) step *= 2;
  return step;
}

}  // namespace stowage::exporting
