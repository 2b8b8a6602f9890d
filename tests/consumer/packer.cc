#include <stowage/problem.h>

#include <algorithm>
#include <iostream>

namespace {

bool do_meet(const stowage::Lifetime& a, const stowage::Lifetime& b) {
  return a.lower < b.upper && b.lower < a.upper;
}

/// Whether no two buffers of one piece hold a common byte at one position.
bool are_apart(const stowage::Problem& problem, const stowage::Solution& solution) {
  for (std::size_t b = 0; b < problem.buffers.size(); ++b) {
    for (std::size_t a = 0; a < b; ++a) {
      if (!do_meet(problem.buffers[a].pieces[0].life, problem.buffers[b].pieces[0].life)) continue;
      const stowage::Bytes low = solution.places[a].offset;
      const stowage::Bytes other = solution.places[b].offset;
      if (low < other + problem.buffers[b].size && other < low + problem.buffers[a].size) return false;
    }
  }
  return true;
}

}  // namespace

int main() {
  stowage::Problem problem;
  problem.memories = {{.name = "arena"}};
  for (stowage::Position i = 0; i < 20; ++i) {
    const stowage::Bytes size = 16 * (1 + i % 5);
    problem.buffers.push_back(
        {.id = "b" + std::to_string(i), .size = size, .pieces = {{0, size, {i, i + 1 + i % 3}}}});
  }
  const stowage::Solution solution = stowage::solve(problem);
  const stowage::Bytes peak = stowage::peak_of(problem, solution, 0);
  std::cout << "packed into " << peak << " bytes by " << solution.strategy << "\n";
  return are_apart(problem, solution) && peak >= stowage::max_load(problem.buffers) ? 0 : 1;
}
