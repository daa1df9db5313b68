// Where the libraries are that the engine loads on demand: beside its own.
#pragma once

#include <string>

namespace lockstep {

/// Returns the folder of liblockstep_engine.so.
std::string engine_folder();

}  // namespace lockstep
