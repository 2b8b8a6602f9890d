// stowage devices: the boards of `--device` and `stowage fit`.

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/print.h"
#include "cli/commands.h"
#include "stowage/device.h"

namespace stowage::cli {

using nlohmann::json;

ExitStatus run_devices(bool as_json) {
  const std::vector<Device> devices = known_devices();
  if (as_json) {
    json all = json::array();
    for (const std::string_view text : device_files()) all.push_back(json::parse(text));
    std::cout << all.dump(1) << '\n';
  }
  for (const Device& it : as_json ? std::vector<Device>() : devices) {
    base::print(std::cout, "{:<13}{}\n", it.name, it.title);
    for (const DeviceMemory& memory : it.memories)
      base::print(std::cout, "{:<13}  {:<11}{:>10} bytes  {}\n", "", memory.name, memory.bytes, memory.source);
    if (it.flash)
      base::print(std::cout, "{:<13}  {:<11}{:>10} bytes  {}\n", "", "flash", *it.flash, it.flash_source);
  }
  flush_output();
  return ExitStatus::done;
}

}  // namespace stowage::cli
