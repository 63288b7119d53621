#pragma once
// Private to store/: one generation of a checkpoint, a folder gen-N with manifest.json and a
// file for each vector of the state. It is written under another name and renamed when all of it
// is on the disk, so a folder of that name is complete or damaged, never unfinished.

#include <cstdint>
#include <filesystem>
#include <vector>

#include "ballast/base/error.h"
#include "ballast/server/state.h"
#include "ballast/store/file_system.h"
#include "ballast/store/manifest.h"
#include "ballast/store/save_report.h"

namespace ballast::store {

std::filesystem::path generation_folder(const std::filesystem::path& folder, std::uint64_t number);

// The numbers of the generations in the folder, the newest first.
Result<std::vector<std::uint64_t>> list_generations(const std::filesystem::path& folder,
                                                    const FileSystem& disk = operating_system());

// Writes generation `manifest.generation`: fills in the manifest's senders, numbers and vectors
// from the state and makes all of it durable. Vectors that did not change since the generation
// `source` are linked to its files; null: none are. On an error the generation does not exist, as
// far as that can be had, and the others are untouched.
Result<SaveReport> write_generation(FileSystem& disk, const std::filesystem::path& folder,
                                    Manifest& manifest, const server::ServerStateView& state,
                                    const Manifest* source);

// Both check size and checksum of all they read, and the number in the manifest.
Result<Manifest> read_manifest(const std::filesystem::path& folder, std::uint64_t number,
                               const FileSystem& disk = operating_system());
Result<server::ServerState> read_state(const std::filesystem::path& folder,
                                       const Manifest& manifest,
                                       const FileSystem& disk = operating_system());

// Whether every file of the generation is there and undamaged. Needs little memory.
Status verify_generation(const std::filesystem::path& folder, const Manifest& manifest,
                         const FileSystem& disk = operating_system());

// Removes a generation; a crash in between leaves no half of it under its name.
Status remove_generation(FileSystem& disk, const std::filesystem::path& folder,
                         std::uint64_t number);

// Removes what a crash left unfinished.
Status remove_leftovers(FileSystem& disk, const std::filesystem::path& folder);

}  // namespace ballast::store
