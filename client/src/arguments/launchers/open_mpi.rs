//! Open MPI's mpirun: its common options, those of releases 4 and 5.

use super::meaning::Meaning::{File, Is, Ours, Refused, Same};
use super::{MAPPING, REPORT, Row, nothing, row};

pub(super) const ROWS: &[Row] = &[
    row("help", Same),
    row("h", Same),
    row("report-bindings", Refused(REPORT)),
    row("n", Same),
    row("np", Same),
    row("H", Same),
    row("host", Same),
    row("hostfile", Same),
    row("machinefile", Same),
    row(
        "c",
        Refused(
            "-c means processes to Open MPI and cores of a process to Slurm; write -n for the one, --vcores-per-proc for the other",
        ),
    ),
    row(
        "N",
        Refused(
            "-N means processes per node to Open MPI and nodes to Slurm; write -ppn for the one, --nodes for the other",
        ),
    ),
    row("npernode", Is("processes-per-node")),
    row("pernode", Refused("-pernode: write -ppn 1")),
    row("npersocket", Refused(MAPPING)),
    row("bynode", Refused(MAPPING)),
    row("byslot", Refused(MAPPING)),
    row("bycore", Refused(MAPPING)),
    row("cpus-per-proc", Refused(MAPPING)),
    row("cpus-per-rank", Refused(MAPPING)),
    row("use-hwthread-cpus", Refused(MAPPING)),
    row("cpu-set", Refused(MAPPING)),
    row("cpu-list", Refused(MAPPING)),
    row("bind-to", Same),
    row("map-by", Same),
    row("rank-by", Refused(MAPPING)),
    row(
        "oversubscribe",
        Ours("as a switch it is the default here; false forbids it"),
    ),
    row(
        "nooversubscribe",
        Refused("--nooversubscribe: write -o false"),
    ),
    row("x", Same),
    row("wdir", Same),
    row("wd", Same),
    row("path", Same),
    row("stdin", Same),
    row("timeout", Same),
    row(
        "prefix",
        Refused(
            "--prefix: the libraries of the program are shipped; --no-ship-libs and -x LD_LIBRARY_PATH=... use those of the nodes",
        ),
    ),
    row(
        "preload-binary",
        nothing(0, "the program is always brought to the nodes"),
    ),
    row(
        "s",
        nothing(0, "the program is always brought to the nodes"),
    ),
    row("tag-output", Is("label")),
    row(
        "timestamp-output",
        Refused("--timestamp-output: lines are not stamped; write for example gerbil-run ... | ts"),
    ),
    row("output-filename", Is("output")),
    row("output-directory", Is("output")),
    row(
        "merge-stderr-to-stdout",
        Refused("--merge-stderr-to-stdout: write 2>&1 behind the line"),
    ),
    row(
        "mca",
        nothing(2, "it steers parts of Open MPI that are not used here"),
    ),
    row(
        "gmca",
        nothing(2, "it steers parts of Open MPI that are not used here"),
    ),
    row(
        "prtemca",
        nothing(2, "it steers parts of Open MPI that are not used here"),
    ),
    row(
        "pmixmca",
        nothing(2, "it steers parts of Open MPI that are not used here"),
    ),
    row(
        "omca",
        nothing(2, "it steers parts of Open MPI that are not used here"),
    ),
    row(
        "am",
        nothing(1, "it steers parts of Open MPI that are not used here"),
    ),
    row(
        "tune",
        nothing(1, "it steers parts of Open MPI that are not used here"),
    ),
    row("app", File),
    row("display-map", Is("dry-run")),
    row("display-allocation", Is("dry-run")),
    row("do-not-launch", Is("dry-run")),
    row(
        "display",
        Refused("--display: write --explain to see what is decided, or --dry-run"),
    ),
    row(
        "allow-run-as-root",
        nothing(0, "YARN decides as which user containers run"),
    ),
    row("q", nothing(0, "nothing is said of a job that succeeds")),
    row(
        "quiet",
        nothing(0, "nothing is said of a job that succeeds"),
    ),
    row("version", Same),
    row("V", Same),
    row(
        "nolocal",
        nothing(
            0,
            "the launch node is no node of the job; --exclude leaves nodes out",
        ),
    ),
    row("enable-recovery", Is("disable-auto-cleanup")),
    row("continuous", Is("disable-auto-cleanup")),
    row("xterm", Refused("--xterm: the processes have no terminal")),
    row(
        "debug-daemons",
        nothing(
            0,
            "there are no daemons; the launchers' logs are their containers' (yarn logs)",
        ),
    ),
    row(
        "leave-session-attached",
        nothing(
            0,
            "there are no daemons; the launchers' logs are their containers' (yarn logs)",
        ),
    ),
    row(
        "report-state-on-timeout",
        nothing(0, "the end of every rank is in --report"),
    ),
    row(
        "get-stack-traces",
        nothing(0, "the end of every rank is in --report"),
    ),
];
