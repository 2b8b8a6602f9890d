#include <stowage/planner.h>

#include <iostream>

int main() {
  const stowage::Input input = stowage::parse_input("id,lower,upper,size\na,0,2,64\nb,1,3,32\n", "list.csv");
  const stowage::PlanResult result = stowage::make_plan(input);
  std::cout << "peak " << result.plan.summary.peak << " bytes\n";
  return result.faults.empty() && result.plan.summary.peak == 96 ? 0 : 1;
}
