//! Hydra's mpiexec: all its options, in its own order.

use super::meaning::Meaning::{File, Is, LabelOrList, Refused, Same};
use super::{LAUNCH_NODE, Row, STARTED_BY_YARN, nothing, row};

pub(super) const ROWS: &[Row] = &[
    row("help", Same),
    row("h", Same),
    row("genv", Same),
    row("genvlist", Same),
    row("genvnone", Same),
    row("genvall", Same),
    row("f", Same),
    row("hostfile", Same),
    row("machinefile", Same),
    row("machine", Is("hosts")),
    row("machines", Is("hosts")),
    row("machinelist", Is("hosts")),
    row("hostlist", Is("hosts")),
    row("host", Same),
    row("hosts", Same),
    row("rankmap", Same),
    row("ppn", Same),
    row("perhost", Same),
    row("profile", Is("timing")),
    row("output-from", Same),
    row("prepend-rank", Same),
    row("l", LabelOrList),
    row("prepend-pattern", Same),
    row("outfile-pattern", Same),
    row("errfile-pattern", Same),
    row("outfile", Same),
    row("errfile", Same),
    row("wdir", Same),
    row("configfile", File),
    row("env", Same),
    row("envlist", Same),
    row("envnone", Same),
    row("envall", Same),
    row("n", Same),
    row("np", Same),
    row(
        "memory-alloc-kinds",
        Refused(
            "-memory-alloc-kinds: ask for them in the program, or set the library's own variable with -genv",
        ),
    ),
    row("launcher", nothing(1, STARTED_BY_YARN)),
    row("launcher-exec", nothing(1, STARTED_BY_YARN)),
    row("bootstrap", nothing(1, STARTED_BY_YARN)),
    row("bootstrap-exec", nothing(1, STARTED_BY_YARN)),
    row("enable-x", nothing(0, "there is no X forwarding on YARN")),
    row("disable-x", nothing(0, "there is no X forwarding on YARN")),
    row("rmk", nothing(1, "the resource manager is YARN")),
    row(
        "topolib",
        nothing(1, "the kernel's own files tell of the processors"),
    ),
    row("binding", Same),
    row("bind-to", Same),
    row("map-by", Same),
    row(
        "membind",
        Refused("-membind: memory is not bound here; start the program through numactl"),
    ),
    row("report-bindings", Same),
    row(
        "demux",
        nothing(1, "there is one way only to wait for output"),
    ),
    row("debug", Is("explain")),
    row("v", Is("explain")),
    row("verbose", Is("explain")),
    row("disable-auto-cleanup", Same),
    row("enable-auto-cleanup", nothing(0, "it is the default")),
    row(
        "disable-hostname-propagation",
        nothing(0, "ranks learn their host's name from the host itself"),
    ),
    row(
        "enable-hostname-propagation",
        nothing(0, "ranks learn their host's name from the host itself"),
    ),
    row("g", Same),
    row("gpus-per-proc", Same),
    row(
        "gpu-subdevs-per-proc",
        Refused(
            "-gpu-subdevs-per-proc: parts of a GPU are not dealt; whole ones are, with -gpus-per-proc",
        ),
    ),
    row(
        "hybrid-hosts",
        nothing(
            0,
            "nothing is taken for granted about the nodes' folders: files are shipped",
        ),
    ),
    row("iface", Same),
    row("info", Is("version")),
    row(
        "localhost",
        Refused(
            "-localhost: this machine is no node of the job; --iface says over which interface it is reached",
        ),
    ),
    row(
        "nameserver",
        Refused("-nameserver: the name service is the job's own"),
    ),
    row(
        "order-nodes",
        Refused(
            "-order-nodes sorts hosts by their cores; here the freest come first (--sort-nodes true), or, with -r none, those listed first",
        ),
    ),
    row(
        "pmi-port",
        nothing(0, "ranks are spoken to through a descriptor"),
    ),
    row("print-all-exitcodes", Same),
    row("skip-launch-node", nothing(0, LAUNCH_NODE)),
    row(
        "usize",
        Refused("-usize: the universe has the size of the job"),
    ),
    row("version", Same),
    row(
        "pmi_args",
        Refused("-pmi_args: a program that was started by itself cannot be taken over"),
    ),
    row("timeout", Same),
    row("path", Same),
];
