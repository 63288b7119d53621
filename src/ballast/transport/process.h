#pragma once
// What a program that serves or works should do once, at the beginning of its main().

namespace ballast::transport {

// Tells the allocator to keep what is freed. Buffers of a chunk's size come and go all the time,
// and a snapshot with every step; giving their pages back to the operating system and getting them
// again costs more than moving the bytes: with 10 million values, a third of the processor time of
// a push. For the whole process, therefore not done by the library itself. Does nothing where the C
// library has no such setting.
void keep_freed_memory() noexcept;

}  // namespace ballast::transport
