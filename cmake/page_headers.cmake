# Headers for the page that plans (scripts/web.sh), which another compiler makes than that of this machine. Debian keeps
# them beside the headers of its own C library, so each is taken by its name: HEADERS is a folder of links to them.
set(HEADERS "${CMAKE_BINARY_DIR}/headers")
file(MAKE_DIRECTORY "${HEADERS}")
foreach(name IN ITEMS fmt nlohmann flatbuffers protozero xxhash.h)
  if(NOT EXISTS "/usr/include/${name}")
    message(FATAL_ERROR "/usr/include/${name} is missing: scripts/packages.sh has the names of packages")
  endif()
  file(CREATE_LINK "/usr/include/${name}" "${HEADERS}/${name}" SYMBOLIC)
endforeach()
set(PROTOZERO_INCLUDE_DIR "${HEADERS}")
set(XXHASH_INCLUDE_DIR "${HEADERS}")

foreach(target IN ITEMS fmt::fmt-header-only nlohmann_json::nlohmann_json CLI11::CLI11 Threads::Threads)
  add_library(${target} INTERFACE IMPORTED)
endforeach()
target_include_directories(fmt::fmt-header-only SYSTEM INTERFACE "${HEADERS}")
target_compile_definitions(fmt::fmt-header-only INTERFACE FMT_HEADER_ONLY)
target_include_directories(nlohmann_json::nlohmann_json SYSTEM INTERFACE "${HEADERS}")
