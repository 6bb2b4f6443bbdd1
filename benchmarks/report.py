#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes report.json and the plots of what leasehold_bench has measured, and prints each figure beside its bar."""
import argparse
import json
import operator
import pathlib
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402: after the choice above
import matplotlib.ticker  # noqa: E402

AT_LEAST, AT_MOST = (">=", operator.ge), ("<=", operator.le)
BARS = {
    "floor_ratio_rollback_full": (AT_LEAST, 0.95),
    "floor_ratio_wal_full": (AT_LEAST, 0.95),
    "floor_ratio_cpu": (AT_LEAST, 0.80),
    "batch_100_ratio": (AT_LEAST, 0.85),
    "enqueue_many_rate": (AT_LEAST, 0.85),
    "finish_and_claim_gain": (AT_LEAST, 1.7),
    "group_commit_gain_1": (AT_LEAST, 0.97),
    "group_commit_gain_8": (AT_LEAST, 6),
    "group_commit_gain_32": (AT_LEAST, 18),
    "group_commit_gain_8_wal": (AT_LEAST, 5),
    "group_commit_gain_32_wal": (AT_LEAST, 16),
    "processes_4_over_1_rollback": (AT_LEAST, 0.85),
    "processes_4_over_1_wal": (AT_LEAST, 0.85),
    "processes_4_share_rollback": (AT_LEAST, 0.8),
    "processes_4_share_wal": (AT_LEAST, 0.8),
    "processes_4_p99_over_p50_rollback": (AT_MOST, 10),
    "processes_4_p99_over_p50_wal": (AT_MOST, 10),
    "open_under_load_ms": (AT_MOST, 1000),
    "growth_ready": (AT_MOST, 1.25),
    "growth_finished": (AT_MOST, 1.25),
    "growth_delayed": (AT_MOST, 1.25),
    "growth_leased": (AT_MOST, 1.25),
    "growth_queues": (AT_MOST, 1.25),
    "growth_empty": (AT_MOST, 1.25),
    "payload_16mib_written": (AT_MOST, 1048576),
    "memory_rate": (AT_LEAST, 1000000),
    "rules_ns": (AT_MOST, 5),
    "rules_allocations": (AT_MOST, 0),
    "rss_1m_mib": (AT_MOST, 32),
    "include_ratio": (AT_MOST, 1.8),
    "wake_median_ms_beyond_claim": (AT_MOST, 2),
    "wake_p99_ms": (AT_MOST, 20),
    "idle_core_percent": (AT_MOST, 1),
    "idle_reads": (AT_MOST, 50),
    "stop_ms": (AT_MOST, 200),
    "dead_rows_longest_hold_ms": (AT_MOST, 100),
    "postgres_claim_finish_ratio": (AT_LEAST, 0.8),
    "postgres_over_shortest_ratio": (AT_LEAST, 0.6),
    "postgres_group_gain_8": (AT_LEAST, 3),
    "postgres_batch_100_gain": (AT_LEAST, 10),
    "postgres_growth_ready": (AT_MOST, 1.5),
    "postgres_growth_finished": (AT_MOST, 1.5),
    "postgres_growth_delayed": (AT_MOST, 1.5),
    "postgres_growth_leased": (AT_MOST, 1.5),
    "postgres_old_snapshot_ratio": (AT_MOST, 5),
}

# What Google Benchmark says of each benchmark beside its figures.
NOT_A_FIGURE = {"name", "family_index", "per_family_instance_index", "run_name", "run_type", "repetitions",
                "repetition_index", "threads", "iterations", "real_time", "cpu_time", "time_unit"}

BATCHES, THREADS, PROCESSES = (1, 10, 100, 1000), (1, 2, 4, 8, 16, 32), (1, 2, 4, 8)
BACKLOGS, KINDS = (1000, 10_000, 100_000, 1_000_000), ("ready", "finished", "delayed", "leased")
JOURNALS = {"wal": "write-ahead log", "rollback": "rollback journal"}
COLOURS = ("#1f5fa8", "#c2571a", "#3b8a4d", "#7a4fa3")


def figures_of(path):
    """The figures of all benchmarks; an error of any ends the program."""
    benchmarks = json.loads(path.read_text())["benchmarks"]
    errors = [f"{each['name']}: {each['error_message']}" for each in benchmarks if each.get("error_occurred")]
    if errors:
        sys.exit("could not be measured:\n  " + "\n  ".join(errors))
    return {name: value for each in benchmarks for name, value in each.items() if name not in NOT_A_FIGURE}


def include_figures(compiler, rounds=9):
    """How long a unit that includes the library takes to compile, and one that includes what any such would."""
    units = {
        "include_ours_seconds": ["leasehold/leasehold.hpp"],
        "include_standard_seconds": ["chrono", "string", "optional", "vector", "span"],
    }
    took = {name: [] for name in units}
    with tempfile.TemporaryDirectory() as folder:
        for round_number in range(rounds + 1):
            for name, headers in units.items():
                source = pathlib.Path(folder, name + ".cpp")
                source.write_text("".join(f"#include <{header}>\n" for header in headers))
                start = time.perf_counter()
                subprocess.run([*shlex.split(compiler), "-c", source, "-o", source.with_suffix(".o")], check=True)
                if round_number > 0:  # the first one reads the headers from the disk
                    took[name].append(time.perf_counter() - start)
    ours, standard = took.values()
    figures = {name: statistics.median(times) for name, times in took.items()}
    figures["include_ratio"] = statistics.median(map(operator.truediv, ours, standard))
    return figures


def print_table(figures):
    print(f"\n{'figure':36}{'measured':>14}   bar")
    for name, ((sign, holds), bar) in BARS.items():
        if name.startswith("postgres_") and name not in figures:
            print(f"{name:36}{'not measured: no PostgreSQL':>14}")
            continue
        met = "met" if holds(figures[name], bar) else "MISSED"
        print(f"{name:36}{figures[name]:14,.4g}   {sign} {bar:<10,} {met}")
    print()
    for name in sorted(figures.keys() - BARS.keys()):
        print(f"{name:52}{figures[name]:14,.4g}")


def draw(path, x_axis, ticks, lines, log_rates):
    """Draws lines of rates, each a name and one rate for each of `ticks`."""
    figure, axes = plt.subplots(figsize=(7, 4))
    for (name, rates), colour in zip(lines, COLOURS):
        axes.plot(ticks, rates, marker="o", markersize=5, linewidth=2, color=colour, label=name)
    axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axes.set_xlabel(x_axis)
    axes.set_ylabel("jobs claimed and finished a second")
    if log_rates:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    else:
        axes.set_ylim(0, 1.1 * max(rate for _, rates in lines for rate in rates))
    axes.yaxis.set_major_formatter(matplotlib.ticker.StrMethodFormatter("{x:,.0f}"))
    axes.minorticks_off()
    axes.grid(axis="y", color="#dddddd")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def draw_all(figures, folder):
    """Draws what the docs show."""
    plt.rcParams.update({"svg.hashsalt": "leasehold", "font.size": 12})
    folder.mkdir(parents=True, exist_ok=True)
    by_batch = {1: "floor_ratio_wal_full", 10: "batch_10_ratio", 100: "batch_100_ratio", 1000: "batch_1000_ratio"}
    sides = {"ours": "leasehold", "floor": "SQLite alone, the same SQL"}
    draw(folder / "batch_size.svg", "jobs in a transaction (write-ahead log, FULL)", BATCHES,
         [(name, [figures[f"{by_batch[size]}_{side}_per_second"] for size in BATCHES]) for side, name in sides.items()],
         log_rates=True)
    draw(folder / "threads.svg", "threads on one queue (group commit, FULL)", THREADS,
         [(name, [figures[f"threads_{count}_rate_{journal}"] for count in THREADS])
          for journal, name in JOURNALS.items()], log_rates=True)
    draw(folder / "processes.svg", "processes on one file (one job a transaction, FULL)", PROCESSES,
         [(name, [figures[f"processes_{count}_rate_{journal}"] for count in PROCESSES])
          for journal, name in JOURNALS.items()], log_rates=False)
    draw(folder / "backlog.svg", "other rows in the file (write-ahead log, no syncs)", BACKLOGS,
         [(kind, [figures[f"backlog_{rows}_rate_{kind}"] for rows in BACKLOGS]) for kind in KINDS], log_rates=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measured", type=pathlib.Path, required=True, help="what leasehold_bench has written")
    parser.add_argument("--compiler", required=True, help="the compiler with its flags")
    parser.add_argument("--to", type=pathlib.Path, required=True, help="the folder for report.json and plots/")
    arguments = parser.parse_args()

    figures = figures_of(arguments.measured) | include_figures(arguments.compiler)
    report = arguments.to / "report.json"
    report.write_text(json.dumps(figures, indent=2, sort_keys=True) + "\n")
    draw_all(figures, arguments.to / "plots")
    print_table(figures)


if __name__ == "__main__":
    main()
