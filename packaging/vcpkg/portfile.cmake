# Built from the folder that this port lies in: there is no release to download yet.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
  FEATURES
    runner STOWAGE_RUNNER)
# vcpkg has no port of isl, and oneDNN is for the runner's speed alone.
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}"
  OPTIONS ${FEATURE_OPTIONS} -DSTOWAGE_ISL=OFF -DSTOWAGE_ONEDNN=OFF -DSTOWAGE_TESTS=OFF
          "-DFLATC=${CURRENT_HOST_INSTALLED_DIR}/tools/flatbuffers/flatc")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME stowage CONFIG_PATH lib/cmake/stowage)
vcpkg_copy_tools(TOOL_NAMES stowage AUTO_CLEAN)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
