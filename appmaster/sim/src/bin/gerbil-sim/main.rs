//! `gerbil-sim`: workloads on virtual time, from the command line.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command that prints"
)]

mod figures;
mod measured;
mod records;
mod run;
mod traces;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, bail};
use lexopt::{Arg, Parser, ValueExt as _};
use policy::read_order::READ_ORDERS;
use policy::schedule::{POLICIES, WRAPPERS};
use sim::dyscale::DyScaleWorld;
use sim::figure::FigureWorld as _;
use sim::hetero::HeteroWorld;
use sim::hpe::HpeWorld;
use sim::spmario::SpmarioWorld;

use figures::figures;
use measured::{count, duels, measure};
use records::{compare, replay};
use run::run;
use traces::traces;

const USAGE: &str = "\
gerbil-sim run WORKLOAD.json [--trace FILE] [--policy POLICY] [--svg FILE] [--json FILE] [--record FILE] [--decisions]
        plays a workload, or the jobs of a trace on its nodes, and prints when each job was done; the SVG and the JSON are
        Gantt charts, the record has what the policy was told and what it decided, line by line
gerbil-sim replay RECORD [--policy POLICY]
        tells a policy what a record has (gerbil session start --record writes one), and says where it decides otherwise;
        the record's own policy where none is given
gerbil-sim compare RECORD [--policy POLICY] [--json FILE]
        makes a workload of a session's record, plays it, and prints each job's end beside the recorded one; under the
        record's own policy where none is given; the JSON is the workload
gerbil-sim trace mix [--seed N] [--gap SECONDS] [-D KEY=VALUE]...
gerbil-sim trace swim FILE.tsv [-D KEY=VALUE]...
gerbil-sim trace history FILE.json...
        prints a trace, a line a job: of a mix of DyScale's figures, of a trace that SWIM has published, whose bytes become
        tasks and times as -D says (gerbil-sim trace --help has the keys), or of what gerbil mr history --json has printed of
        jobs; gerbil-sim run and gerbil-sim dyscale -D trace=FILE play it, gerbil mr --profile FILE foresees by it
gerbil-sim policies
        names every policy and wrapper, and every order in which GPU tasks read, with their keys
gerbil-sim duel [--seeds N]
        lets MPI jobs fight for small clusters that lose nodes, containers and masters (2000 of each kind)
gerbil-sim bench [--policy POLICY] [--nodes N] [--jobs N] [--tasks N] [--gangs]
        times decisions with N jobs of N tasks each in line (10000 of 10, on 100 nodes); with --gangs each is a gang
        of 1 to 16, and of a session where they wait for each other's end
gerbil-sim hpe fig4|fig7|fig8|fig9|sweep|region|all [--job M|D|W:KEY=VALUE,...]... [-D KEY=VALUE]... [--out FOLDER]
        plays the queues of Pamar's figures and prints tables and the paper's claims as Markdown; into FOLDER it writes
        the same as FIGURE.md, each figure as JSON, and its charts as SVG; keys of --job are maps, load, device, store,
        cpu, reduces and reduce (counts and seconds), those of -D see gerbil-sim hpe --help; region says where HPE pays
gerbil-sim dyscale fig2|simple|fig3|fig11|fig12|fig13|fig14|park|mix|losses|all [-D KEY=VALUE]... [--out FOLDER]
        plays DyScale's figures, interactive and batch jobs on fast, slow and mixed nodes, the same way; beyond the paper, park
        stops batch tasks, mix has all mixes of cores within 84 W a node, with the energy of a job, and losses takes fast
        cores, slow cores or nodes away while jobs come (-D nodes=all -D gaps=all for the whole); keys of -D see
        gerbil-sim dyscale --help
gerbil-sim hetero fig7|fig8|fig9|fig10|table3|shares|all [-D KEY=VALUE]... [--out FOLDER]
        plays HeteroYARN's figures, K-means and Naive Bayes with boards and without, the same way, and how jobs of unlike
        needs share a cluster
gerbil-sim spmario fig2|fig3|fig4|table2|chunk|many|all [-D KEY=VALUE]... [--out FOLDER]
        plays SPMario's figures, jobs on a GPU that one disk feeds, the same way, and more jobs and GPUs than the paper has;
        keys of -D see gerbil-sim spmario --help

POLICY is NAME[:key=value,...][+WRAPPER[:key=value,...]]..., fifo+gang where none is given.
";

fn main() -> ExitCode {
    match command() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gerbil-sim: {error:#}");
            ExitCode::from(64)
        }
    }
}

struct SimOptions {
    policy: Option<String>,
    svg: Option<PathBuf>,
    json: Option<PathBuf>,
    record: Option<PathBuf>,
    trace: Option<PathBuf>,
    decisions: bool,
    nodes: u32,
    jobs: u32,
    tasks: usize,
    gangs: bool,
    seeds: u64,
    given: Vec<PathBuf>,
}

/// The policy where none is given.
const UNSAID: &str = "fifo+gang";

impl SimOptions {
    fn policy(&self) -> &str {
        self.policy.as_deref().unwrap_or(UNSAID)
    }
}

fn command() -> Result<()> {
    let mut options = SimOptions {
        policy: None,
        svg: None,
        json: None,
        record: None,
        trace: None,
        decisions: false,
        nodes: 100,
        jobs: 10_000,
        tasks: 10,
        gangs: false,
        seeds: 2_000,
        given: Vec::new(),
    };
    let mut verb = None;
    let mut arguments = Parser::from_env();
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => {
                print!("{USAGE}");
                return Ok(());
            }
            Arg::Long("policy") => options.policy = Some(arguments.value()?.string()?),
            Arg::Long("svg") => options.svg = Some(arguments.value()?.into()),
            Arg::Long("json") => options.json = Some(arguments.value()?.into()),
            Arg::Long("record") => options.record = Some(arguments.value()?.into()),
            Arg::Long("trace") => options.trace = Some(arguments.value()?.into()),
            Arg::Long("decisions") => options.decisions = true,
            Arg::Long("nodes") => options.nodes = count("--nodes", &mut arguments)?,
            Arg::Long("jobs") => options.jobs = count("--jobs", &mut arguments)?,
            Arg::Long("tasks") => {
                options.tasks = usize::try_from(count("--tasks", &mut arguments)?)?
            }
            Arg::Long("gangs") => options.gangs = true,
            Arg::Long("seeds") => options.seeds = count("--seeds", &mut arguments)?.into(),
            Arg::Value(value) if verb.is_none() && value == HpeWorld::NAME => {
                return figures::<HpeWorld>(arguments);
            }
            Arg::Value(value) if verb.is_none() && value == HeteroWorld::NAME => {
                return figures::<HeteroWorld>(arguments);
            }
            Arg::Value(value) if verb.is_none() && value == DyScaleWorld::NAME => {
                return figures::<DyScaleWorld>(arguments);
            }
            Arg::Value(value) if verb.is_none() && value == SpmarioWorld::NAME => {
                return figures::<SpmarioWorld>(arguments);
            }
            Arg::Value(value) if verb.is_none() && value == "trace" => {
                return traces(arguments);
            }
            Arg::Value(value) if verb.is_none() => verb = Some(value.string()?),
            Arg::Value(value) => options.given.push(value.into()),
            odd => return Err(odd.unexpected().into()),
        }
    }
    match verb.as_deref() {
        Some("run") => run(&options),
        Some("replay") => replay(&options),
        Some("compare") => compare(&options),
        Some("policies") => policies(),
        Some("bench") => measure(&options),
        Some("duel") => duels(options.seeds),
        Some(other) => bail!("{other:?} is no command\n{USAGE}"),
        None => bail!("no command\n{USAGE}"),
    }
}

fn policies() -> Result<()> {
    for (title, table) in [
        ("policies", POLICIES),
        ("wrappers", WRAPPERS),
        ("read orders of GPU tasks", READ_ORDERS),
    ] {
        println!("{title}:");
        for (name, keys) in table {
            println!("  {name:<15} {}", keys.join(", "));
        }
    }
    Ok(())
}
