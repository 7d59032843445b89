//! How it fails, on a real cluster: in each case one clear sentence, a true exit code, and nothing left.
//! What happens to a job from outside is `chaos`.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use it::process::signal_by_id;
use it::resource_manager::ApplicationReport;
use it::settings::File as Setting;
use it::{Cluster, Daemon, Finished, Mpich, Shared, Version, expect, gerbil, mpi, wait};
use libtest_mimic::{Arguments, Failed, Trial};
use nix::sys::signal::Signal;

/// Long enough for a cold start on a busy machine, short beside any of YARN's own time-outs.
const DEADLINE: Duration = Duration::from_secs(120);
/// YARN starts a second AM or ends the application; orphans end by their leases.
const LOST: Duration = Duration::from_secs(180);

/// What a case is given: a cluster of two nodes and a folder for what is compiled.
struct Given {
    cluster: Arc<Cluster>,
    programs: PathBuf,
}

type Case = fn(&Given) -> Result<()>;

/// In this order: the last ones hurt the cluster.
const CASES: [(&str, Case); 24] = [
    ("program not found", program_not_found),
    ("program not executable", program_not_executable),
    ("program for another architecture", wrong_architecture),
    ("library missing", library_missing),
    ("one rank returns 7", one_rank_returns_7),
    ("one rank is hit by SIGSEGV", one_rank_segfaults),
    ("MPI_Abort(77)", abort_77),
    ("a rank returns 5 before MPI_Init", exit_before_init),
    ("a rank returns 0 before MPI_Init", quiet_exit_before_init),
    ("no such queue", no_such_queue),
    ("more memory than any node has", too_much_memory),
    ("nonsense on the command line", nonsense),
    ("no settings", no_settings),
    ("wrong ResourceManager address", wrong_address),
    ("a port that speaks HTTP", http_port),
    ("a port that speaks something else", other_port),
    ("a port that says nothing", silent_port),
    ("100 MB of output from each rank", flood),
    ("output without a newline", no_newline),
    ("Ctrl-C on a program that ignores signals", stubborn),
    ("ranks leave processes behind", escape),
    ("no home folder", no_home),
    ("quota full", quota_full),
    ("HDFS in safe mode", safe_mode),
];

/// Each on a cluster of its own.
const ALONE: [(&str, Case); 2] = [
    ("HDFS down", hdfs_down),
    (
        "NodeManager dies between grant and start",
        node_manager_dies,
    ),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // The cases share the cluster, and each looks whether anything is left on it.
    arguments.test_threads = Some(1);
    let builder = Cluster::builder().nodes(2);
    let shared = Arc::new(Shared::new(builder.clone()));
    let Ok(folder) = tempfile::tempdir() else {
        return ExitCode::FAILURE;
    };
    let mut trials = Vec::new();
    for (name, case) in CASES {
        let (shared, programs) = (Arc::clone(&shared), folder.path().to_owned());
        trials.push(Trial::test(name, move || {
            let cluster = shared.cluster(Version::V3_4_2).map_err(failed)?;
            run(&Given { cluster, programs }, case)
        }));
    }
    for (name, case) in ALONE {
        let (shared, builder, programs) = (
            Arc::clone(&shared),
            builder.clone(),
            folder.path().to_owned(),
        );
        trials.push(Trial::test(name, move || {
            shared.end().map_err(failed)?;
            let cluster = Arc::new(builder.clone().start().map_err(failed)?);
            run(&Given { cluster, programs }, case)
        }));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    match shared.end() {
        Ok(()) => conclusion.exit_code(),
        Err(_) => ExitCode::FAILURE,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the form that map_err takes")]
fn failed(error: anyhow::Error) -> Failed {
    format!("{error:?}").into()
}

fn run(given: &Given, case: Case) -> Result<(), Failed> {
    let answer = case(given).map_err(|error| format!("{error:?}\n{}", given.cluster.log_tails()));
    if answer.is_err() {
        // The next case starts clean: what this one left has been reported.
        drop(it::sweep::kill_all(
            &given.cluster.folder().join("nodes"),
            DEADLINE,
        ));
        for path in given.cluster.hdfs().staged("jobs").into_iter().flatten() {
            drop(given.cluster.hdfs().remove(&path));
        }
    }
    answer.map_err(Failed::from)
}

impl Given {
    fn path(&self, name: &str) -> String {
        self.programs.join(name).to_string_lossy().into_owned()
    }

    /// A program under it/programs, compiled with MPICH 5.
    fn program(&self, name: &str) -> Result<String> {
        Mpich::install()?.program(name, &self.programs)?;
        Ok(self.path(name))
    }

    fn run(&self, arguments: &[&str]) -> Result<Finished> {
        gerbil::run(&self.cluster, arguments)?
            .deadline(DEADLINE)
            .finish()
    }

    fn succeeds(&self, arguments: &[&str]) -> Result<Finished> {
        expect::job(
            &self.cluster,
            gerbil::run(&self.cluster, arguments)?.deadline(DEADLINE),
        )
    }

    /// Runs and expects `code` and a sentence with `words`, and nothing left.
    fn fails(&self, arguments: &[&str], code: i32, words: &[&str]) -> Result<Finished> {
        let finished = self.run(arguments)?;
        expect::failure(&self.cluster, &finished, code, words)?;
        Ok(finished)
    }

    /// The same, when nothing may have been submitted either.
    fn refused(&self, arguments: &[&str], code: i32, words: &[&str]) -> Result<()> {
        let before = self.applications()?.len();
        self.fails(arguments, code, words)?;
        ensure!(
            self.applications()?.len() == before,
            "an application was submitted"
        );
        Ok(())
    }

    fn applications(&self) -> Result<Vec<ApplicationReport>> {
        self.cluster.resource_manager().applications()
    }

    /// The newest application, when YARN has recorded its end.
    fn ended(&self, deadline: Duration) -> Result<ApplicationReport> {
        wait::until("the application's end", deadline, || {
            Ok(self
                .applications()?
                .pop()
                .filter(ApplicationReport::is_over))
        })
    }

    /// YARN's record says that the job failed, with these words.
    fn recorded_failure(&self, words: &[&str]) -> Result<()> {
        let report = self.ended(DEADLINE)?;
        ensure!(report.final_status == "FAILED", "{report:?}");
        ensure!(
            words.iter().all(|word| report.diagnostics.contains(word)),
            "no {words:?} in {report:?}"
        );
        Ok(())
    }

    /// The pids of the AM's processes, of whatever attempt.
    fn am_processes(&self) -> Result<Vec<i32>> {
        let all = self.cluster.container_processes()?;
        let of_am = |id: &String| id.ends_with("_000001");
        Ok(all
            .iter()
            .filter(|found| found.container.as_ref().is_some_and(of_am))
            .map(|found| found.pid)
            .collect())
    }

    /// A copy of the client's settings with other ones on top.
    fn settings(&self, name: &str, changes: &[(Setting, &str, &str)]) -> Result<PathBuf> {
        let folder = self.programs.join(name);
        fs::create_dir_all(&folder)?;
        for found in fs::read_dir(self.cluster.conf_dir())? {
            let found = found?;
            fs::copy(found.path(), folder.join(found.file_name()))?;
        }
        for (file, name, value) in changes {
            let path = folder.join(file.name());
            let old = fs::read_to_string(&path)?;
            let property = format!(
                "<property><name>{name}</name><value>{value}</value></property>\n</configuration>"
            );
            fs::write(&path, old.replace("</configuration>", &property))?;
        }
        Ok(folder)
    }

    /// With the ResourceManager said to be at `address`: it cannot be reached, and the sentence names it.
    fn unreachable(&self, address: &str, words: &[&str]) -> Result<()> {
        let conf = self.settings(
            "elsewhere",
            &[(Setting::Yarn, "yarn.resourcemanager.address", address)],
        )?;
        let program = self.program("linger")?;
        let finished = gerbil::run_with(&conf, ["-n", "2", &program, "0"])?
            .deadline(DEADLINE)
            .finish()?;
        let mut all = vec![address];
        all.extend(words);
        expect::failure(&self.cluster, &finished, 69, &all)
    }
}

fn program_not_found(given: &Given) -> Result<()> {
    given.refused(
        &["-n", "2", "./no-such-program"],
        127,
        &["no-such-program", "not found"],
    )
}

fn program_not_executable(given: &Given) -> Result<()> {
    let path = given.path("plain-text");
    fs::write(&path, "not a program\n")?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
    given.refused(&["-n", "2", &path], 126, &["plain-text", "not executable"])
}

fn wrong_architecture(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    let mut bytes = fs::read(program)?;
    // e_machine of the ELF header: whatever this machine is, the copy is for the other.
    bytes[18] = if bytes[18] == 183 { 62 } else { 183 };
    let path = given.path("foreign");
    fs::write(&path, bytes)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    given.refused(&["-n", "2", &path], 126, &["foreign", "built for"])
}

fn library_missing(given: &Given) -> Result<()> {
    let folder = given.programs.join("missing");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("absent.c"), "int absent(void) { return 0; }\n")?;
    fs::write(
        folder.join("needs_it.c"),
        "int absent(void);\nint main(void) { return absent(); }\n",
    )?;
    let library = folder.join("libabsent.so");
    let cc = it::process::find("cc".as_ref())?;
    let built = mpi::compile(
        &cc,
        &folder.join("absent.c"),
        &folder,
        &["-shared", "-fPIC"],
    )?;
    fs::rename(built, &library)?;
    let search = format!("-L{}", folder.display());
    let program = mpi::compile(
        &cc,
        &folder.join("needs_it.c"),
        &folder,
        &[&search, "-labsent"],
    )?;
    fs::remove_file(library)?;
    given.refused(
        &["-n", "2", &program.to_string_lossy()],
        126,
        &["libabsent.so", "not found"],
    )
}

fn one_rank_returns_7(given: &Given) -> Result<()> {
    let program = given.program("exit_code")?;
    given.fails(&["-n", "4", &program, "2", "7"], 7, &["rank 2", "code 7"])?;
    given.recorded_failure(&["rank 2", "7"])
}

fn one_rank_segfaults(given: &Given) -> Result<()> {
    let program = given.program("segv")?;
    given.fails(&["-n", "4", &program, "1"], 139, &["rank 1", "SIGSEGV"])?;
    given.recorded_failure(&["rank 1", "SIGSEGV"])
}

fn abort_77(given: &Given) -> Result<()> {
    let program = given.program("abort")?;
    given.fails(&["-n", "4", &program, "3", "77"], 77, &["rank 3", "77"])?;
    given.recorded_failure(&["rank 3", "77"])
}

fn exit_before_init(given: &Given) -> Result<()> {
    let program = given.program("exit_before_init")?;
    given.fails(&["-n", "4", &program, "1", "5"], 5, &["rank 1", "code 5"])?;
    Ok(())
}

fn quiet_exit_before_init(given: &Given) -> Result<()> {
    let program = given.program("exit_before_init")?;
    let finished = given.run(&["-n", "4", &program, "1", "0"])?;
    ensure!(finished.code() != 0, "the job is said to have succeeded");
    expect::failure(
        &given.cluster,
        &finished,
        finished.code(),
        &["rank 1", "MPI_Init"],
    )
}

fn no_such_queue(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    given.refused(
        &["--queue", "nosuchqueue", "-n", "2", &program, "0"],
        65,
        &["nosuchqueue", "default"],
    )
}

fn too_much_memory(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    given.refused(
        &["--mem-per-proc", "100000", "-n", "2", &program, "0"],
        65,
        &["100000", "8192"],
    )
}

fn nonsense(given: &Given) -> Result<()> {
    let finished = given.run(&["--no-such-flag"])?;
    ensure!(
        finished.code() == 64,
        "exit code {}: {}",
        finished.code(),
        finished.stderr_text()
    );
    ensure!(
        finished.stderr_text().contains("--no-such-flag"),
        "{}",
        finished.stderr_text()
    );
    let finished = given.run(&["-n", "0", "./x"])?;
    ensure!(
        finished.code() == 64,
        "exit code {}: {}",
        finished.code(),
        finished.stderr_text()
    );
    Ok(())
}

fn no_settings(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    let empty = given.programs.join("no-settings");
    fs::create_dir_all(&empty)?;
    let finished = gerbil::run_with(&empty, ["-n", "2", &program, "0"])?
        .deadline(DEADLINE)
        .finish()?;
    expect::sentence(&finished, 78, &["yarn-site.xml", "no-settings"])
}

fn wrong_address(given: &Given) -> Result<()> {
    // The cluster's own network, where nothing else listens.
    let host = given.cluster.nodes()[0].host;
    given.unreachable(&format!("{host}:8032"), &[])
}

fn http_port(given: &Given) -> Result<()> {
    let address = given
        .cluster
        .resource_manager_address()
        .replace(":8032", ":8088");
    given.unreachable(&address, &["HTTP"])
}

fn other_port(given: &Given) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    // Ends with the process; it holds nothing but a socket.
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let mut connection = connection;
            drop(connection.write_all(b"SSH-2.0-Elsewhere\r\n"));
        }
    });
    given.unreachable(&address, &[])
}

fn silent_port(given: &Given) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?.to_string();
    let mut held = Vec::new();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            held.push(connection);
        }
    });
    given.unreachable(&address, &[])
}

fn flood(given: &Given) -> Result<()> {
    const MIB: u64 = 100;
    const RANKS: usize = 4;
    let program = given.program("flood")?;
    let path = given.programs.join("flood.out");
    let output = File::create(&path)?;
    let arguments = ["-n".to_owned(), RANKS.to_string(), program, MIB.to_string()];
    let run = gerbil::run(&given.cluster, arguments)?;
    expect::job(
        &given.cluster,
        run.stdout_to(output).deadline(Duration::from_secs(400)),
    )?;
    let mut next = [0_u64; RANKS];
    for line in BufReader::new(File::open(&path)?).lines() {
        let line = line?;
        let mut words = line.split(' ');
        let rank: usize = words
            .next()
            .context("an empty line")?
            .parse()
            .with_context(|| line.clone())?;
        let number: u64 = words
            .next()
            .context("a short line")?
            .parse()
            .with_context(|| line.clone())?;
        ensure!(line.len() == 63 && rank < RANKS, "{line:?}");
        ensure!(
            number == next[rank],
            "rank {rank}: line {number} instead of {}",
            next[rank]
        );
        next[rank] += 1;
    }
    fs::remove_file(path)?;
    ensure!(next == [MIB * (1 << 20) / 64; RANKS], "lines: {next:?}");
    Ok(())
}

fn no_newline(given: &Given) -> Result<()> {
    let program = given.program("no_newline")?;
    let finished = given.succeeds(&["-n", "4", &program])?;
    let stdout = finished.stdout_text();
    for rank in 0..4 {
        let count = stdout.matches(&format!("<rank {rank} ends here>")).count();
        ensure!(
            count == 1,
            "rank {rank} is there {count} times in {stdout:?}"
        );
    }
    Ok(())
}

fn stubborn(given: &Given) -> Result<()> {
    let program = given.program("stubborn")?;
    let mut running = gerbil::run(&given.cluster, ["-n", "2", &program])?
        .deadline(DEADLINE)
        .start()?;
    running.wait_for_stdout("ready")?;
    running.signal(Signal::SIGINT)?;
    let finished = running.finish()?;
    expect::failure(&given.cluster, &finished, 130, &[])?;
    given.ended(DEADLINE)?;
    Ok(())
}

fn escape(given: &Given) -> Result<()> {
    let program = given.program("escape")?;
    given.succeeds(&["-n", "2", &program])?;
    Ok(())
}

fn no_home(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    let run = gerbil::run(&given.cluster, ["-n", "2", &program, "0"])?
        .env("HADOOP_USER_NAME", "homeless");
    let finished = run.deadline(DEADLINE).finish()?;
    expect::failure(&given.cluster, &finished, 74, &["homeless", "home folder"])
}

fn quota_full(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    given.cluster.hdfs().make_home("poor")?;
    // The folder itself is the one name that the quota allows.
    given.cluster.dfs_admin(&["-setQuota", "1", "/user/poor"])?;
    let run =
        gerbil::run(&given.cluster, ["-n", "2", &program, "0"])?.env("HADOOP_USER_NAME", "poor");
    let finished = run.deadline(DEADLINE).finish()?;
    expect::failure(&given.cluster, &finished, 74, &["quota"])
}

fn safe_mode(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    // Never staged before, whatever the cases before have staged.
    fs::OpenOptions::new()
        .append(true)
        .open(&program)?
        .write_all(b"new")?;
    given.cluster.safe_mode(true)?;
    let finished = given.run(&["-n", "2", &program, "0"]);
    given.cluster.safe_mode(false)?;
    expect::failure(&given.cluster, &finished?, 69, &["safe mode"])
}

fn hdfs_down(given: &Given) -> Result<()> {
    let program = given.program("linger")?;
    given.cluster.kill(Daemon::NameNode)?;
    let finished = given.run(&["-n", "2", &program, "0"])?;
    expect::sentence(&finished, 69, &["HDFS", &given.cluster.name_node_address()])?;
    ensure!(
        given.applications()?.is_empty(),
        "an application was submitted"
    );
    ensure!(
        given.cluster.container_processes()?.is_empty(),
        "processes are left"
    );
    given.cluster.start(Daemon::NameNode)?;
    given.cluster.wait_for_hdfs()?;
    given.cluster.wait_until_clean(DEADLINE)
}

/// The AM is frozen between its ask and the answer, so that it learns of the grant only when the
/// NodeManager that granted is dead.
fn node_manager_dies(given: &Given) -> Result<()> {
    let linger = given.program("linger")?;
    let line = ["--restarts", "0", "-n", "2", &linger, "600"];
    let running = gerbil::run(&given.cluster, line)?.deadline(LOST).start()?;
    let busy = |at_least: u32| -> Result<Vec<String>> {
        let nodes = given.cluster.resource_manager().nodes()?;
        Ok(nodes
            .into_iter()
            .filter(|node| node.num_containers >= at_least)
            .map(|node| node.id)
            .collect())
    };
    wait::until("the AM to register", DEADLINE, || {
        let running = given
            .applications()?
            .iter()
            .any(|report| report.state == "RUNNING");
        Ok(running.then_some(()))
    })
    .with_context(|| running.stderr_so_far())?;
    let am = given.am_processes()?;
    ensure!(!am.is_empty(), "no process of the AM");
    let signal_am = |signal| am.iter().try_for_each(|pid| signal_by_id(*pid, signal));
    // Frozen for moments until its ask has been granted on both nodes.
    let granted = wait::until("a grant on both nodes", DEADLINE, || {
        signal_am(Signal::SIGSTOP)?;
        // Two heartbeats of the NodeManagers, in which the RM grants what it has been asked.
        let granted = wait::until("grants", Duration::from_millis(2500), || {
            Ok(Some(busy(1)?).filter(|on| on.len() == 2))
        });
        if granted.is_err() {
            signal_am(Signal::SIGCONT)?;
        }
        Ok(granted.ok())
    })?;
    ensure!(granted.len() == 2, "{granted:?}");
    // The victim is the node that does not run the AM.
    let with_am = given.cluster.container_processes()?;
    let victim = given.cluster.nodes().into_iter().find(|node| {
        let folder = node.folder.to_string_lossy().into_owned() + "/";
        !with_am.iter().any(|found| {
            found
                .arguments
                .iter()
                .any(|argument| argument.contains(&folder))
        })
    });
    let Some(victim) = victim else {
        bail!("both nodes run containers before the AM could start any: {with_am:?}")
    };
    given.cluster.kill(Daemon::NodeManager(victim.index))?;
    signal_am(Signal::SIGCONT)?;
    let finished = running.finish()?;
    expect::failure(&given.cluster, &finished, 70, &[&victim.host.to_string()])
}
