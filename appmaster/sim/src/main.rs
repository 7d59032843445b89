//! `gerbil-sim`: workloads on virtual time, from the command line.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command that prints"
)]

use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, Result, bail, ensure};
use lexopt::{Arg, Parser, ValueExt as _};
use policy::gang::Allocator;
use policy::read_order::READ_ORDERS;
use policy::schedule::{POLICIES, WRAPPERS, named};
use policy::{Demand, allocate};
use sim::duel::allocators::full_or_not;
use sim::duel::tournament;
use sim::dyscale::DyScaleWorld;
use sim::figure::{FigureWorld, PaperFigure};
use sim::hetero::HeteroWorld;
use sim::hpe::HpeWorld;
use sim::recorded::RecordedSession;
use sim::spmario::SpmarioWorld;
use sim::{Workload, WorkloadRun, bench, gantt, record, report, whole};

const USAGE: &str = "\
gerbil-sim run WORKLOAD.json [--policy POLICY] [--svg FILE] [--json FILE] [--record FILE] [--decisions]
        plays a workload and prints when each job was done; the SVG and the JSON are Gantt charts, the record has
        what the policy was told and what it decided, line by line
gerbil-sim replay RECORD [--policy POLICY]
        tells a policy what a record has (gerbil session start --record writes one), and says where it decides otherwise;
        the record's own policy where none is given
gerbil-sim compare RECORD [--policy POLICY] [--json FILE]
        makes a workload of a session's record, plays it, and prints each job's end beside the recorded one; under the
        record's own policy where none is given; the JSON is the workload
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

/// Of `bench` and `duel`: nodes, jobs, tasks of a job, seeds, and all tasks of `bench` together, at the most.
const MOST: u32 = 1_000_000;
const TASKS: u64 = 10_000_000;

fn count(name: &str, arguments: &mut Parser) -> Result<u32> {
    whole(name, &arguments.value()?.string()?, 1..=MOST)
}

fn run(options: &SimOptions) -> Result<()> {
    let [path] = options.given.as_slice() else {
        bail!("run wants one workload\n{USAGE}")
    };
    let workload = Workload::read(path)?;
    let begin = Instant::now();
    let mut play = WorkloadRun::new(&workload, named(options.policy())?).timed();
    if options.record.is_some() {
        play = play.recording();
    }
    let outcome = play.play()?;
    let took = begin.elapsed();
    if options.decisions {
        for (at, decision) in &outcome.decisions {
            println!(
                "{:>12.6} {decision:?}",
                std::time::Duration::from_nanos(at.0).as_secs_f64()
            );
        }
    }
    print!("{}", report::table(&outcome));
    println!(
        "{} events in {:.3} s; about {:.3} s of processor time in the session and its policy (one event of {} was timed)",
        outcome.events,
        took.as_secs_f64(),
        outcome.deciding.as_secs_f64(),
        sim::TIMED_OF
    );
    if let Some(path) = &options.record {
        let file = File::create(path).with_context(|| format!("writing {}", path.display()))?;
        record::write(&outcome.record, BufWriter::new(file))?;
    }
    if let Some(path) = &options.svg {
        std::fs::write(path, gantt::svg(&outcome))
            .with_context(|| format!("writing {}", path.display()))?;
    }
    if let Some(path) = &options.json {
        let bars = serde_json::to_string_pretty(&outcome.bars)?;
        std::fs::write(path, bars).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// `gerbil-sim hpe …` and the like.
fn figures<World: FigureWorld>(mut arguments: Parser) -> Result<()> {
    let (mut world, mut name, mut out) = (World::default(), None::<String>, None);
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => {
                let (command, keys) = (World::NAME, World::KEYS);
                print!("{USAGE}\nKeys of gerbil-sim {command} -D:\n{keys}");
                return Ok(());
            }
            Arg::Long("job") => world.set_job(&arguments.value()?.string()?)?,
            Arg::Short('D') => world.set(&arguments.value()?.string()?)?,
            Arg::Long("out") => out = Some(PathBuf::from(arguments.value()?)),
            Arg::Value(value) if name.is_none() => name = Some(value.string()?),
            odd => return Err(odd.unexpected().into()),
        }
    }
    let Some(name) = name else {
        bail!(
            "{} wants a figure: {}",
            World::NAME,
            World::FIGURES.listed()
        )
    };
    show(&name, &World::FIGURES.make(&name, &world)?, out.as_deref())
}

/// Prints figures, and writes them into a folder.
fn show(name: &str, figures: &[PaperFigure], out: Option<&Path>) -> Result<()> {
    let pages: Vec<String> = figures.iter().map(PaperFigure::markdown).collect();
    let page = pages.join("\n");
    print!("{page}");
    let Some(folder) = out else { return Ok(()) };
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
    };
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    write(&format!("{name}.md"), &page)?;
    for figure in figures {
        let text = serde_json::to_string_pretty(figure)?;
        write(&format!("{}.json", figure.name), &text)?;
        for drawing in &figure.drawings {
            write(&format!("{}.svg", drawing.name), &drawing.svg)?;
        }
    }
    Ok(())
}

fn replay(options: &SimOptions) -> Result<()> {
    let [path] = options.given.as_slice() else {
        bail!("replay wants one record\n{USAGE}")
    };
    let file = File::open(path).with_context(|| format!("reading {}", path.display()))?;
    let (recorded, lines) = record::open(BufReader::new(file))?;
    let policy = options.policy.clone().or(recorded);
    let policy = policy.as_deref().unwrap_or(UNSAID);
    let same = record::replay_lines(named(policy)?, lines)?;
    println!("{same} decisions of {policy}, the same as recorded");
    Ok(())
}

fn compare(options: &SimOptions) -> Result<()> {
    let [path] = options.given.as_slice() else {
        bail!("compare wants one record\n{USAGE}")
    };
    let file = File::open(path).with_context(|| format!("reading {}", path.display()))?;
    let session = RecordedSession::read(BufReader::new(file), options.policy())?;
    let policy = options.policy.as_deref().unwrap_or(&session.policy);
    print!("{}", session.table(&session.play(policy)?));
    if let Some(path) = &options.json {
        let workload = serde_json::to_string_pretty(&session.workload)?;
        std::fs::write(path, workload).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
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

fn duels(seeds: u64) -> Result<()> {
    let fight = |name: &str, place: Allocator, oversubscribe: bool| {
        let sum = tournament(0..seeds, place, |demand: &mut Demand| {
            demand.oversubscribe = oversubscribe;
        })?;
        println!("{name}: {sum:?}");
        anyhow::Ok(())
    };
    fight("sharing", allocate::place, true)?;
    fight("without sharing", allocate::place, false)?;
    fight("waiting for full nodes", full_or_not, true)?;
    Ok(())
}

fn measure(options: &SimOptions) -> Result<()> {
    let SimOptions {
        nodes, jobs, tasks, ..
    } = options;
    let policy = options.policy();
    if options.gangs {
        return of_gangs(policy, *nodes, *jobs);
    }
    let all = u64::from(*jobs).saturating_mul(u64::try_from(*tasks)?);
    ensure!(
        all <= TASKS,
        "{jobs} jobs of {tasks} tasks are {all} tasks: {TASKS} in all are the most"
    );
    let ends = u32::try_from(tasks.saturating_mul(usize::try_from(*jobs)?))?.min(20_000);
    let figures = bench::decisions(policy, *nodes, *jobs, *tasks, ends)?;
    println!(
        "{policy}, {nodes} nodes of 8 slots, {jobs} jobs of {tasks} tasks: {} events and {} decisions, mean {:.2} µs an event, {:.0} events/s; told once more, each timed: worst {:.0} µs",
        figures.events,
        figures.decisions,
        figures.mean.as_secs_f64() * 1e6,
        1.0 / figures.mean.as_secs_f64().max(1e-12),
        figures.worst.as_secs_f64() * 1e6,
    );
    let speed = bench::simulator(policy, *nodes, *jobs, u32::try_from(*tasks)?)?;
    let alone = speed.total.saturating_sub(speed.deciding);
    let events = f64::from(u32::try_from(speed.events)?);
    println!(
        "the same jobs played to their end: {} events in {:.2} s of processor time, {:.0} events/s; {:.2} s of it the simulator's own, {:.0} events/s",
        speed.events,
        speed.total.as_secs_f64(),
        events / speed.total.as_secs_f64().max(1e-12),
        alone.as_secs_f64(),
        events / alone.as_secs_f64().max(1e-12),
    );
    Ok(())
}

/// Gangs that end and come while others wait.
const TURNS: u32 = 2_000;

fn of_gangs(policy: &str, nodes: u32, jobs: u32) -> Result<()> {
    let bench::Waiting { turns, words, wait } = bench::gangs(policy, nodes, jobs, TURNS)?;
    println!(
        "{policy}, {nodes} nodes of 8 slots, {wait} gangs of 1 to 16 wait: {} events and {} decisions, mean {:.1} µs, worst {:.0} µs an event; why each of them waits takes {:.1} ms",
        turns.events,
        turns.decisions,
        turns.mean.as_secs_f64() * 1e6,
        turns.worst.as_secs_f64() * 1e6,
        words.as_secs_f64() * 1e3,
    );
    Ok(())
}
