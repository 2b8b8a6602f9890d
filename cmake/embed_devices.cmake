# Writes OUTPUT: the JSON files FILES (separated by commas) as text, for include/stowage/device.h.
string(REPLACE "," ";" files "${FILES}")
set(content "#include \"stowage/device.h\"\n\nnamespace stowage {\n\nstd::vector<std::string_view> device_files() {\n  return {\n")
foreach(file IN LISTS files)
  file(READ "${file}" text)
  string(APPEND content "R\"device(${text})device\",\n")
endforeach()
string(APPEND content "};\n}\n\n}  // namespace stowage\n")
file(WRITE "${OUTPUT}" "${content}")
