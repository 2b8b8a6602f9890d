#include "operator_answers.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>

#include "kernels/kernels.h"
#include "run/program.h"
#include "stowage/error.h"
#include "stowage/generate.h"
#include "stowage/planner.h"

namespace stowage::testing {
namespace {

template <typename Try>
bool succeeds(const Try& attempt) {
  try {
    attempt();
    return true;
  } catch (const Error&) {
  } catch (const UsageError&) {
  } catch (const kernels::Unsupported&) {
  }
  return false;
}

std::string aliased(const Graph& graph, const Operator& op) {
  if (!op.copies.empty()) return "copy";
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    if (in_place_output(graph, op, i)) return "in place";
  }
  return "-";
}

std::string run_by(const Network& network, std::size_t op) {
  const std::string& type = network.graph().subgraphs[0].operators[op].type;
  std::optional<run::Program> program;
  if (!succeeds([&] { program = run::make_program(network, {.kernels = KernelSet::plain}); })) return "-";
  const auto fast = kernels::dnnl_kernels().find(type);
  const bool is_fast = fast != kernels::dnnl_kernels().end() &&
                       succeeds([&] { (void)fast->second(run::signature_of(network, *program, 0, op)); });
  return is_fast ? "fast" : "yes";
}

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  EXPECT_TRUE(in.is_open()) << file;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

bool GeneratedCalls::add(const Network& network, const Plan& plan, std::string_view type) {
  Package package;
  if (!succeeds([&] { package = generate_package(network, plan, {.name = "sample"}); })) return false;
  std::string code;
  for (const GeneratedFile& file : package.files)
    if (file.path.ends_with(".c")) code += file.content;
  if (!known_.insert(code).second) return true;
  std::string name = fmt::format("{}_{}", type, packages_.count());
  for (char& letter : name)
    letter = letter == '.' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  packages_.add(name, generate_package(network, plan, {.name = name}));
  return true;
}

void GeneratedCalls::expect_right() const {
  EXPECT_GT(packages_.count(), 50U);
  for (const std::string& fault : packages_.run()) ADD_FAILURE() << fault;
}

Answers answers_about(const Network& network, std::string_view type, GeneratedCalls& calls) {
  const Graph& graph = network.graph();
  const auto& operators = graph.subgraphs[0].operators;
  auto found = std::ranges::find(operators, type, &Operator::type);
  if (found == operators.end()) {  // it becomes several, of which the first one answers
    EXPECT_GT(operators.size(), 1U) << type;
    found = operators.begin();
  }
  Answers answers{.planned = "yes"};
  answers.aliased = aliased(graph, *found);
  const bool has_rows = !found->row_axes.empty() || !found->sums_over.empty() || !found->carries.empty();
  answers.by_rows = has_rows ? "yes" : "-";
  answers.run = run_by(network, static_cast<std::size_t>(found - operators.begin()));
  const bool is_generated = !found->folded && [&] {
    Network own = network;
    add_scratch_of_kernels(own, CKernels::portable, false);
    return calls.add(own, make_plan(own.input).plan, type);
  }();
  answers.generated = is_generated ? "yes" : "-";
  return answers;
}

std::vector<Form> joined(const std::vector<Form>& forms) {
  std::vector<Form> all;
  for (const Form& form : forms) {
    if (!all.empty() && all.back().answers == form.answers) {
      all.back().name += ", " + form.name;
    } else {
      all.push_back(form);
    }
  }
  return all;
}

std::string rows_of(const std::string& type, const std::vector<Form>& forms) {
  std::ostringstream out;
  for (const auto& [name, answers] : joined(forms)) {
    out << "| " << type << " | " << name << " | " << answers.planned << " | " << answers.aliased << " | "
        << answers.by_rows << " | " << answers.run << " | " << answers.generated << " |\n";
  }
  return out.str();
}

void expect_page_has(const std::string& file, const std::string& forms_are, const std::string& rows) {
  const std::string page = text_of(file);
  const std::size_t begin = page.find("| operator |");
  ASSERT_NE(begin, std::string::npos);
  const std::string expected = page.substr(0, begin) + "| operator | " + forms_are +
                               " | planned | aliased | by rows | run | generated "
                               "|\n|---|---|---|---|---|---|---|\n" +
                               rows;
  if (std::getenv("STOWAGE_WRITE_TABLES") != nullptr) {
    std::ofstream(file) << expected;
    GTEST_SKIP() << file << " is written";
  }
  EXPECT_TRUE(page == expected) << file << " is old: run this test with STOWAGE_WRITE_TABLES=1";
}

}  // namespace stowage::testing
