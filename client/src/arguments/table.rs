//! Every option of Hydra's mpiexec, the common ones of Open MPI's mpirun and of srun, and what becomes of
//! them here. The lexer reads by this table; the page OPTIONS.md is written from it.

use super::lexer::Meaning::{self, File, Is, LabelOrList, NoEffect, Ours, Refused, Same};

/// What one option of other launchers is here.
pub(super) struct Row {
    /// Of whom it is: [`HYDRA`], [`OPEN_MPI`], [`SRUN`], or'ed.
    pub of: u8,
    /// Without its dashes.
    pub word: &'static str,
    pub meaning: Meaning,
}

pub(super) const HYDRA: u8 = 1;
pub(super) const OPEN_MPI: u8 = 2;
pub(super) const SRUN: u8 = 4;

const STARTED_BY_YARN: &str = "YARN starts the processes, nothing logs in anywhere";
const BINDING: &str = "-bind-to and -map-by say which processors a process gets";
const MAPPING: &str = "the ranks of a node are consecutive; -ppn, -hosts and -r say how many are where, -bind-to \
    and -map-by on which processors";
const REPORT: &str = "processes are bound as -bind-to says; each can tell with: taskset -p $$";

const fn row(of: u8, word: &'static str, meaning: Meaning) -> Row {
    Row { of, word, meaning }
}

const fn nothing(values: usize, because: &'static str) -> Meaning {
    NoEffect { values, because }
}

/// All of them, in the order in which Hydra lists its own.
pub(super) const ROWS: &[Row] = &[
    row(HYDRA | OPEN_MPI | SRUN, "help", Same),
    row(HYDRA | OPEN_MPI | SRUN, "h", Same),
    row(HYDRA, "genv", Same),
    row(HYDRA, "genvlist", Same),
    row(HYDRA, "genvnone", Same),
    row(HYDRA, "genvall", Same),
    row(HYDRA, "f", Same),
    row(HYDRA, "hostfile", Same),
    row(HYDRA, "machinefile", Same),
    row(HYDRA, "machine", Is("hosts")),
    row(HYDRA, "machines", Is("hosts")),
    row(HYDRA, "machinelist", Is("hosts")),
    row(HYDRA, "hostlist", Is("hosts")),
    row(HYDRA, "host", Same),
    row(HYDRA, "hosts", Same),
    row(
        HYDRA,
        "rankmap",
        Refused(
            "-rankmap: name the hosts in the order of the ranks, with -hosts a:2,b:2 or a file; the ranks of a node are consecutive",
        ),
    ),
    row(HYDRA, "ppn", Same),
    row(HYDRA, "perhost", Same),
    row(HYDRA, "profile", Is("timing")),
    row(HYDRA, "output-from", Same),
    row(HYDRA, "prepend-rank", Same),
    row(HYDRA, "l", LabelOrList),
    row(HYDRA, "prepend-pattern", Same),
    row(HYDRA, "outfile-pattern", Same),
    row(HYDRA, "errfile-pattern", Same),
    row(HYDRA, "outfile", Same),
    row(HYDRA, "errfile", Same),
    row(HYDRA, "wdir", Same),
    row(HYDRA, "configfile", File),
    row(HYDRA, "env", Same),
    row(HYDRA, "envlist", Same),
    row(HYDRA, "envnone", Same),
    row(HYDRA, "envall", Same),
    row(HYDRA, "n", Same),
    row(HYDRA, "np", Same),
    row(
        HYDRA,
        "memory-alloc-kinds",
        Refused(
            "-memory-alloc-kinds: ask for them in the program, or set the library's own variable with -genv",
        ),
    ),
    row(HYDRA, "launcher", nothing(1, STARTED_BY_YARN)),
    row(HYDRA, "launcher-exec", nothing(1, STARTED_BY_YARN)),
    row(HYDRA, "bootstrap", nothing(1, STARTED_BY_YARN)),
    row(HYDRA, "bootstrap-exec", nothing(1, STARTED_BY_YARN)),
    row(
        HYDRA,
        "enable-x",
        nothing(0, "there is no X forwarding on YARN"),
    ),
    row(
        HYDRA,
        "disable-x",
        nothing(0, "there is no X forwarding on YARN"),
    ),
    row(HYDRA, "rmk", nothing(1, "the resource manager is YARN")),
    row(
        HYDRA,
        "topolib",
        nothing(1, "the kernel's own files tell of the processors"),
    ),
    row(HYDRA, "binding", Same),
    row(HYDRA, "bind-to", Same),
    row(HYDRA, "map-by", Same),
    row(
        HYDRA,
        "membind",
        Refused("-membind: memory is not bound here; start the program through numactl"),
    ),
    row(HYDRA | OPEN_MPI, "report-bindings", Refused(REPORT)),
    row(
        HYDRA,
        "demux",
        nothing(1, "there is one way only to wait for output"),
    ),
    row(HYDRA, "debug", Is("explain")),
    row(HYDRA, "v", Is("explain")),
    row(HYDRA, "verbose", Is("explain")),
    row(HYDRA, "disable-auto-cleanup", Same),
    row(
        HYDRA,
        "enable-auto-cleanup",
        nothing(0, "it is the default"),
    ),
    row(
        HYDRA,
        "disable-hostname-propagation",
        nothing(0, "ranks learn their host's name from the host itself"),
    ),
    row(
        HYDRA,
        "enable-hostname-propagation",
        nothing(0, "ranks learn their host's name from the host itself"),
    ),
    row(
        HYDRA,
        "g",
        Refused(
            "processes are not given GPUs; nodes that have them may carry a label, which --node-label asks for",
        ),
    ),
    row(
        HYDRA,
        "gpus-per-proc",
        Refused(
            "processes are not given GPUs; nodes that have them may carry a label, which --node-label asks for",
        ),
    ),
    row(
        HYDRA,
        "gpu-subdevs-per-proc",
        Refused(
            "processes are not given GPUs; nodes that have them may carry a label, which --node-label asks for",
        ),
    ),
    row(
        HYDRA,
        "hybrid-hosts",
        nothing(
            0,
            "nothing is taken for granted about the nodes' folders: files are shipped",
        ),
    ),
    row(HYDRA, "iface", Same),
    row(HYDRA, "info", Is("version")),
    row(
        HYDRA,
        "localhost",
        Refused(
            "-localhost: this machine is no node of the job; --iface says over which interface it is reached",
        ),
    ),
    row(
        HYDRA,
        "nameserver",
        Refused("-nameserver: the name service is the job's own"),
    ),
    row(
        HYDRA,
        "order-nodes",
        Refused("-order-nodes: write --sort-nodes true for the freest nodes first"),
    ),
    row(
        HYDRA,
        "pmi-port",
        nothing(0, "ranks are spoken to through a descriptor"),
    ),
    row(HYDRA, "print-all-exitcodes", Same),
    row(
        HYDRA,
        "skip-launch-node",
        nothing(
            0,
            "the launch node is no node of the job; --exclude leaves nodes out",
        ),
    ),
    row(
        HYDRA,
        "usize",
        Refused("-usize: the universe has the size of the job"),
    ),
    row(HYDRA, "version", Same),
    row(
        HYDRA,
        "pmi_args",
        Refused("-pmi_args: a program that was started by itself cannot be taken over"),
    ),
    row(HYDRA, "timeout", Same),
    row(HYDRA, "path", Same),
    row(OPEN_MPI, "n", Same),
    row(OPEN_MPI, "np", Same),
    row(OPEN_MPI, "H", Same),
    row(OPEN_MPI, "host", Same),
    row(OPEN_MPI, "hostfile", Same),
    row(OPEN_MPI, "machinefile", Same),
    row(
        OPEN_MPI,
        "c",
        Refused(
            "-c means processes to Open MPI and cores of a process to Slurm; write -n for the one, --vcores-per-proc for the other",
        ),
    ),
    row(
        OPEN_MPI | SRUN,
        "N",
        Refused(
            "-N means processes per node to Open MPI and nodes to Slurm; write -ppn for the one, --nodes for the other",
        ),
    ),
    row(OPEN_MPI, "npernode", Is("processes-per-node")),
    row(OPEN_MPI, "pernode", Refused("-pernode: write -ppn 1")),
    row(OPEN_MPI, "npersocket", Refused(MAPPING)),
    row(OPEN_MPI, "bynode", Refused(MAPPING)),
    row(OPEN_MPI, "byslot", Refused(MAPPING)),
    row(OPEN_MPI, "bycore", Refused(MAPPING)),
    row(OPEN_MPI, "cpus-per-proc", Refused(MAPPING)),
    row(OPEN_MPI, "cpus-per-rank", Refused(MAPPING)),
    row(OPEN_MPI, "use-hwthread-cpus", Refused(MAPPING)),
    row(OPEN_MPI, "cpu-set", Refused(MAPPING)),
    row(OPEN_MPI, "cpu-list", Refused(MAPPING)),
    row(OPEN_MPI, "bind-to", Same),
    row(OPEN_MPI, "map-by", Same),
    row(OPEN_MPI, "rank-by", Refused(MAPPING)),
    row(
        OPEN_MPI,
        "oversubscribe",
        Ours("as a switch it is the default here; false forbids it"),
    ),
    row(
        OPEN_MPI,
        "nooversubscribe",
        Refused("--nooversubscribe: write -o false"),
    ),
    row(OPEN_MPI, "x", Same),
    row(OPEN_MPI, "wdir", Same),
    row(OPEN_MPI, "wd", Same),
    row(OPEN_MPI, "path", Same),
    row(OPEN_MPI, "stdin", Same),
    row(OPEN_MPI, "timeout", Same),
    row(
        OPEN_MPI,
        "prefix",
        Refused(
            "--prefix: the libraries of the program are shipped; --no-ship-libs and -x LD_LIBRARY_PATH=... use those of the nodes",
        ),
    ),
    row(
        OPEN_MPI,
        "preload-binary",
        nothing(0, "the program is always brought to the nodes"),
    ),
    row(
        OPEN_MPI,
        "s",
        nothing(0, "the program is always brought to the nodes"),
    ),
    row(OPEN_MPI, "tag-output", Is("label")),
    row(
        OPEN_MPI,
        "timestamp-output",
        Refused("--timestamp-output: lines are not stamped; write for example gerbil-run ... | ts"),
    ),
    row(OPEN_MPI, "output-filename", Is("output")),
    row(OPEN_MPI, "output-directory", Is("output")),
    row(
        OPEN_MPI,
        "merge-stderr-to-stdout",
        Refused("--merge-stderr-to-stdout: write 2>&1 behind the line"),
    ),
    row(
        OPEN_MPI,
        "mca",
        nothing(2, "it steers parts of Open MPI that are not used here"),
    ),
    row(
        OPEN_MPI,
        "gmca",
        nothing(2, "it steers parts of Open MPI that are not used here"),
    ),
    row(
        OPEN_MPI,
        "prtemca",
        nothing(2, "it steers parts of Open MPI that are not used here"),
    ),
    row(
        OPEN_MPI,
        "pmixmca",
        nothing(2, "it steers parts of Open MPI that are not used here"),
    ),
    row(
        OPEN_MPI,
        "omca",
        nothing(2, "it steers parts of Open MPI that are not used here"),
    ),
    row(
        OPEN_MPI,
        "am",
        nothing(1, "it steers parts of Open MPI that are not used here"),
    ),
    row(
        OPEN_MPI,
        "tune",
        nothing(1, "it steers parts of Open MPI that are not used here"),
    ),
    row(OPEN_MPI, "app", File),
    row(OPEN_MPI, "display-map", Is("dry-run")),
    row(OPEN_MPI, "display-allocation", Is("dry-run")),
    row(OPEN_MPI, "do-not-launch", Is("dry-run")),
    row(
        OPEN_MPI,
        "display",
        Refused("--display: write --explain to see what is decided, or --dry-run"),
    ),
    row(
        OPEN_MPI,
        "allow-run-as-root",
        nothing(0, "YARN decides as which user containers run"),
    ),
    row(
        OPEN_MPI,
        "q",
        nothing(0, "nothing is said of a job that succeeds"),
    ),
    row(
        OPEN_MPI,
        "quiet",
        nothing(0, "nothing is said of a job that succeeds"),
    ),
    row(OPEN_MPI, "version", Same),
    row(OPEN_MPI, "V", Same),
    row(
        OPEN_MPI,
        "nolocal",
        nothing(
            0,
            "the launch node is no node of the job; --exclude leaves nodes out",
        ),
    ),
    row(OPEN_MPI, "enable-recovery", Is("disable-auto-cleanup")),
    row(OPEN_MPI, "continuous", Is("disable-auto-cleanup")),
    row(
        OPEN_MPI,
        "xterm",
        Refused("--xterm: the processes have no terminal"),
    ),
    row(
        OPEN_MPI,
        "debug-daemons",
        nothing(
            0,
            "there are no daemons; the launchers' logs are their containers' (yarn logs)",
        ),
    ),
    row(
        OPEN_MPI,
        "leave-session-attached",
        nothing(
            0,
            "there are no daemons; the launchers' logs are their containers' (yarn logs)",
        ),
    ),
    row(
        OPEN_MPI,
        "report-state-on-timeout",
        nothing(0, "the end of every rank is in --report"),
    ),
    row(
        OPEN_MPI,
        "get-stack-traces",
        nothing(0, "the end of every rank is in --report"),
    ),
    row(SRUN, "n", Same),
    row(SRUN, "nodes", Same),
    row(SRUN, "exclude", Same),
    row(SRUN, "chdir", Same),
    row(SRUN, "D", Same),
    row(SRUN, "export", Same),
    row(SRUN, "label", Same),
    row(SRUN, "input", Same),
    row(SRUN, "wait", Same),
    row(SRUN, "output", Same),
    row(SRUN, "l", LabelOrList),
    row(SRUN, "ntasks", Is("processes")),
    row(SRUN, "ntasks-per-node", Is("processes-per-node")),
    row(SRUN, "cpus-per-task", Is("vcores-per-proc")),
    row(SRUN, "w", Is("hosts")),
    row(SRUN, "nodelist", Is("hosts")),
    row(SRUN, "F", Is("hostfile")),
    row(SRUN, "nodefile", Is("hostfile")),
    row(
        SRUN,
        "x",
        Ours("passes a variable on, as Open MPI has it; hosts are left out with --exclude"),
    ),
    row(
        SRUN,
        "p",
        Ours("is the priority; the partition is --queue, or --partition"),
    ),
    row(SRUN, "partition", Is("queue")),
    row(SRUN, "J", Is("name")),
    row(SRUN, "job-name", Is("name")),
    row(SRUN, "C", Is("node-label")),
    row(SRUN, "constraint", Is("node-label")),
    row(
        SRUN,
        "t",
        Refused("srun counts minutes: write -timeout 30m for half an hour of running"),
    ),
    row(
        SRUN,
        "time",
        Refused("srun counts minutes: write -timeout 30m for half an hour of running"),
    ),
    row(
        SRUN,
        "I",
        Refused("--immediate: write --wait-timeout with a span"),
    ),
    row(
        SRUN,
        "immediate",
        Refused("--immediate: write --wait-timeout with a span"),
    ),
    row(
        SRUN,
        "mem",
        Refused("memory is given by the process: write --mem-per-proc"),
    ),
    row(
        SRUN,
        "mem-per-cpu",
        Refused("memory is given by the process: write --mem-per-proc"),
    ),
    row(
        SRUN,
        "mem-per-gpu",
        Refused("memory is given by the process: write --mem-per-proc"),
    ),
    row(SRUN, "A", Refused("YARN knows queues alone: write --queue")),
    row(
        SRUN,
        "account",
        Refused("YARN knows queues alone: write --queue"),
    ),
    row(SRUN, "q", Refused("YARN knows queues alone: write --queue")),
    row(
        SRUN,
        "qos",
        Refused("YARN knows queues alone: write --queue"),
    ),
    row(
        SRUN,
        "o",
        Ours("is GERBIL's, true or false; output goes into files with -outfile-pattern"),
    ),
    row(
        SRUN,
        "e",
        Refused("--error: write -errfile-pattern, with %r for the rank and %h for the host"),
    ),
    row(
        SRUN,
        "error",
        Refused("--error: write -errfile-pattern, with %r for the rank and %h for the host"),
    ),
    row(
        SRUN,
        "i",
        Ours("is GERBIL's, arguments in one string; a file as input is --input"),
    ),
    row(SRUN, "K", Is("kill-on-bad-exit")),
    row(SRUN, "kill-on-bad-exit", Same),
    row(SRUN, "W", Is("wait")),
    row(
        SRUN,
        "mpi",
        Ours("names the program; ranks are always spoken to in PMI"),
    ),
    row(SRUN, "cpu-bind", Same),
    row(SRUN, "mem-bind", Refused(BINDING)),
    row(SRUN, "hint", Refused(BINDING)),
    row(SRUN, "threads-per-core", Refused(BINDING)),
    row(SRUN, "ntasks-per-core", Refused(BINDING)),
    row(SRUN, "ntasks-per-socket", Refused(BINDING)),
    row(
        SRUN,
        "m",
        Refused("--distribution: the ranks of a node are consecutive; -r says how they are dealt"),
    ),
    row(
        SRUN,
        "distribution",
        Refused("--distribution: the ranks of a node are consecutive; -r says how they are dealt"),
    ),
    row(
        SRUN,
        "exclusive",
        Refused(
            "--exclusive: YARN has no nodes of one's own; a container's cores are --vcores-per-proc",
        ),
    ),
    row(
        SRUN,
        "gres",
        Refused(
            "processes are not given GPUs; nodes that have them may carry a label, which --node-label asks for",
        ),
    ),
    row(
        SRUN,
        "gpus",
        Refused(
            "processes are not given GPUs; nodes that have them may carry a label, which --node-label asks for",
        ),
    ),
    row(
        SRUN,
        "gpus-per-task",
        Refused(
            "processes are not given GPUs; nodes that have them may carry a label, which --node-label asks for",
        ),
    ),
    row(
        SRUN,
        "gpus-per-node",
        Refused(
            "processes are not given GPUs; nodes that have them may carry a label, which --node-label asks for",
        ),
    ),
    row(
        SRUN,
        "G",
        Refused(
            "processes are not given GPUs; nodes that have them may carry a label, which --node-label asks for",
        ),
    ),
    row(
        SRUN,
        "multi-prog",
        Refused(
            "--multi-prog: separate programs with a colon, or write them into a file for -configfile",
        ),
    ),
    row(
        SRUN,
        "O",
        nothing(0, "it is the default; -o false forbids it"),
    ),
    row(
        SRUN,
        "overcommit",
        nothing(0, "it is the default; -o false forbids it"),
    ),
    row(
        SRUN,
        "pty",
        Refused("--pty: the processes have no terminal; standard input reaches rank 0 as it is"),
    ),
    row(
        SRUN,
        "prolog",
        Refused("nothing is run beside the program; let a script start it"),
    ),
    row(
        SRUN,
        "epilog",
        Refused("nothing is run beside the program; let a script start it"),
    ),
    row(
        SRUN,
        "task-prolog",
        Refused("nothing is run beside the program; let a script start it"),
    ),
    row(
        SRUN,
        "task-epilog",
        Refused("nothing is run beside the program; let a script start it"),
    ),
    row(SRUN, "u", nothing(0, "output is shown as it comes")),
    row(
        SRUN,
        "unbuffered",
        nothing(0, "output is shown as it comes"),
    ),
    row(
        SRUN,
        "Q",
        nothing(0, "nothing is said of a job that succeeds"),
    ),
    row(
        SRUN,
        "bcast",
        nothing(0, "the program is always brought to the nodes"),
    ),
    row(SRUN, "test-only", Is("dry-run")),
    row(
        SRUN,
        "d",
        Refused("jobs of YARN wait for nothing but room; let a script start one after the other"),
    ),
    row(
        SRUN,
        "dependency",
        Refused("jobs of YARN wait for nothing but room; let a script start one after the other"),
    ),
    row(
        SRUN,
        "begin",
        Refused("jobs of YARN wait for nothing but room; let a script start one after the other"),
    ),
    row(
        SRUN,
        "jobid",
        Refused("--jobid: each job is an application of its own"),
    ),
    row(SRUN, "priority", Same),
];

/// What the lexer is to do with a word, where that is anything else than to look for it among our own
/// options.
pub(super) fn meaning(word: &str) -> Option<&'static Meaning> {
    let rows = ROWS.iter().filter(|row| row.word == word);
    rows.map(|row| &row.meaning)
        .find(|meaning| !matches!(meaning, Same | Ours(_)))
}

/// The reference page.
pub(crate) fn page() -> String {
    let mut page = String::from(
        "# Options of other launchers\n\n\
         What `gerbil-run` does with the options of Hydra's `mpiexec`, and with the common ones of Open \
         MPI's `mpirun` and of `srun`. Every option may be written with one dash or two. None is ignored \
         without a word: one that is not in these tables and not in `gerbil-run --help` is refused.\n",
    );
    for (of, name) in [
        (HYDRA, "Hydra's mpiexec"),
        (OPEN_MPI, "Open MPI's mpirun"),
        (SRUN, "srun"),
    ] {
        page.push_str(&format!("\n## {name}\n\n| option | here |\n|---|---|\n"));
        for row in ROWS.iter().filter(|row| row.of & of != 0) {
            let dashes = match of {
                SRUN if row.word.len() > 1 => "--",
                _ => "-",
            };
            let here = match &row.meaning {
                Same => "the same".to_owned(),
                Ours(what) => format!("means something else: {what}"),
                Is(other) => format!("the same as `--{other}`"),
                NoEffect { because, .. } => format!("accepted with a warning: {because}"),
                Refused(instead) => {
                    let own = format!("-{}: ", row.word);
                    let plain = instead.trim_start_matches('-');
                    let plain = plain.strip_prefix(own.trim_start_matches('-'));
                    format!("refused: {}", plain.unwrap_or(instead))
                }
                LabelOrList => {
                    "the same; with the name of a list of jobs behind it, that list".into()
                }
                File => "the same: a program a line, nothing behind it".into(),
            };
            page.push_str(&format!("| `{dashes}{}` | {here} |\n", row.word));
        }
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::known;

    #[test]
    fn every_row_says_what_is_so() {
        let known = known();
        let own = |word: &str| {
            let letter = |short: Option<char>| short.is_some_and(|c| c.to_string() == word);
            known.iter().any(|known| {
                known.long == word || letter(known.short) || known.aliases.iter().any(|a| a == word)
            })
        };
        for row in ROWS {
            match row.meaning {
                Same | Ours(_) => assert!(own(row.word), "{} is no option", row.word),
                Is(other) => assert!(
                    own(other) && !own(row.word),
                    "{} is an option itself, or {other} is none",
                    row.word
                ),
                NoEffect { .. } | Refused(_) | LabelOrList | File => {
                    assert!(!own(row.word), "{} is an option itself", row.word);
                }
            }
            let same = ROWS.iter().filter(|other| other.word == row.word);
            assert_eq!(
                same.filter(|other| other.of & row.of != 0).count(),
                1,
                "{} is there twice",
                row.word
            );
        }
        let hydras = ROWS.iter().filter(|row| row.of & HYDRA != 0).count();
        assert!(hydras >= 72, "{hydras}");
    }

    /// With GERBIL_UPDATE=1 the page is written anew.
    #[test]
    fn the_page_is_what_the_table_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/OPTIONS.md");
        if std::env::var_os("GERBIL_UPDATE").is_some() {
            std::fs::write(path, page()).unwrap();
        }
        let there = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(
            there,
            page(),
            "GERBIL_UPDATE=1 cargo test -p client writes it anew"
        );
    }
}
