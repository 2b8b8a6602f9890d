// Files that say what memories a board has (docs/device.schema.json).

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/nearest.h"
#include "base/text.h"
#include "stowage/device.h"
#include "stowage/error.h"

namespace stowage {
namespace {

using nlohmann::json;

void expect_members(const json& object, const std::string& place,
                    std::initializer_list<std::string_view> known) {
  if (!object.is_object()) throw Error(place, "is no object");
  for (const auto& [name, value] : object.items())
    if (std::ranges::find(known, name) == known.end())
      throw Error(place, fmt::format("has the unknown member {}", base::quoted(name)));
}

std::string text_in(const json& object, const std::string& place, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string() || found->get<std::string>().empty())
    throw Error(place, fmt::format("has no text {}", base::quoted(name)));
  return found->get<std::string>();
}

std::int64_t number_in(const json& object, const std::string& place, const std::string& name,
                       std::int64_t least) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer() || found->get<std::int64_t>() < least ||
      found->get<std::int64_t>() > largest_value)
    throw Error(place, fmt::format("has no whole number {} of at least {}", base::quoted(name), least));
  return found->get<std::int64_t>();
}

std::optional<std::int64_t> bandwidth_in(const json& it, const std::string& place) {
  if (!it.is_object() || !it.contains("bandwidth")) return std::nullopt;
  return number_in(it, place, "bandwidth", 1);
}

/// Costs are given, or follow from bandwidths: a byte of the fastest memory costs 1.
DeviceMemory memory_in(const json& it, const std::string& place,
                       std::optional<std::int64_t> bandwidth_of_first) {
  expect_members(it, place, {"name", "bytes", "reserved", "granule", "source", "cost", "bandwidth"});
  DeviceMemory memory{.name = text_in(it, place, "name"),
                      .bytes = number_in(it, place, "bytes", 1),
                      .source = text_in(it, place, "source")};
  if (it.contains("reserved")) memory.reserved = number_in(it, place, "reserved", 0);
  if (memory.reserved > memory.bytes) throw Error(place, "has fewer bytes than are reserved");
  if (it.contains("granule")) memory.granule = number_in(it, place, "granule", 1);
  if (it.contains("cost")) memory.cost = number_in(it, place, "cost", 0);
  if (const auto bandwidth = bandwidth_in(it, place); bandwidth && it.contains("cost")) {
    throw Error(place, "has a cost and a bandwidth, expected one of them");
  } else if (bandwidth && bandwidth_of_first) {
    memory.cost = std::max<std::int64_t>(
        1, std::llround(static_cast<double>(*bandwidth_of_first) / static_cast<double>(*bandwidth)));
  } else if (bandwidth) {
    throw Error(place, "has a bandwidth, and the first memory none");
  }
  const auto is_plain = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9');
  };
  if (!std::ranges::all_of(memory.name, is_plain))
    throw Error(place, fmt::format("name is {}, expected letters and digits", base::quoted(memory.name)));
  return memory;
}

Device parse_device(std::string_view text) {
  const json document = json::parse(text, nullptr, false);
  if (document.is_discarded()) throw Error("", "is no JSON, expected a device (docs/device.schema.json)");
  expect_members(document, "",
                 {"format", "version", "name", "title", "pointer_bits", "memories", "flash", "note"});
  if (text_in(document, "", "format") != "stowage-device") throw Error("/format", "expected stowage-device");
  if (number_in(document, "", "version", 1) != 1) throw Error("/version", "expected 1");
  Device device{.name = text_in(document, "", "name"), .title = text_in(document, "", "title")};
  if (document.contains("pointer_bits"))
    device.pointer_bits = static_cast<int>(number_in(document, "", "pointer_bits", 32));
  if (device.pointer_bits != 32 && device.pointer_bits != 64)
    throw Error("/pointer_bits", "expected 32 or 64");
  if (document.contains("note")) device.note = text_in(document, "", "note");
  const auto memories = document.find("memories");
  if (memories == document.end() || !memories->is_array() || memories->empty() || memories->size() > 2)
    throw Error("/memories", "expected one memory, or a fast one and a slow one");
  const std::optional<std::int64_t> bandwidth = bandwidth_in((*memories)[0], "/memories/0");
  for (std::size_t m = 0; m < memories->size(); ++m)
    device.memories.push_back(memory_in((*memories)[m], fmt::format("/memories/{}", m), bandwidth));
  if (const auto flash = document.find("flash"); flash != document.end()) {
    expect_members(*flash, "/flash", {"bytes", "source"});
    device.flash = number_in(*flash, "/flash", "bytes", 1);
    device.flash_source = text_in(*flash, "/flash", "source");
  }
  return device;
}

/// What tells boards apart: not upper and lower case, '-' and '_'. "ESP32-S3" is "esp32s3".
std::string letters_of(std::string_view name) {
  std::string letters;
  for (const char it : name) {
    if (it != '-' && it != '_') letters += it >= 'A' && it <= 'Z' ? static_cast<char>(it - 'A' + 'a') : it;
  }
  return letters;
}

}  // namespace

std::vector<Device> known_devices() {
  std::vector<Device> devices;
  for (const std::string_view text : device_files()) devices.push_back(parse_device(text));
  std::ranges::sort(devices, {}, &Device::name);
  return devices;
}

Device device_named(const std::string& name) {
  if (name.ends_with(".json")) {
    const base::InputFile file(name);
    try {
      return parse_device(file.bytes());
    } catch (const Error& error) {
      throw error.in_file(name);
    }
  }
  std::vector<std::string> names;
  for (Device& it : known_devices()) {
    if (letters_of(it.name) == letters_of(name)) return std::move(it);
    names.push_back(it.name);
  }
  throw UsageError(fmt::format("the device is {}, expected FILE.json or one that `stowage devices` lists{}",
                               base::quoted(name), base::did_you_mean(name, names)));
}

std::vector<Memory> memories_of(const Device& device) {
  std::vector<Memory> memories;
  for (const DeviceMemory& it : device.memories)
    memories.push_back(
        {.name = it.name, .capacity = it.bytes - it.reserved, .cost = it.cost, .granule = it.granule});
  return memories;
}

}  // namespace stowage
