#include "export/json.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace stowage::exporting {
namespace {

/// The library leaves U+007F to U+009F as they are, which a terminal obeys.
std::string without_controls(std::string json) {
  const auto next_from = [&](std::size_t at) { return json.find_first_of("\x7f\xc2", at); };
  std::string result;
  std::size_t done = 0;
  for (std::size_t at = next_from(0); at != std::string::npos; at = next_from(at + 1)) {
    const std::size_t length = json[at] == '\x7f' ? 1 : 2;
    const auto value = static_cast<unsigned char>(json[at + length - 1]);
    if (value >= 0xa0) continue;
    result.append(json, done, at - done).append(fmt::format("\\u{:04x}", value));
    done = at + length;
  }
  return done == 0 ? std::move(json) : result.append(json, done);
}

}  // namespace

std::string dump(const Json& json) {
  return without_controls(json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

Json json_of(const SizeSymbol& size) {
  return {{"name", size.name}, {"least", size.least}, {"most", size.most}, {"step", size.step}};
}

void add_given(const Tensor& tensor, Json& json) {
  for (const OpenExtent& open : tensor.open) json["open"].push_back({open.axis, open.symbol});
  for (const Number& element : tensor.value)
    std::visit([&](const auto it) { json["value"].push_back(it); }, element);
}

}  // namespace stowage::exporting
