#include "player.h"

#include <algorithm>

namespace stowage::campaign {

Player::Player(const Networks& networks, const Plan& plan, Findings& findings, ReplayTally& tally)
    : graphs_(networks.graphs), plan_(plan), machine_(networks, plan, findings, tally) {
  for (const Clock& clock : plan.clocks)
    for (const Step& step : clock.steps) {
      if (const auto* arrive = std::get_if<Arrive>(&step)) passing_.insert(arrive->tensor);
      if (const auto* leave = std::get_if<Leave>(&step)) passing_.insert(leave->tensor);
    }
}

const Operator& Player::operator_of(const Run& run) const {
  const std::size_t subgraph = run.path[run.path.size() - 2];
  return graphs_[run.model].subgraphs[subgraph].operators[run.path.back()];
}

std::string Player::words_for(const Run& run) const {
  std::string words = "step " + std::to_string(now_) + ", operator '" + operator_of(run).name + "'";
  if (run.rows) words += " rows " + std::to_string(run.rows->begin) + ".." + std::to_string(run.rows->end);
  return words;
}

void Player::step(const Step& step) {
  ++now_;
  ++machine_.tally().steps;
  if (const auto* copy = std::get_if<Copy>(&step)) return machine_.copy(*copy);
  if (const auto* arrive = std::get_if<Arrive>(&step)) return hand_over(*arrive);
  if (const auto* leave = std::get_if<Leave>(&step)) return take(*leave);
  const auto& run = std::get<Run>(step);
  Progress& progress = progress_[{run.model, run.path}];
  if (progress.begun_at == 0) progress.begun_at = now_;
  if (progress.runs == 0) progress.done_at = now_;  // Rows may be run again when all were there once.
  if (!run.rows) return run_whole(run);
  const Operator& op = operator_of(run);
  if (run.part) return run_part(run);
  if (run.sums || sums_up_at_once(run, op)) return run_sums(run);
  run_rows(run);
}

/// Of an operator that can do both, rows without sums are of its outputs, unless they are all of its input.
bool Player::sums_up_at_once(const Run& run, const Operator& op) const {
  const std::size_t axis = run.rows->axis;
  if (std::find(op.sums_over.begin(), op.sums_over.end(), axis) == op.sums_over.end()) return false;
  const bool has_axis = std::any_of(op.row_axes.begin(), op.row_axes.end(),
                                    [&](const RowAxis& candidate) { return candidate.axis == axis; });
  const Shape& shape = *graphs_[run.model].tensors[*op.inputs[0]].shape;
  return !has_axis ||
         (run.rows->begin == 0 && run.rows->end == shape[axis] && rows_of(run, op) != shape[axis]);
}

void Player::read_inputs(const Run& run, const Operator& op, Reading& reading) {
  const Graph& graph = graphs_[run.model];
  if (!only_copies(graph, op)) {
    for (std::size_t k = 0; k < op.inputs.size(); ++k)
      if (op.inputs[k])
        machine_.read(run.model, *op.inputs[k], machine_.all_bytes(run.model, *op.inputs[k]), words_for(run),
                      &reading, k);
    return;
  }
  // Of what it passes on it needs just those bytes, of other operands all.
  for (std::size_t k = 0; k < op.inputs.size(); ++k) {
    if (!op.inputs[k]) continue;
    std::set<Bytes> wanted;
    bool is_copied = false;
    for (const ByteCopy& copy : op.copies) {
      if (copy.input != k) continue;
      is_copied = true;
      if (!op.outputs[copy.output]) continue;
      for (Bytes i = 0; i < copy.size; ++i) wanted.insert(copy.from + i);
    }
    const std::vector<Bytes> bytes = is_copied ? std::vector<Bytes>(wanted.begin(), wanted.end())
                                               : machine_.all_bytes(run.model, *op.inputs[k]);
    machine_.read(run.model, *op.inputs[k], bytes, words_for(run), &reading, k);
  }
}

void Player::write_outputs(const Run& run, const Operator& op, const Reading& reading) {
  for (std::size_t k = 0; k < op.outputs.size(); ++k)
    if (op.outputs[k])
      machine_.write(run.model, *op.outputs[k], machine_.all_bytes(run.model, *op.outputs[k]), words_for(run),
                     {.op = &op, .output = k, .reading = &reading});
  machine_.check_endings(run.model, op, reading, words_for(run));
  for (const auto& output : op.outputs)
    if (output)
      machine_.read(run.model, *output, machine_.all_bytes(run.model, *output),
                    words_for(run) + " (its own output)");
}

void Player::run_whole(const Run& run) {
  const Operator& op = operator_of(run);
  ++progress_[{run.model, run.path}].runs;
  Reading reading;
  read_inputs(run, op, reading);
  for (const TensorId scratch : op.scratch) machine_.scribble(run.model, scratch, words_for(run));
  if (!op.scratch.empty()) {
    Reading again;
    read_inputs(run, op, again);
  }
  write_outputs(run, op, reading);
}

void Player::begin_bodies(const Run& run) {
  ++now_;
  const Operator& op = operator_of(run);
  Progress& progress = progress_[{run.model, run.path}];
  progress.begun_at = progress.begun_at == 0 ? now_ : progress.begun_at;
  Reading reading;
  read_inputs(run, op, reading);
  // Results and scratch are held from here to the end of the last body.
  for (const TensorId scratch : op.scratch) machine_.scribble(run.model, scratch, words_for(run));
  for (const auto& output : op.outputs)
    if (output) machine_.scribble(run.model, *output, words_for(run));
}

void Player::end_bodies(const Run& run) {
  const Operator& op = operator_of(run);
  for (const TensorId scratch : op.scratch) machine_.scribble(run.model, scratch, words_for(run));
  Progress& progress = progress_[{run.model, run.path}];
  ++progress.runs;
  progress.done_at = now_;
  Reading reading;
  read_inputs(run, op, reading);
  write_outputs(run, op, reading);
}

void Player::begin_body(const Run& first) {
  const Subgraph& body = graphs_[first.model].subgraphs[first.path[first.path.size() - 2]];
  for (const TensorId input : body.inputs)
    machine_.write(first.model, input, machine_.all_bytes(first.model, input), "body '" + body.name + "'");
}

void Player::end_body(const Run& last) {
  const Subgraph& body = graphs_[last.model].subgraphs[last.path[last.path.size() - 2]];
  for (const TensorId output : body.outputs)
    machine_.read(last.model, output, machine_.all_bytes(last.model, output),
                  "the end of body '" + body.name + "'");
}

void Player::give_inputs(std::size_t model) {
  const Graph& graph = graphs_[model];
  std::set<TensorId> not_given;
  for (const StateTie& tie : graph.ties) not_given.insert(tie.input);
  for (const Feed& feed : plan_.feeds)
    if (plan_.tensors[feed.input].model == model) not_given.insert(machine_.tensor_of(feed.input));
  for (const TensorId input : graph.subgraphs[0].inputs)
    if (!not_given.contains(input) && !has_passages(model, input)) machine_.give(model, input);
}

void Player::take_outputs(std::size_t model) {
  for (const TensorId output : graphs_[model].subgraphs[0].outputs)
    if (!has_passages(model, output))
      machine_.read(model, output, machine_.all_bytes(model, output), "the caller, at the end,");
}

void Player::give_lasting(std::size_t clock) {
  for (std::size_t m = 0; m < graphs_.size(); ++m)
    for (TensorId t = 0; t < graphs_[m].tensors.size(); ++t) {
      const auto place = machine_.place_of(m, t);
      if (!place) continue;
      const std::vector<View>& views = plan_.tensors[*place].views;
      if (views.empty() || plan_.buffers[views[0].buffer].clock != clock) continue;
      const auto& ties = graphs_[m].ties;
      const bool is_state =
          graphs_[m].tensors[t].kind == TensorKind::state ||
          std::any_of(ties.begin(), ties.end(), [&](const StateTie& tie) { return tie.input == t; });
      if (is_state || is_constant(graphs_[m].tensors[t].kind)) machine_.give(m, t);
    }
}

void Player::finish() { check_order(); }

}  // namespace stowage::campaign
