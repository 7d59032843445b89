//! Slurm's srun: its common options.

use super::meaning::Meaning::{Is, LabelOrList, Ours, Refused, Same};
use super::{BINDING, NO_GPUS, Row, nothing, row};

pub(super) const ROWS: &[Row] = &[
    row("help", Same),
    row("h", Same),
    row(
        "N",
        Refused(
            "-N means processes per node to Open MPI and nodes to Slurm; write -ppn for the one, --nodes for the other",
        ),
    ),
    row("n", Same),
    row("nodes", Same),
    row("exclude", Same),
    row("chdir", Same),
    row("D", Same),
    row("export", Same),
    row("label", Same),
    row("input", Same),
    row("wait", Same),
    row("output", Same),
    row("l", LabelOrList),
    row("ntasks", Is("processes")),
    row("ntasks-per-node", Is("processes-per-node")),
    row("cpus-per-task", Is("vcores-per-proc")),
    row("w", Is("hosts")),
    row("nodelist", Is("hosts")),
    row("F", Is("hostfile")),
    row("nodefile", Is("hostfile")),
    row(
        "x",
        Ours("passes a variable on, as Open MPI has it; hosts are left out with --exclude"),
    ),
    row(
        "p",
        Ours("is the priority; the partition is --queue, or --partition"),
    ),
    row("partition", Is("queue")),
    row("J", Is("name")),
    row("job-name", Is("name")),
    row("C", Is("node-label")),
    row("constraint", Is("node-label")),
    row(
        "t",
        Refused("srun counts minutes: write -timeout 30m for half an hour of running"),
    ),
    row(
        "time",
        Refused("srun counts minutes: write -timeout 30m for half an hour of running"),
    ),
    row(
        "I",
        Refused("--immediate: write --wait-timeout with a span"),
    ),
    row(
        "immediate",
        Refused("--immediate: write --wait-timeout with a span"),
    ),
    row(
        "mem",
        Refused("memory is given by the process: write --mem-per-proc"),
    ),
    row(
        "mem-per-cpu",
        Refused("memory is given by the process: write --mem-per-proc"),
    ),
    row(
        "mem-per-gpu",
        Refused("memory is given by the process: write --mem-per-proc"),
    ),
    row("A", Refused("YARN knows queues alone: write --queue")),
    row("account", Refused("YARN knows queues alone: write --queue")),
    row("q", Refused("YARN knows queues alone: write --queue")),
    row("qos", Refused("YARN knows queues alone: write --queue")),
    row(
        "o",
        Ours("is GERBIL's, true or false; output goes into files with -outfile-pattern"),
    ),
    row(
        "e",
        Refused("--error: write -errfile-pattern, with %r for the rank and %h for the host"),
    ),
    row(
        "error",
        Refused("--error: write -errfile-pattern, with %r for the rank and %h for the host"),
    ),
    row(
        "i",
        Ours("is GERBIL's, arguments in one string; a file as input is --input"),
    ),
    row("K", Is("kill-on-bad-exit")),
    row("kill-on-bad-exit", Same),
    row("W", Is("wait")),
    row(
        "mpi",
        Ours("names the program; ranks are always spoken to in PMI"),
    ),
    row("cpu-bind", Same),
    row("mem-bind", Refused(BINDING)),
    row("hint", Refused(BINDING)),
    row("threads-per-core", Refused(BINDING)),
    row("ntasks-per-core", Refused(BINDING)),
    row("ntasks-per-socket", Refused(BINDING)),
    row(
        "m",
        Refused("--distribution: the ranks of a node are consecutive; -r says how they are dealt"),
    ),
    row(
        "distribution",
        Refused("--distribution: the ranks of a node are consecutive; -r says how they are dealt"),
    ),
    row(
        "exclusive",
        Refused(
            "--exclusive: YARN has no nodes of one's own; a container's cores are --vcores-per-proc",
        ),
    ),
    row("gres", Refused(NO_GPUS)),
    row("gpus", Refused(NO_GPUS)),
    row("gpus-per-task", Refused(NO_GPUS)),
    row("gpus-per-node", Refused(NO_GPUS)),
    row("G", Refused(NO_GPUS)),
    row(
        "multi-prog",
        Refused(
            "--multi-prog: separate programs with a colon, or write them into a file for -configfile",
        ),
    ),
    row("O", nothing(0, "it is the default; -o false forbids it")),
    row(
        "overcommit",
        nothing(0, "it is the default; -o false forbids it"),
    ),
    row(
        "pty",
        Refused("--pty: the processes have no terminal; standard input reaches rank 0 as it is"),
    ),
    row(
        "prolog",
        Refused("nothing is run beside the program; let a script start it"),
    ),
    row(
        "epilog",
        Refused("nothing is run beside the program; let a script start it"),
    ),
    row(
        "task-prolog",
        Refused("nothing is run beside the program; let a script start it"),
    ),
    row(
        "task-epilog",
        Refused("nothing is run beside the program; let a script start it"),
    ),
    row("u", nothing(0, "output is shown as it comes")),
    row("unbuffered", nothing(0, "output is shown as it comes")),
    row("Q", nothing(0, "nothing is said of a job that succeeds")),
    row(
        "bcast",
        nothing(0, "the program is always brought to the nodes"),
    ),
    row("test-only", Is("dry-run")),
    row(
        "d",
        Refused("jobs of YARN wait for nothing but room; let a script start one after the other"),
    ),
    row(
        "dependency",
        Refused("jobs of YARN wait for nothing but room; let a script start one after the other"),
    ),
    row(
        "begin",
        Refused("jobs of YARN wait for nothing but room; let a script start one after the other"),
    ),
    row(
        "jobid",
        Refused("--jobid: each job is an application of its own"),
    ),
    row("priority", Same),
];
