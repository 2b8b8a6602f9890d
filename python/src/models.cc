#include "models.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <type_traits>
#include <variant>

#include "cli/models.h"
#include "cli/option_table.h"
#include "stowage/join.h"

namespace nb = nanobind;

namespace stowage::python {
namespace {

/// The name in Python: time_limit for time-limit.
std::string python_name(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '-', '_');
  return text;
}

std::string text_of(nb::handle value) { return nb::str(value).c_str(); }

std::vector<cli::NamedFile> files_of(const std::vector<Source>& sources) {
  std::vector<cli::NamedFile> named;
  for (const Source& source : sources) named.push_back({source.name, source.file});
  return named;
}

std::vector<ImportOptions> import_options(const std::vector<Source>& sources, const cli::ModelTexts& texts) {
  return cli::parse_options_of(files_of(sources), texts);
}

Input read_source(const Source& source, const ImportOptions& options) {
  return source.content ? parse_input(*source.content, source.file, options)
                        : read_input(source.file, options);
}

}  // namespace

std::vector<Source> sources_from(const nb::list& models) {
  std::vector<Source> sources;
  for (const nb::handle model : models) {
    const auto entry = nb::cast<nb::tuple>(model);
    Source source{text_of(entry[0]), text_of(entry[1]), std::nullopt};
    if (!entry[2].is_none()) {
      const auto bytes = nb::cast<nb::bytes>(entry[2]);
      source.content.emplace(bytes.c_str(), bytes.size());
    }
    sources.push_back(std::move(source));
  }
  return sources;
}

std::vector<FeedNames> shared_states(const std::vector<Source>& sources, const cli::ModelTexts& texts) {
  return cli::shared_states(files_of(sources), texts);
}

Texts texts_from(const nb::dict& options) {
  Texts texts;
  for (const auto& [name, value] : options) {
    const auto row = std::ranges::find(cli::planning_options(), std::string(nb::str(name).c_str()),
                                       [](const cli::OptionRow& it) { return python_name(it.name); });
    const auto take = [&](auto& target) {
      using Value = std::remove_reference_t<decltype(target)>;
      if constexpr (std::is_same_v<Value, bool>) {
        target = true;
      } else if constexpr (std::is_same_v<Value, std::string>) {
        target = text_of(value);
      } else {
        for (const nb::handle item : nb::cast<nb::list>(value)) target.push_back(text_of(item));
      }
    };
    std::visit(
        [&](const auto field) {
          if constexpr (std::is_invocable_v<decltype(field), cli::PlanTexts&>) {
            take(texts.plan.*field);
          } else {
            take(texts.model.*field);
          }
        },
        row->field);
  }
  return texts;
}

nb::list option_names() {
  nb::list rows;
  for (const cli::OptionRow& row : cli::planning_options()) {
    const char* const kind = std::visit(
        [](const auto field) {
          using Member = std::remove_const_t<decltype(field)>;
          if (std::is_same_v<Member, bool cli::PlanTexts::*> ||
              std::is_same_v<Member, bool cli::ModelTexts::*>)
            return "flag";
          return std::is_same_v<Member, std::string cli::PlanTexts::*> ||
                         std::is_same_v<Member, std::string cli::ModelTexts::*>
                     ? "text"
                     : "list";
        },
        row.field);
    rows.append(nb::make_tuple(python_name(row.name), kind));
  }
  return rows;
}

bool plans_weights(const std::vector<Memory>& memories) {
  return std::any_of(memories.begin(), memories.end(),
                     [](const Memory& memory) { return memory.role == MemoryRole::weights; });
}

std::vector<Input> read_inputs(const std::vector<Source>& sources, const cli::ModelTexts& texts,
                               bool constants, bool rows) {
  if (!texts.joins.empty()) return cli::inputs_of(read_networks(sources, texts));
  std::vector<ImportOptions> options = import_options(sources, texts);
  std::vector<Input> inputs;
  for (std::size_t m = 0; m < sources.size(); ++m) {
    const Source& source = sources[m];
    options[m].constants = constants || sources.size() > 1;
    Input input = read_source(source, options[m]);
    const ModelFormat format = input.info.format;
    if (rows && (format == ModelFormat::onnx || format == ModelFormat::tflite)) {
      Network network = source.content ? parse_network(*source.content, source.file, options[m])
                                       : read_network(source.file, options[m]);
      input = std::move(network.input);
    }
    input.info.name = source.name;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

cli::WantedSizes wanted_sizes(const cli::GivenPlan& given, const std::vector<Source>& sources,
                              const cli::ModelTexts& texts) {
  const auto read = [&](std::size_t m, const ImportOptions& options) {
    (void)read_source(sources[m], options);
  };
  return cli::wanted_sizes(given, files_of(sources), read, texts);
}

void expect_states(const Plan& plan, const std::vector<Source>& sources, const cli::ModelTexts& texts) {
  cli::expect_states(plan, files_of(sources), texts);
}

std::vector<Network> read_networks(const std::vector<Source>& sources, const cli::ModelTexts& texts) {
  const std::vector<ImportOptions> options = import_options(sources, texts);
  std::vector<Network> networks;
  for (std::size_t m = 0; m < sources.size(); ++m) {
    const Source& source = sources[m];
    networks.push_back(source.content ? parse_network(*source.content, source.file, options[m])
                                      : read_network(source.file, options[m]));
    networks.back().input.info.name = source.name;
  }
  if (!texts.joins.empty()) return join_networks(std::move(networks), cli::parse_joins(texts));
  return networks;
}

}  // namespace stowage::python
