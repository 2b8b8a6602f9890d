#include "models.h"

#include <algorithm>
#include <map>
#include <variant>

#include "cli/models.h"

namespace nb = nanobind;

namespace stowage::python {
namespace {

using Target = std::variant<std::string*, std::vector<std::string>*, bool*>;

std::map<std::string_view, Target> targets_of(Texts& texts) {
  cli::PlanTexts& plan = texts.plan;
  cli::ModelTexts& model = texts.model;
  return {{"strategy", &plan.strategy},
          {"io", &plan.io},
          {"order", &plan.order},
          {"alias", &plan.alias},
          {"moves", &plan.moves},
          {"stream", &plan.stream},
          {"axes", &plan.axes},
          {"blocks", &plan.blocks},
          {"granule", &plan.granule},
          {"recompute", &plan.recompute},
          {"layout", &plan.layout},
          {"memory", &plan.memories},
          {"capacity", &plan.capacity},
          {"align", &plan.align},
          {"time_limit", &plan.time_limit},
          {"effort", &plan.effort},
          {"threads", &plan.threads},
          {"seed", &plan.seed},
          {"reuse_threshold", &plan.reuse_threshold},
          {"sort", &plan.sort},
          {"rounds", &plan.rounds},
          {"run", &plan.run},
          {"feed", &plan.feeds},
          {"release", &plan.released},
          {"near", &plan.near},
          {"banks", &plan.banks},
          {"dim", &model.dims},
          {"shape", &model.shapes},
          {"bound", &model.bounds},
          {"state", &model.states},
          {"scratch", &model.scratch}};
}

std::string text_of(nb::handle value) { return nb::str(value).c_str(); }

std::vector<ImportOptions> import_options(const std::vector<Source>& sources, const cli::ModelTexts& texts) {
  std::vector<cli::NamedFile> named;
  for (const Source& source : sources) named.push_back({source.name, source.file});
  return cli::parse_options_of(named, texts);
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

Texts texts_from(const nb::dict& options) {
  Texts texts;
  const auto targets = targets_of(texts);
  for (const auto& [name, value] : options) {
    const Target& target = targets.at(nb::str(name).c_str());
    if (auto* const* flag = std::get_if<bool*>(&target)) {
      **flag = true;
    } else if (auto* const* text = std::get_if<std::string*>(&target)) {
      **text = text_of(value);
    } else {
      for (const nb::handle item : nb::cast<nb::list>(value))
        std::get<std::vector<std::string>*>(target)->push_back(text_of(item));
    }
  }
  return texts;
}

bool plans_weights(const std::vector<Memory>& memories) {
  return std::any_of(memories.begin(), memories.end(),
                     [](const Memory& memory) { return memory.role == MemoryRole::weights; });
}

std::vector<Input> read_inputs(const std::vector<Source>& sources, const cli::ModelTexts& texts,
                               bool constants, bool rows) {
  std::vector<ImportOptions> options = import_options(sources, texts);
  std::vector<Input> inputs;
  for (std::size_t m = 0; m < sources.size(); ++m) {
    const Source& source = sources[m];
    options[m].constants = constants || sources.size() > 1;
    Input input = source.content ? parse_input(*source.content, source.file, options[m])
                                 : read_input(source.file, options[m]);
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

std::vector<Network> read_networks(const std::vector<Source>& sources, const cli::ModelTexts& texts) {
  const std::vector<ImportOptions> options = import_options(sources, texts);
  std::vector<Network> networks;
  for (std::size_t m = 0; m < sources.size(); ++m) {
    const Source& source = sources[m];
    networks.push_back(source.content ? parse_network(*source.content, source.file, options[m])
                                      : read_network(source.file, options[m]));
    networks.back().input.info.name = source.name;
  }
  return networks;
}

}  // namespace stowage::python
