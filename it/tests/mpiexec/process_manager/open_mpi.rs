//! Programs of Open MPI, whose ranks find a PMIx server out of their own libpmix: on this machine, and on the nodes of
//! a cluster, which have nothing of it.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use it::bed::{Case, Given, text_of};
use it::load::Usage;
use it::victims::{kill_pmix_server, pmix_server};
use it::{Finished, Mpi4py, OpenMpi, wait};

pub const CASES: &[(&str, Case)] = &[
    ("Open MPI: ranks of one container find each other", together),
    ("Open MPI: an abort ends the job with its code", aborted),
    ("Open MPI: a rank that is killed ends the job", killed),
    (
        "Open MPI: a server that is killed ends the job, and its end is named",
        without_server,
    ),
    (
        "Open MPI: ranks of several containers find each other",
        apart,
    ),
    (
        "Open MPI: ranks send and put much where none may read another's memory",
        refused_memory,
    ),
    ("Open MPI: groups meet through a published name", met),
    (
        "Open MPI: what ranks spawn meets them, wherever it runs",
        spawned,
    ),
    (
        "Open MPI: a spawn that cannot be, and an abort of a spawned rank",
        not_spawned,
    ),
    (
        "Open MPI: a server forgets the groups that are over",
        forgotten,
    ),
    ("Open MPI: a pool of mpi4py's spawned workers", pool),
    (
        "Open MPI: nodes get a program with all that it opens",
        staged,
    ),
    ("Open MPI: mpi4py finds it in its environment", of_python),
    (
        "Open MPI: a script is served by a libpmix that is named",
        of_script,
    ),
];

/// Runs a program of Open MPI on this machine, after which none of its files is left where all processes share them.
fn local(given: &Given, program: &str, ranks: &str, arguments: &[&str]) -> Result<Finished> {
    let program = text_of(&OpenMpi::install()?.program(program, &given.folder)?)?;
    let before = shared()?;
    let line = [&["--local", "-n", ranks, &program], arguments].concat();
    let finished = given.gerbil(&line)?.finish()?;
    let mut left = shared()?;
    left.retain(|name| !before.contains(name));
    ensure!(left.is_empty(), "left in /dev/shm: {left:?}");
    Ok(finished)
}

fn shared() -> Result<Vec<String>> {
    let names = fs::read_dir("/dev/shm")?.map(|entry| text_of(&entry?.path()));
    names.collect()
}

fn together(given: &Given) -> Result<()> {
    let finished = local(given, "loaded", "4", &[])?;
    let text = finished.stdout_text();
    ensure!(
        finished.code() == 0,
        "{}: {}",
        finished.code(),
        finished.stderr_text()
    );
    ensure!(text.matches(": sum 6").count() == 4, "{text}");
    ensure!(text.matches("/libpmix.so.2\n").count() == 4, "{text}");
    Ok(())
}

fn aborted(given: &Given) -> Result<()> {
    let finished = local(given, "abort", "3", &["2", "77"])?;
    let said = finished.stderr_text();
    ensure!(finished.code() == 77, "{}: {said}", finished.code());
    ensure!(said.contains("called MPI_Abort with code 77"), "{said}");
    ensure!(said.contains("MPI_ABORT was invoked on rank 2"), "{said}");
    Ok(())
}

/// As in containers that refuse the system calls for it; MPICH, which is told so in another way, does the same.
fn refused_memory(given: &Given) -> Result<()> {
    let without = text_of(&it::mpi::plain_program("no_cross_memory", &given.folder)?)?;
    let script = format!("exec {without} \"$@\"");
    let copies = |program: String| {
        let line = ["--local", "-n", "2", &program];
        let finished = given.shell(&script, &line)?.finish()?;
        let mut lines: Vec<String> = finished.stdout_text().lines().map(Into::into).collect();
        lines.sort();
        let done =
            ["0: put", "0: sent", "1: put", "1: sent"].map(|what| format!("{what}, 0 wrong"));
        ensure!(lines == done && finished.code() == 0, "{finished:?}");
        Ok(())
    };
    copies(text_of(
        &OpenMpi::install()?.program("large", &given.folder)?,
    )?)?;
    copies(given.program("large")?)
}

/// Two containers of this machine are two nodes, and a rank may ask for another one's address when it needs it.
fn apart(given: &Given) -> Result<()> {
    let late = ["-mca", "pmix_base_async_modex", "1"];
    let late = [&late[..], &["-gmca", "pmix_base_collect_data", "0"]].concat();
    for more in [Vec::new(), late] {
        let program = text_of(&OpenMpi::install()?.program("neighbours", &given.folder)?)?;
        let line = [
            &["--local=2", "-ppn", "2", "-n", "4"],
            &more[..],
            &[&program],
        ]
        .concat();
        let finished = given.gerbil(&line)?.finish()?;
        let mut lines: Vec<String> = finished.stdout_text().lines().map(Into::into).collect();
        lines.sort();
        let found = lines == ["0 beside 0", "1 beside 0", "2 beside 2", "3 beside 2"];
        ensure!(found, "{finished:?}");
    }
    Ok(())
}

/// On two nodes, so that what one publishes another one's server asks for.
fn met(given: &Given) -> Result<()> {
    let program = text_of(&OpenMpi::install()?.program("spawn", &given.folder)?)?;
    let text = given
        .succeeds(&["-ppn", "2", "-n", "4", &program, "ports"])?
        .stdout_text();
    ensure!(text.matches(": met 2, sum 6").count() == 4, "{text}");
    let line = ["--local=2", "-ppn", "2", "-n", "4", &program];
    let text = given
        .gerbil(&[&line[..], &["names"]].concat())?
        .finish()?
        .stdout_text();
    for found in [
        "3: publish success",
        "0: lookup success <tag#7$entry#00A1$>",
        "0: missing MPI_ERR_NAME",
        "3: unpublish success",
        "0: gone MPI_ERR_NAME",
    ] {
        ensure!(text.lines().any(|line| line == found), "{found}: {text}");
    }
    Ok(())
}

/// Processes that spin, not yield, though there are more than cores: Linux 6.18 lets those that yield in several sessions
/// keep all others of the machine waiting, for half a minute.
const SPIN: [&str; 3] = ["-mca", "mpi_yield_when_idle", "0"];

/// Over two nodes; from one container into the other, one after the other; and several programs, of which one names its
/// folder and host.
fn spawned(given: &Given) -> Result<()> {
    let program = text_of(&OpenMpi::install()?.program("spawn", &given.folder)?)?;
    let line = ["-n", "2", "-ppn", "1", "-env", "MINE", "7"];
    let text = given
        .succeeds(&[&line[..], &SPIN, &[&program, "spawn", "3"]].concat())?
        .stdout_text();
    for (words, count) in [("0: spawn success", 1), (": sum 10", 5), (", mine 7", 3)] {
        ensure!(text.matches(words).count() == count, "{words}: {text}");
    }
    let local = ["--local=2", "-n", "2", "-ppn", "1"];
    let local = |arguments: &[&str]| -> Result<String> {
        let line = [&local[..], &SPIN, &[&program], arguments].concat();
        let finished = given.gerbil(&line)?.finish()?;
        ensure!(finished.code() == 0, "{finished:?}");
        Ok(finished.stdout_text())
    };
    let text = local(&["again", "3"])?;
    ensure!(text.matches("child 0: sum 3").count() == 3, "{text}");
    let text = local(&["multiple", "/tmp", "127.0.0.2"])?;
    ensure!(text.matches(": sum 21").count() == 7, "{text}");
    for (ranks, words) in [
        (0..2, "appnum 0, words first -, folder /tmp,"),
        (2..5, "appnum 1, words second -"),
    ] {
        for rank in ranks {
            let line = format!("child {rank} of 5: {words}");
            ensure!(text.contains(&line), "{line}: {text}");
        }
    }
    Ok(())
}

fn not_spawned(given: &Given) -> Result<()> {
    let finished = local(given, "spawn", "2", &["spawn", "2", "./nothing"])?;
    let said = finished.stderr_text();
    ensure!(
        said.contains("what rank 0 wants to spawn cannot be") && said.contains("./nothing"),
        "{finished:?}"
    );
    let text = finished.stdout_text();
    ensure!(text.contains("0: spawn another error"), "{finished:?}");
    let finished = local(given, "spawn", "2", &["abort"])?;
    let said = finished.stderr_text();
    ensure!(finished.code() == 9, "{}: {said}", finished.code());
    ensure!(said.contains("rank 2 of spawned group 1"), "{said}");
    Ok(())
}

/// Of forty groups, one after the other, each took 0.6 MB for good.
fn forgotten(given: &Given) -> Result<()> {
    let program = text_of(&OpenMpi::install()?.program("spawn", &given.folder)?)?;
    let line = [&["-n", "1"], &SPIN[..], &[&program, "again", "40"]].concat();
    let mut running = given.gerbil(&line)?.start()?;
    let mut held = Vec::new();
    while !running.is_over()? {
        if let Some(server) = pmix_server(&given.cluster)? {
            // It may have ended in between.
            held.extend(Usage::of(server.pid.try_into()?).map(|usage| usage.resident_kib));
        }
        wait::pause(Duration::from_millis(100));
    }
    let finished = running.finish()?;
    ensure!(finished.code() == 0, "{finished:?}");
    let quarter = held.len() / 4;
    ensure!(quarter > 0, "no PMIx server was seen: {finished:?}");
    let most = |of: &[u64]| of.iter().max().copied().unwrap_or_default();
    let (early, late) = (most(&held[..quarter]), most(&held[quarter..]));
    ensure!(late < early + 6 * 1024, "{early} KiB, and {late} KiB later");
    Ok(())
}

fn pool(given: &Given) -> Result<()> {
    let python = text_of(&Mpi4py::install_with_open_mpi()?.python())?;
    let pool = super::python::example("pool.py")?;
    let line = ["-n", "1", "--files", &pool, &python, "pool.py"];
    let text = given.succeeds(&line)?.stdout_text();
    let squares = "[0, 1, 4, 9, 16, 25, 36, 49, 64, 81]";
    ensure!(text.contains(squares), "{text}");
    Ok(())
}

fn staged(given: &Given) -> Result<()> {
    let open = OpenMpi::install()?;
    let program = text_of(&open.program("loaded", &given.folder)?)?;
    let finished = given.succeeds(&["--explain", "-ppn", "2", "-n", "4", &program])?;
    let text = finished.stdout_text();
    ensure!(text.matches(": sum 6").count() == 4, "{finished:?}");
    let chosen = format!("process manager of {program}: pmix, libpmix 5.");
    let said = finished.stderr_text();
    ensure!(said.contains(&chosen), "{said}");
    ensure!(said.contains(" of the program ("), "{said}");
    let of = |name: &str| text.lines().filter(|line| line.ends_with(name)).count();
    ensure!(of(".tar/libmpi.so.40") == 4, "{text}");
    ensure!(of(".tar/libpmix.so.2") == 4, "{text}");
    let here = open.folder().display().to_string();
    ensure!(!text.contains(&here), "{text}");
    let abort = text_of(&open.program("abort", &given.folder)?)?;
    let finished = given
        .gerbil(&["-ppn", "2", "-n", "4", &abort, "3", "77"])?
        .finish()?;
    let said = finished.stderr_text();
    ensure!(finished.code() == 77, "{}: {said}", finished.code());
    for word in ["code 77", "MPI_ABORT was invoked on rank 3"] {
        ensure!(said.contains(word), "{said}");
    }
    Ok(())
}

/// Its library is known by the environment alone.
fn of_python(given: &Given) -> Result<()> {
    let python = text_of(&Mpi4py::install_with_open_mpi()?.python())?;
    let hello = "from mpi4py import MPI\n\
                 c = MPI.COMM_WORLD\n\
                 print(MPI.Get_library_version().split(',')[0], c.allreduce(c.rank))";
    let line = ["-n", "4", "-ppn", "2", &python, "-c", hello];
    let text = given.succeeds(&line)?.stdout_text();
    ensure!(text.matches("Open MPI v5").count() == 4, "{text}");
    ensure!(text.matches(" 6\n").count() == 4, "{text}");
    Ok(())
}

/// Nothing tells which MPI library a script's program loads; a rank that is alone ends the job with what to do.
fn of_script(given: &Given) -> Result<()> {
    let open = OpenMpi::install()?;
    let program = text_of(&open.program("loaded", &given.folder)?)?;
    let run = |more: &[&str], command: &str| {
        let script = ["sh", "-c", command];
        let line = [&["-ppn", "2", "-n", "4"], more, &script].concat();
        given.gerbil(&line)?.finish()
    };
    let library = text_of(&open.folder().join("lib/openmpi/libpmix.so.2"))?;
    let finished = run(&["--pmix", &library], &program)?;
    let text = finished.stdout_text();
    ensure!(text.matches(": sum 6").count() == 4, "{finished:?}");
    let python = text_of(&Mpi4py::install_with_open_mpi()?.python())?;
    let waits = "import time; from mpi4py import MPI; time.sleep(20)";
    let alone = run(&[], &format!("{python} -c '{waits}'"))?;
    let said = alone.stderr_text();
    ensure!(alone.code() == 65, "{}: {said}", alone.code());
    ensure!(
        said.contains("runs alone")
            && said.contains("--pmix LIBPMIX")
            && said.contains("/openmpi/libpmix.so.2"),
        "{said}"
    );
    Ok(())
}

/// All others wait for it in a barrier.
fn killed(given: &Given) -> Result<()> {
    let finished = local(given, "segv", "3", &["1"])?;
    let said = finished.stderr_text();
    let code = finished.code();
    ensure!(code == 128 + 11, "{code}: {said}");
    said.lines()
        .find(|line| line.contains("signal 11"))
        .with_context(|| format!("no word of the signal: {said}"))?;
    Ok(())
}

/// Without it each of its ranks would run on alone; those of the other container are ended, too.
fn without_server(given: &Given) -> Result<()> {
    let open = OpenMpi::install()?;
    let program = text_of(&open.program("loaded", &given.folder)?)?;
    let library = text_of(&open.folder().join("lib/openmpi/libpmix.so.2"))?;
    let script = format!("{program}; exec sleep 600");
    let line = [
        "-ppn", "2", "-n", "4", "--pmix", &library, "sh", "-c", &script,
    ];
    let mut running = given.gerbil(&line)?.start()?;
    running.wait_for_stdout(": sum 6")?;
    kill_pmix_server(&given.cluster)?;
    let finished = running.finish()?;
    let said = finished.stderr_text();
    ensure!(finished.code() == 70, "{}: {said}", finished.code());
    let words = [
        "the PMIx server of the ranks (",
        ") was killed by signal 9 (SIGKILL)",
    ];
    ensure!(words.iter().all(|words| said.contains(words)), "{said}");
    given.is_clean()
}
