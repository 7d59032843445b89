//! Slurm's srun: its common options.

use super::meaning::Meaning::{Is, LabelOrList, Ours, ProgramOrManager, Refused, Same};
use super::{
    ALWAYS_SHIPPED, AS_IT_COMES, BY_PROCESS, CORES, LauncherOption, NODES, QUIET, SHARED, UNITS,
    nothing, row,
};

const CLUSTERS: &str = "the cluster is the one that HADOOP_CONF_DIR names";

pub(super) const ROWS: &[LauncherOption] = &[
    row("help", Same),
    row("h", Same),
    row("N", Refused(NODES)),
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
    row("t", Same),
    row("time", Same),
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
    row("q", Refused(QUIET)),
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
    row("mpi", ProgramOrManager),
    row("cpu-bind", Same),
    row("mem-bind", Refused(UNITS)),
    row("hint", Refused(UNITS)),
    row("threads-per-core", Refused(UNITS)),
    row("ntasks-per-core", Refused(UNITS)),
    row("ntasks-per-socket", Refused(UNITS)),
    row("m", Is("rank-by")),
    row("distribution", Is("rank-by")),
    row(
        "exclusive",
        Refused(
            "--exclusive: YARN has no nodes of one's own; a container's cores are --vcores-per-proc",
        ),
    ),
    row("gres", Refused(BY_PROCESS)),
    row("gpus", Refused(BY_PROCESS)),
    row("gpus-per-task", Is("gpus-per-proc")),
    row("gpus-per-node", Refused(BY_PROCESS)),
    row("G", Refused(BY_PROCESS)),
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
    row("pty", Same),
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
    row("u", nothing(0, AS_IT_COMES)),
    row("unbuffered", nothing(0, AS_IT_COMES)),
    row("Q", Is("quiet")),
    row("bcast", nothing(0, ALWAYS_SHIPPED)),
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
    row("c", Refused(CORES)),
    row("s", nothing(0, SHARED)),
    row("oversubscribe", Same),
    row("share", nothing(0, SHARED)),
    row("quiet", Same),
    row("v", Is("explain")),
    row("verbose", Is("explain")),
    row("V", Same),
    row("version", Same),
    row(
        "send-libs",
        nothing(
            0,
            "shared libraries are always brought along; --no-ship-libs leaves them",
        ),
    ),
    row(
        "H",
        Ours("names the hosts, as Open MPI has it; a job that is held is none of YARN's"),
    ),
    row(
        "hold",
        Refused("--hold: jobs of YARN wait for nothing but room; start it later"),
    ),
    row(
        "k",
        Ours(
            "ends an application; that a job goes on without a failed node is -disable-auto-cleanup",
        ),
    ),
    row("no-kill", Is("disable-auto-cleanup")),
    row("r", Ours("says what of a list of hosts may be relaxed")),
    row(
        "relative",
        Refused("--relative: name the nodes with -hosts, or leave some out with --exclude"),
    ),
    row("M", Refused(CLUSTERS)),
    row("clusters", Refused(CLUSTERS)),
    row(
        "E",
        Refused("--preserve-env: say how many processes with -n and --nodes"),
    ),
    row(
        "preserve-env",
        Refused("--preserve-env: say how many processes with -n and --nodes"),
    ),
    row("cpus-per-gpu", Refused(BY_PROCESS)),
    row("gpu-bind", Refused(BY_PROCESS)),
    row("ntasks-per-gpu", Refused(BY_PROCESS)),
    row("gpu-freq", Refused("--gpu-freq: YARN sets no clocks")),
    row("cpu-freq", Refused("--cpu-freq: YARN sets no clocks")),
    row("cores-per-socket", Refused(UNITS)),
    row("sockets-per-node", Refused(UNITS)),
    row("B", Refused(UNITS)),
    row("extra-node-info", Refused(UNITS)),
    row(
        "mincpus",
        Refused("--mincpus: a process has the cores of --vcores-per-proc"),
    ),
    row(
        "contiguous",
        Refused("--contiguous: --same-rack prefers one rack"),
    ),
    row(
        "switches",
        Refused("--switches: --same-rack prefers one rack"),
    ),
    row(
        "spread-job",
        nothing(
            0,
            "it is the default; --pack fills one node after the other",
        ),
    ),
    row("use-min-nodes", Is("pack")),
    row("overlap", nothing(0, SHARED)),
    row(
        "reservation",
        Refused("YARN knows queues alone: write --queue"),
    ),
    row(
        "comment",
        Refused("--comment: an application has a name alone; write --name"),
    ),
    row(
        "mail-type",
        Refused("--mail-type: no mail is sent; write for example gerbil-run ... ; mail ..."),
    ),
    row(
        "mail-user",
        Refused("--mail-user: no mail is sent; write for example gerbil-run ... ; mail ..."),
    ),
    row(
        "nice",
        Refused("--nice lowers a priority; write --priority, where higher is sooner"),
    ),
    row("open-mode", Refused("--open-mode: files are written anew")),
    row(
        "network",
        Refused("--network: write --iface for the interface"),
    ),
    row(
        "resv-ports",
        nothing(
            0,
            "ranks find each other without reserved ports; --am-ports holds the ApplicationMaster's",
        ),
    ),
    row(
        "propagate",
        nothing(0, "limits are those that the node has for containers"),
    ),
    row(
        "signal",
        Refused("--signal: -timeout ends the program with SIGTERM, and SIGKILL after a while"),
    ),
    row(
        "quit-on-interrupt",
        nothing(0, "it is the default: Ctrl-C ends the job"),
    ),
    row("X", nothing(0, "it is the default: Ctrl-C ends the job")),
    row(
        "disable-status",
        nothing(0, "it is the default: Ctrl-C ends the job"),
    ),
    row(
        "het-group",
        Refused("--het-group: separate programs with a colon"),
    ),
    row("x11", nothing(0, "there is no X forwarding on YARN")),
    row(
        "deadline",
        Refused(
            "--deadline: write --wait-timeout for the start and -timeout for the run; gerbil mr --deadline is another thing, \
             by which a session orders jobs",
        ),
    ),
    row(
        "acctg-freq",
        nothing(
            1,
            "what ranks use is sampled every one to five seconds, and in --report",
        ),
    ),
    row("uid", Refused("--uid: set HADOOP_USER_NAME")),
    row(
        "gid",
        Refused("--gid: YARN decides in which group containers run"),
    ),
    row(
        "container",
        Refused("--container: programs run in YARN's plain containers"),
    ),
    row("licenses", Refused("--licenses: YARN counts none")),
    row("L", Refused("--licenses: YARN counts none")),
    row(
        "tmp",
        Refused("--tmp: YARN watches over the nodes' disks itself"),
    ),
    row("exact", nothing(0, "a container has what was asked for")),
    row(
        "treewidth",
        nothing(1, "launchers speak to the ApplicationMaster alone"),
    ),
    row("T", nothing(1, "all nodes are started at once")),
    row("threads", nothing(1, "all nodes are started at once")),
];
