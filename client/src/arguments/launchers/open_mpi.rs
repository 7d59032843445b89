//! Open MPI's mpirun: its common options, those of releases 4 and 5.

use super::meaning::Meaning::{File, Is, Means, Ours, Refused, Same};
use super::{
    ALWAYS_SHIPPED, AS_IT_COMES, CORES, LAUNCH_NODE, LauncherOption, NO_DAEMONS, NODES, QUIET,
    SHARED, UNITS, nothing, row,
};

const STEERS_DAEMONS: &str = "it steers the daemons of Open MPI's mpirun, and there are none here";
const BY_LIBRARY: &str =
    "what is spoken to processes goes by the program's MPI library, and by --pm";
const FAULTS: &str =
    "a job that loses a process ends, but with -disable-auto-cleanup; let a script start it again";
const APPLICATION: &str =
    "the application's id is said when it is submitted, and in --report; gerbil-run -k ends it";
const DEBUGGER: &str = "a debugger is not started; start it as the program: gdb --args ./cpi";

pub(super) const ROWS: &[LauncherOption] = &[
    row("help", Same),
    row("h", Same),
    row("report-bindings", Same),
    row("n", Same),
    row("np", Same),
    row("H", Same),
    row("host", Same),
    row("hostfile", Same),
    row("machinefile", Same),
    row("c", Refused(CORES)),
    row("N", Refused(NODES)),
    row("npernode", Is("processes-per-node")),
    row("pernode", Means("--processes-per-node=1")),
    row("npersocket", Refused(UNITS)),
    row("bynode", Means("--rank-by=node")),
    row("byslot", Means("--rank-by=slot")),
    row("bycore", Means("--bind-to=core")),
    row("cpus-per-proc", Refused(UNITS)),
    row("cpus-per-rank", Refused(UNITS)),
    row("use-hwthread-cpus", Refused(UNITS)),
    row(
        "cpu-set",
        Refused(
            "the processors of a container are those that YARN gives it; -bind-to deals them out",
        ),
    ),
    row(
        "cpu-list",
        Refused(
            "the processors of a container are those that YARN gives it; -bind-to deals them out",
        ),
    ),
    row("bind-to", Same),
    row("map-by", Same),
    row("rank-by", Same),
    row("oversubscribe", Same),
    row("nooversubscribe", Means("--oversubscribe=false")),
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
    row("preload-binary", nothing(0, ALWAYS_SHIPPED)),
    row("s", nothing(0, SHARED)),
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
    row("mca", Same),
    row("gmca", Same),
    row("prtemca", nothing(2, STEERS_DAEMONS)),
    row("pmixmca", Same),
    row("gpmixmca", Same),
    row("omca", Is("mca")),
    row("am", Is("tune")),
    row("tune", Same),
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
    row("q", Refused(QUIET)),
    row("quiet", Same),
    row("version", Same),
    row("V", Same),
    row("nolocal", nothing(0, LAUNCH_NODE)),
    row("enable-recovery", Is("disable-auto-cleanup")),
    row("continuous", Is("disable-auto-cleanup")),
    row("xterm", Refused("--xterm: the processes have no terminal")),
    row("debug-daemons", nothing(0, NO_DAEMONS)),
    row("leave-session-attached", nothing(0, NO_DAEMONS)),
    row(
        "report-state-on-timeout",
        nothing(0, "the end of every rank is in --report"),
    ),
    row(
        "get-stack-traces",
        nothing(0, "the end of every rank is in --report"),
    ),
    row("bysocket", Refused(UNITS)),
    row("bind-to-core", Means("--bind-to=core")),
    row("bind-to-socket", Means("--bind-to=socket")),
    row("bind-to-none", Means("--bind-to=none")),
    row("cpus-per-task", Is("vcores-per-proc")),
    row(
        "overload-allowed",
        nothing(0, "processes may always share processors"),
    ),
    row(
        "rankfile",
        Refused(
            "--rankfile: the node of each rank is said with -rankmap, its processors with -bind-to",
        ),
    ),
    row(
        "rf",
        Refused(
            "--rankfile: the node of each rank is said with -rankmap, its processors with -bind-to",
        ),
    ),
    row("slot-list", Refused(UNITS)),
    row(
        "default-hostfile",
        Refused("--default-hostfile: write --hostfile; without one YARN chooses the nodes"),
    ),
    row(
        "add-host",
        Refused(
            "--add-host: a job has the nodes that it starts with; name all of them with -hosts",
        ),
    ),
    row(
        "add-hostfile",
        Refused(
            "--add-hostfile: a job has the nodes that it starts with; name all of them in one file",
        ),
    ),
    row("preload-files", Is("files")),
    row(
        "set-cwd-to-session-dir",
        nothing(0, "the program starts in its container's own folder"),
    ),
    row(
        "output",
        Ours("keeps a copy of all output in a folder; tags are --label"),
    ),
    row("stream-buffering", nothing(1, AS_IT_COMES)),
    row(
        "forward-signals",
        nothing(
            1,
            "SIGUSR1, SIGUSR2, SIGTSTP and SIGCONT are always handed on",
        ),
    ),
    row("launch-agent", nothing(1, NO_DAEMONS)),
    row("daemonize", nothing(0, NO_DAEMONS)),
    row("no-daemonize", nothing(0, NO_DAEMONS)),
    row("novm", nothing(0, NO_DAEMONS)),
    row("abort-on-non-zero-status", Means("--kill-on-bad-exit=true")),
    row("with-ft", Refused(FAULTS)),
    row("max-restarts", Refused(FAULTS)),
    row("report-pid", Refused(APPLICATION)),
    row("report-uri", Refused(APPLICATION)),
    row(
        "ompi-server",
        Refused("--ompi-server: the name service is the job's own"),
    ),
    row(
        "tmpdir",
        nothing(1, "YARN gives each container a folder of its own"),
    ),
    row("tv", Refused(DEBUGGER)),
    row("debugger", Refused(DEBUGGER)),
    row("stop-on-exec", Refused(DEBUGGER)),
    row(
        "index-argv-by-rank",
        Refused("--index-argv-by-rank: a program may use the variable PMI_RANK"),
    ),
    row("set-env", Is("pass")),
    row("display-topo", Is("dry-run")),
    row("display-devel-map", Is("dry-run")),
    row(
        "show-progress",
        nothing(0, "progress is shown on a terminal"),
    ),
    row("do-not-resolve", nothing(0, NO_DAEMONS)),
    row("personality", nothing(1, BY_LIBRARY)),
];
