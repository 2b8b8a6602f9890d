// Plans know the sizes that they are for, so nobody has to give them again: an open size of a model is an axis of an
// input, and the plan has the shape of that input. It also has the values of inputs that decide sizes.

#include "cli/plan_sizes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <variant>

#include "base/text.h"
#include "cli/models.h"
#include "cli/size_search.h"
#include "stowage/error.h"
#include "stowage/import.h"
#include "stowage/open_sizes.h"

namespace stowage::cli {
namespace {

/// A size in the plan.
struct PlannedSize {
  std::string name{};  ///< As --dim takes it.
  std::int64_t most = 0;
  bool is_open = false;
  std::optional<SizeSymbol> range{};  ///< That the plan has of it, by its name in the model.
};

/// What a model leaves open; nothing if it cannot be read without more than sizes.
std::vector<OpenSize> open_sizes_of(const ReadModel& read, std::size_t model, ImportOptions options) {
  options.dims.clear();
  try {
    read(model, options);
  } catch (const OpenSizesError& open) {
    return open.sizes();
  } catch (const UsageError&) {  // reading it with all options says what is wrong
  } catch (const Error&) {
  }
  return {};
}

std::optional<PlannedSize> size_in(const Plan& plan, std::size_t model, const OpenSize& size) {
  for (const OpenSize::Place& place : size.places) {
    for (const PlannedTensor& it : plan.tensors) {
      const Tensor& tensor = it.tensor;
      if (it.model != model || tensor.name != place.tensor || is_constant(tensor.kind) || !tensor.shape ||
          place.axis >= tensor.shape->size())
        continue;
      const bool is_open = std::ranges::find(tensor.open, place.axis, &OpenExtent::axis) != tensor.open.end();
      return PlannedSize{size.name, (*tensor.shape)[place.axis], is_open};
    }
  }
  return std::nullopt;
}

std::vector<PlannedSize> sizes_of(const Plan& plan, const std::vector<NamedFile>& models,
                                  const ReadModel& read, const ModelTexts& texts) {
  std::vector<PlannedSize> sizes;
  ModelTexts others = texts;
  others.dims.clear();
  const std::vector<ImportOptions> options = parse_options_of(models, others);
  for (std::size_t m = 0; m < models.size(); ++m) {
    for (const OpenSize& open : open_sizes_of(read, m, options[m])) {
      std::optional<PlannedSize> size = size_in(plan, m, open);
      if (!size) continue;
      const std::vector<SizeSymbol>& ranges = plan.models[m].ranges;
      const auto range = std::ranges::find(ranges, size->name, &SizeSymbol::name);
      if (range != ranges.end() && range->most == size->most) size->range = *range;
      if (models.size() > 1) size->name = models[m].name + "." + size->name;
      sizes.push_back(*std::move(size));
    }
  }
  return sizes;
}

/// Whether the given size lies within the plan's, as a number. Throws UsageError if it is another one.
bool is_within(const PlannedSize& planned, const GivenSize& given, const std::string& text) {
  const bool is_range = given.least && *given.least < given.most;
  const auto refuse = [&](std::string_view but) {
    throw UsageError(fmt::format("--dim {} differs from the plan, which is for {}{}{}", base::visible(text),
                                 base::visible(planned.name), but, planned.most));
  };
  if (!planned.is_open && (is_range || given.most != planned.most)) refuse("=");
  if (planned.is_open && (is_range ? given.most != planned.most : given.most > planned.most))
    refuse(" up to ");
  if (planned.range && !is_range) {
    const SizeSymbol& range = *planned.range;
    if (given.most < range.least) refuse(fmt::format(" from {} up to ", range.least));
    if ((given.most - range.least) % range.step != 0)
      refuse(fmt::format(" from {} in steps of {} up to ", range.least, range.step));
  }
  return planned.is_open && !is_range;
}

/// The texts, with the values of inputs that the plan has, unless they are given.
ModelTexts with_values_of(const Plan& plan, const std::vector<NamedFile>& models, const ModelTexts& texts) {
  ModelTexts all = texts;
  for (const PlannedTensor& it : plan.tensors) {
    if (it.tensor.value.empty()) continue;
    const std::string name = (models.size() > 1 ? models[it.model].name + "." : "") + it.tensor.name;
    const bool is_given = std::ranges::any_of(texts.values, [&](const std::string& text) {
      return parse_assignment("--value", text).first == name;
    });
    if (is_given) continue;
    std::vector<std::string> elements;
    for (const Number& number : it.tensor.value)
      elements.push_back(std::visit([](auto element) { return fmt::format("{}", element); }, number));
    all.values.push_back(fmt::format("{}={}", name, fmt::join(elements, ",")));
  }
  return all;
}

std::string range_of(const PlannedSize& size, const std::vector<NamedFile>& models, const ReadModel& read,
                     const ModelTexts& texts) {
  if (size.range)
    return fmt::format("{}={}..{}:{}", size.name, size.range->least, size.range->most, size.range->step);
  const auto accepts = [&](const GivenSize& tried) {
    ModelTexts own = texts;
    own.dims.push_back(fmt::format("{}={}", size.name, in_digits(tried)));
    try {
      const std::vector<ImportOptions> options = parse_options_of(models, own);
      for (std::size_t m = 0; m < models.size(); ++m) read(m, options[m]);
      return true;
    } catch (const UsageError&) {
      return false;
    } catch (const Error&) {
      return false;
    }
  };
  const GivenSize all(std::min<std::int64_t>(1, size.most), size.most);
  if (accepts(all)) return fmt::format("{}={}", size.name, in_digits(all));
  return fmt::format("{}={}", size.name, in_digits(accepted_range(accepts, all).value_or(all)));
}

}  // namespace

PlannedSizes sizes_in(const Plan& plan, const std::vector<std::string>& models, const ModelTexts& texts) {
  const std::vector<NamedFile> files = parse_models(models);
  const auto read = [&](std::size_t m, const ImportOptions& options) {
    (void)read_input(files[m].file, options);
  };
  return sizes_in(plan, files, read, texts);
}

PlannedSizes sizes_in(const Plan& plan, const std::vector<NamedFile>& models, const ReadModel& read,
                      const ModelTexts& given_texts) {
  if (models.size() != plan.models.size())
    return {.texts = given_texts, .range = given_texts};  // the checker says so
  const ModelTexts texts = with_values_of(plan, models, given_texts);
  PlannedSizes found{.texts = texts, .range = texts};
  std::vector<PlannedSize> ranges;
  const auto give = [&](ModelTexts& to, const PlannedSize& size) {
    to.dims.push_back(fmt::format("{}={}", size.name, size.most));
  };
  for (const PlannedSize& size : sizes_of(plan, models, read, texts)) {
    const auto given = std::ranges::find_if(texts.dims, [&](const std::string& text) {
      return parse_assignment("--dim", text).first == size.name;
    });
    if (given == texts.dims.end()) {
      if (size.is_open) {
        ranges.push_back(size);
      } else {
        give(found.texts, size);
        give(found.range, size);
      }
      continue;
    }
    ModelTexts alone;
    alone.dims = {*given};
    if (!is_within(size, parse_model_options(alone).dims.begin()->second, *given)) continue;
    found.is_within = true;
    std::erase(found.range.dims, *given);
    ranges.push_back(size);
  }
  // While the smallest size of one range is looked for, all others are at their largest.
  ModelTexts at_largest = found.range;
  for (const PlannedSize& size : ranges) give(at_largest, size);
  for (const PlannedSize& size : ranges) {
    ModelTexts others = at_largest;
    std::erase(others.dims, fmt::format("{}={}", size.name, size.most));
    const std::string range = range_of(size, models, read, others);
    found.range.dims.push_back(range);
    const bool is_given = std::ranges::any_of(texts.dims, [&](const std::string& text) {
      return parse_assignment("--dim", text).first == size.name;
    });
    if (is_given) continue;
    if (found.is_within) {
      give(found.texts, size);
    } else {
      found.texts.dims.push_back(range);
    }
  }
  return found;
}

}  // namespace stowage::cli
