# Libraries that come without a CMake package, or with one that asks for more than we use (oneDNN's asks for OpenCL).

# The target stowage::NAME, if library and header are found.
function(stowage_find_library name header)
  find_library(STOWAGE_${name}_LIBRARY ${name})
  find_path(STOWAGE_${name}_INCLUDE_DIR ${header})
  mark_as_advanced(STOWAGE_${name}_LIBRARY STOWAGE_${name}_INCLUDE_DIR)
  if(NOT STOWAGE_${name}_LIBRARY OR NOT STOWAGE_${name}_INCLUDE_DIR OR TARGET stowage::${name})
    return()
  endif()
  add_library(stowage::${name} UNKNOWN IMPORTED GLOBAL)
  set_target_properties(stowage::${name} PROPERTIES
    IMPORTED_LOCATION "${STOWAGE_${name}_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${STOWAGE_${name}_INCLUDE_DIR}")
endfunction()
