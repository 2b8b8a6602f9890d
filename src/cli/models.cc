#include "cli/models.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::cli {
namespace {

NamedFile parse_model(const std::string& text) {
  const std::size_t equals = text.find('=');
  std::error_code ignored;
  if (equals == std::string::npos || std::filesystem::exists(text, ignored)) return {"", text};
  if (equals == 0 || equals + 1 == text.size())
    throw UsageError(fmt::format("model is {}, expected FILE or NAME=FILE", base::quoted(text)));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// The stem, or the first of `stem-2`, `stem-3`, ... that is not taken.
std::string default_name(const std::string& file, const std::set<std::string>& taken) {
  const std::string stem = std::filesystem::path(file).stem().string();
  std::string name = stem;
  for (std::size_t i = 2; taken.contains(name); ++i) name = fmt::format("{}-{}", stem, i);
  return name;
}

}  // namespace

std::vector<NamedFile> parse_models(const std::vector<std::string>& texts) {
  std::vector<NamedFile> models;
  std::set<std::string> taken;
  for (const std::string& text : texts) {
    models.push_back(parse_model(text));
    const std::string& name = models.back().name;
    if (!name.empty() && !taken.insert(name).second)
      throw UsageError(
          fmt::format("two models are called {}, expected a name of its own for each", base::quoted(name)));
  }
  for (NamedFile& model : models) {
    if (!model.name.empty()) continue;
    model.name = default_name(model.file, taken);
    taken.insert(model.name);
  }
  return models;
}

}  // namespace stowage::cli
