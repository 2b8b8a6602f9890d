# Writes OUTPUT: the JSON files FILES (separated by commas) as text, for src/cli/devices.h.
string(REPLACE "," ";" files "${FILES}")
set(content "#include \"cli/devices.h\"\n\nnamespace stowage::cli {\n\nstd::vector<std::string_view> device_files() {\n  return {\n")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  string(APPEND content "R\"device(${text})device\",\n")
endforeach()
string(APPEND content "};\n}\n\n}  // namespace stowage::cli\n")
file(WRITE "${OUTPUT}" "${content}")
