#pragma once
// Private to records/: runs one of the embedded matplotlib scripts.

#include <filesystem>
#include <string>
#include <string_view>

#include "ballast/base/error.h"
#include "ballast/data/program.h"

namespace ballast::records {

struct Drawing {
  std::string stem;         // of the pictures
  std::string_view script;  // python3 SCRIPT DATA.json STEM leaves STEM.png and STEM.svg
  std::string data;         // JSON
};

// Draws STEM.png and STEM.svg into the folder, which is made where it is missing. An error says
// what is missing, and nothing is written then.
Status draw(const std::filesystem::path& folder, const Drawing& drawing,
            const data::ProgramRunner& run);

}  // namespace ballast::records
