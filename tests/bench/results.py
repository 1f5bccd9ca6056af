"""From what the programs print to medians, spread, ratios, the table and the CSV file."""

import collections
import csv
import statistics

CSV_COLUMNS = ["workload", "system", "median", "min", "max", "ratio_to_erlang"]

# One program's measured run: value is operations per second, or bytes per operation.
# latency: of workloads that do one operation at a time, the median and the 99th percentile in microseconds; else None.
Run = collections.namedtuple("Run", "value capacity latency", defaults=(None,))
Row = collections.namedtuple("Row", "workload system median min max ratio_to_erlang ratio_to_caf capacity latency",
                             defaults=(None,))


class WrongRun(Exception):
    """A run that does not count: its text says why."""


def parse_run(line, workload):
    """The Run that a program's output line says. WrongRun when it is not one, or counted wrongly."""
    fields = dict(part.partition("=")[::2] for part in line.split())
    try:
        name, capacity = fields["workload"], fields["capacity"]
        count, seconds, size = int(fields["count"]), float(fields["seconds"]), int(fields["bytes"])
        latency = (float(fields["median_us"]), float(fields["p99_us"])) if "median_us" in fields else None
    except (KeyError, ValueError):
        raise WrongRun(f"its output is not a measurement: {line.strip()!r}") from None
    if name != workload.name or count != workload.operations:
        raise WrongRun(f"wrong count: {count} of {name}, should be {workload.operations} of {workload.name}")
    measured = size if workload.by_bytes else seconds
    if measured <= 0:
        raise WrongRun(f"it measured nothing: {line.strip()!r}")
    return Run(size / count if workload.by_bytes else count / seconds, capacity, latency)


def rows_of(workload, runs):
    """A Row for each system of `runs`, {system: [Run]}; systems without a run have none."""
    medians = {system: statistics.median(run.value for run in done) for system, done in runs.items() if done}

    def ratio(system, peer):
        return medians[system] / medians[peer] if peer in medians else None

    rows = []
    for system in medians:
        values = [run.value for run in runs[system]]
        rows.append(Row(workload, system, medians[system], min(values), max(values), ratio(system, "erlang"),
                        ratio(system, "caf"), runs[system][0].capacity, _latency(runs[system])))
    return rows


def _latency(runs):
    """The medians of the runs' medians and 99th percentiles."""
    latencies = [run.latency for run in runs if run.latency is not None]
    return tuple(statistics.median(figures) for figures in zip(*latencies)) or None


def _value(workload, value):
    return f"{value:,.0f} B" if workload.by_bytes else f"{value / 1e6:.3f} M/s"


def _ratio(ratio):
    return "" if ratio is None else f"{ratio:.2f}"


def table(rows):
    """Lines for people. Rates are better when larger, bytes when smaller."""
    cells = [("workload", "per", "system", "median", "min", "max", "/erlang", "/caf", "mailbox capacity")]
    for row in rows:
        workload = row.workload
        cells.append((workload.name, workload.operation, row.system, _value(workload, row.median),
                      _value(workload, row.min), _value(workload, row.max), _ratio(row.ratio_to_erlang),
                      _ratio(row.ratio_to_caf), row.capacity))
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    left = {0, 1, 2}
    lines = []
    for line in cells:
        lines.append("  ".join(text.ljust(width) if column in left else text.rjust(width)
                               for column, (text, width) in enumerate(zip(line, widths))).rstrip())
    return lines


def latencies(rows):
    """Lines for people: of each row that has them, how long an operation took."""
    return [f"{row.workload.name} in {row.system}: median {row.latency[0]:.2f} us, 99th percentile "
            f"{row.latency[1]:.2f} us" for row in rows if row.latency is not None]


def against_one_thread(rows):
    """Lines for people: of each workload that was run so too, what more scheduler threads than one give."""
    alone = {row.workload.name: row.median for row in rows if row.system == "one_thread"}
    return [f"{row.workload.name}: all threads take {alone[row.workload.name] / row.median:.2f} times as long as one"
            for row in rows if row.system == "understudy" and row.workload.name in alone]


def write_csv(rows, file):
    """Rates in operations per second, memory in bytes per actor; the ratio is empty where Erlang did not run."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for row in rows:
        numbers = [f"{value:.1f}" for value in (row.median, row.min, row.max)]
        ratio = "" if row.ratio_to_erlang is None else f"{row.ratio_to_erlang:.4f}"
        writer.writerow([row.workload.name, row.system] + numbers + [ratio])
