#pragma once
// The subcommands of the program. Each adds its flags to the command line and, once that is parsed
// and its turn comes, does its work; errors come back as values and are printed in one place.

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "ballast/base/error.h"

namespace ballast::apps {

// What to do after parsing; set by the subcommand that was named.
using Action = std::function<Status()>;

void add_list_command(CLI::App& app, Action& action);
void add_aggregate_command(CLI::App& app, Action& action);
void add_bench_command(CLI::App& app, Action& action);
void add_bench_train_command(CLI::App& bench, Action& action);
void add_bench_serve_command(CLI::App& bench, Action& action);
void add_train_command(CLI::App& app, Action& action);
void add_reproduce_command(CLI::App& app, Action& action);
void add_arena_command(CLI::App& app, Action& action);
void add_serve_command(CLI::App& app, Action& action);
void add_work_command(CLI::App& app, Action& action);
void add_cluster_command(CLI::App& app, Action& action);
void add_export_command(CLI::App& app, Action& action);
void add_evaluate_command(CLI::App& app, Action& action);
void add_top_command(CLI::App& app, Action& action);
void add_data_command(CLI::App& app, Action& action);
void add_ca_command(CLI::App& app, Action& action);
void add_inspect_command(CLI::App& app, Action& action);
// `failure_code` is what the program ends with if the action returns an error: kExitUsage, unless
// the command has done what it was asked and the answer is no.
void add_verify_command(CLI::App& app, Action& action, int& failure_code);
void add_simulate_command(CLI::App& app, Action& action, int& failure_code);

// Exit codes of the program.
inline constexpr int kExitFailure = 1;  // ours: a bug, a claim that does not hold, or the machine
inline constexpr int kExitUsage = 2;    // yours: wrong input, file or flag
inline constexpr int kExitInterrupted = 130;  // Ctrl-C, as shells count it

// Writes the error to standard error: in one line, or on a terminal with the text it points into.
void print_error(const std::string& message);

// Writes to standard output; an error if that fails, as on a full disk or a closed pipe.
Status print(const std::string& text);

}  // namespace ballast::apps
