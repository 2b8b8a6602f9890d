#include "cli/tuning.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "stowage/error.h"

namespace stowage::cli {
namespace {

/// What a strategy can be told, and the strategies that obey. Others, but for auto, refuse it.
struct TuningKey {
  std::string_view key;
  std::string PlanTexts::*text;
  std::vector<std::string_view> served;
};

const std::array<TuningKey, 3>& tuning_keys() {
  static const std::array<TuningKey, 3> keys{
      {{"reuse-threshold", &PlanTexts::reuse_threshold, {"free-list", "free-list-best"}},
       {"sort", &PlanTexts::sort, {"rectangle"}},
       {"rounds", &PlanTexts::rounds, {"rectangle"}}}};
  return keys;
}

/// Throws UsageError if the strategy has no use for the key.
void expect_served(const TuningKey& key, std::string_view strategy) {
  if (strategy == "auto" || std::ranges::find(key.served, strategy) != key.served.end()) return;
  throw UsageError(fmt::format("{} of --strategy is for {} and auto, not for {}", key.key,
                               fmt::join(key.served, ", "), strategy));
}

}  // namespace

PlanTexts with_tuning(PlanTexts texts) {
  if (texts.strategy.empty()) texts.strategy = SolveOptions{}.strategy;
  const std::string given = texts.strategy;
  const std::size_t colon = given.find(':');
  texts.strategy = given.substr(0, colon);
  for (const TuningKey& key : tuning_keys())
    if (!(texts.*key.text).empty()) expect_served(key, texts.strategy);
  if (colon == std::string::npos) return texts;
  std::string* value = nullptr;
  for (const std::string_view part : base::split(std::string_view(given).substr(colon + 1), ',')) {
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos && value != nullptr) {
      *value += fmt::format(",{}", part);
      continue;
    }
    const auto key = std::ranges::find(tuning_keys(), part.substr(0, equals), &TuningKey::key);
    if (key == tuning_keys().end() || equals == std::string_view::npos || equals + 1 == part.size())
      throw UsageError(fmt::format(
          "--strategy is {}, expected NAME:KEY=VALUE,... with the keys reuse-threshold, sort and rounds",
          base::quoted(given)));
    expect_served(*key, texts.strategy);
    value = &(texts.*key->text);
    if (!value->empty())
      throw UsageError(fmt::format("--strategy {}: {} is given twice", base::quoted(given), key->key));
    *value = part.substr(equals + 1);
  }
  return texts;
}

}  // namespace stowage::cli
