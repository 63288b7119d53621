#pragma once
// Event files that TensorBoard shows: each evaluation becomes scalars over the step t.
//
// A file is a sequence of framed records: the length (8 bytes, little endian), its masked checksum,
// the bytes, their masked checksum. The bytes are a protobuf message Event{1: wall_time, 2: step,
// 3: file_version, 5: Summary{1: Value{1: tag, 2: simple_value}...}}, encoded by hand: three
// messages do not pay for a protobuf compiler.

#include <filesystem>
#include <string>

#include "ballast/base/error.h"
#include "ballast/records/records.h"

namespace ballast::records {

// One frame with the scalars of the evaluation: test/accuracy, test/loss, train/loss,
// byzantine/updates, staleness/mean and staleness/max. Wall times are in seconds since 1970.
std::string event_frame(const EvaluationRecord& evaluation, double wall_time);

// The whole file of a run that began at the wall time.
//
// Determinism: a function of the record and the wall time.
std::string event_file(const RunRecord& record, double start_wall_time);

// Writes folder/RUN-seedK/events.out.tfevents.ballast, all of it or nothing; writing a run again
// replaces its file. TensorBoard shows each of these folders as one run.
Status write_event_file(const std::filesystem::path& folder, const RunRecord& record,
                        double start_wall_time);

}  // namespace ballast::records
