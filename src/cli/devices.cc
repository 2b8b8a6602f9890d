// stowage devices: the boards of `--device` and `stowage fit`.

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/print.h"
#include "cli/commands.h"
#include "stowage/device.h"
#include "stowage/error.h"

namespace stowage::cli {

using nlohmann::json;

ExitStatus run_devices(const std::string& name, bool as_json) {
  std::vector<Device> devices = known_devices();
  if (name.ends_with(".json")) throw UsageError("devices takes the name of a device that it lists, no file");
  if (!name.empty()) devices = {device_named(name)};
  if (as_json) {
    json all = json::array();
    for (const std::string_view text : device_files()) {
      json file = json::parse(text);
      const bool is_shown =
          std::ranges::any_of(devices, [&](const Device& it) { return file.at("name") == it.name; });
      if (is_shown) all.push_back(std::move(file));
    }
    std::cout << (name.empty() ? all : all.at(0)).dump(1) << '\n';
    devices.clear();
  }
  for (const Device& it : devices) {
    base::print(std::cout, "{:<13}{}\n", it.name, it.title);
    for (const DeviceMemory& memory : it.memories)
      base::print(std::cout, "{:<13}  {:<11}{:>10} bytes  {}\n", "", memory.name, memory.bytes,
                  memory.source);
    if (it.flash)
      base::print(std::cout, "{:<13}  {:<11}{:>10} bytes  {}\n", "", "flash", *it.flash, it.flash_source);
  }
  flush_output();
  return ExitStatus::done;
}

}  // namespace stowage::cli
