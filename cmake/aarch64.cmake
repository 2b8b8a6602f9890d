# For Linux on aarch64, with Debian's cross compiler (scripts/package.sh --arch aarch64, scripts/release.sh). CMAKE_PREFIX_PATH
# names the folder with its libraries.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
