#include "cli/commands.h"

int main(int argc, char** argv) { return stowage::cli::run_command_line(argc, argv); }
