//! `gerbil-run --local`, and the whole of a job against a small cluster that misbehaves on order.
//!
//! The programs are shells: what MPI makes of it is another test's matter.

mod faulty;
mod in_place;
mod private;
mod told;

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// A job of a second on a busy machine.
const SOON: Duration = Duration::from_secs(40);

/// The command, in an environment without Hadoop and with its temporary files in `folder`.
fn gerbil_run(folder: &Path) -> Command {
    // What nohup, or a shell without job control, has us ignore is not the command's affair.
    let mut command = Command::new("env");
    command.args([
        "--default-signal=HUP,INT,QUIT",
        env!("CARGO_BIN_EXE_gerbil-run"),
    ]);
    for name in ["HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_HOME"] {
        command.env_remove(name);
    }
    command
        .env("TMPDIR", folder)
        .env("XDG_STATE_HOME", folder.join("state"))
        // Digests of large files are worth keeping.
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

async fn output(mut command: Command) -> Output {
    timeout(SOON, command.output()).await.unwrap().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder that others may pass through.
fn folder() -> TempDir {
    use std::os::unix::fs::PermissionsExt;
    let open = std::fs::Permissions::from_mode(0o755);
    tempfile::Builder::new()
        .permissions(open)
        .tempdir()
        .unwrap()
}

/// Runs of `--local` that have left something in `folder`.
fn left(folder: &Path) -> usize {
    let uid = nix::unistd::geteuid();
    let runs = std::fs::read_dir(folder.join(format!("gerbil-local-{uid}")));
    runs.map_or(0, Iterator::count)
}

/// An argument of `sleep` that no other process on this machine has.
fn mark(number: u32) -> String {
    format!("43.{}{number}", std::process::id())
}

/// Processes, besides this one, with `mark` among their arguments or in their environment.
fn living(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let read = |name: &str| std::fs::read(entry.path().join(name)).unwrap_or_default();
        let (line, environment) = (text(&read("cmdline")), text(&read("environ")));
        let own = entry.file_name().to_str() == Some(&std::process::id().to_string());
        if !own && (line.contains(mark) || environment.contains(mark)) {
            found.push(line.replace('\0', " "));
        }
    }
    found
}

/// Waits for the line "up"; the rest is to be held, or the command ends as one whose output is
/// refused.
async fn up<R: AsyncRead + Unpin>(stream: R) -> BufReader<R> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    let read = timeout(SOON, reader.read_line(&mut line)).await;
    read.unwrap().unwrap();
    assert_eq!(line, "up\n");
    reader
}

#[tokio::test]
async fn a_job_runs_without_hadoop_and_leaves_nothing() {
    let folder = folder();
    let mut command = gerbil_run(folder.path());
    // A Hadoop that would be refused if it were read.
    command.env("HADOOP_CONF_DIR", "/no/such/folder");
    command.args([
        "--local",
        "-n",
        "3",
        "sh",
        "-c",
        "echo rank $PMI_RANK of $PMI_SIZE",
    ]);
    let output = output(command).await;
    let mut lines: Vec<_> = text(&output.stdout).lines().map(str::to_owned).collect();
    lines.sort();
    let said = text(&output.stderr);
    assert_eq!(
        lines,
        ["rank 0 of 3", "rank 1 of 3", "rank 2 of 3"],
        "{said}"
    );
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_eq!(left(folder.path()), 0);
}

/// As under mpiexec: only a cluster holds programs to what they have asked for.
#[tokio::test]
async fn a_program_may_have_all_the_memory_of_this_machine() {
    let folder = folder();
    let mut command = gerbil_run(folder.path());
    // Longer than the launcher waits between two looks.
    let holds = "all=$(head -c 200000000 /dev/zero | tr '\\0' a); sleep 1; echo ${#all}";
    command.args(["--local", "-n", "1", "sh", "-c", holds]);
    let output = output(command).await;
    let said = text(&output.stderr);
    assert_eq!(text(&output.stdout), "200000000\n", "{said}");
    assert_eq!(output.status.code(), Some(0), "{said}");
}

#[tokio::test]
async fn a_quiet_job_says_nothing_of_its_own() {
    let folder = folder();
    // Three times the cores that the nodes have.
    let processes = (std::thread::available_parallelism().unwrap().get() * 6).to_string();
    for (option, silent) in [("--quiet", true), ("-launcher=fork", false)] {
        let mut command = gerbil_run(folder.path());
        command.args(["--local=2", option, "-n", &processes, "true"]);
        let output = output(command).await;
        assert!(output.status.success(), "{output:?}");
        assert_eq!(text(&output.stderr).is_empty(), silent, "{output:?}");
    }
}

#[tokio::test]
async fn exit_codes_and_sentences_are_those_of_a_cluster() {
    let folder = folder();
    let mut command = gerbil_run(folder.path());
    command.args([
        "--local=2",
        "-n",
        "2",
        "sh",
        "-c",
        "test $PMI_RANK = 0 || exit 7; sleep 30",
    ]);
    let output = output(command).await;
    assert_eq!(output.status.code(), Some(7));
    assert!(
        text(&output.stderr).contains("rank 1 on 127.0.0"),
        "{}",
        text(&output.stderr)
    );
    assert_eq!(left(folder.path()), 0);
}

#[tokio::test]
async fn an_interrupt_ends_the_job_and_leaves_nothing() {
    let folder = folder();
    let mark = &mark(1);
    let mut command = gerbil_run(folder.path());
    command.args(["--local", "-n", "2", "sh", "-c"]);
    command.arg(format!("echo up; sleep {mark}"));
    let mut child = command.spawn().unwrap();
    let _held = up(child.stdout.take().unwrap()).await;
    signal(&child, Signal::SIGINT);
    let status = timeout(SOON, child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(130));
    assert_eq!(living(mark), [""; 0]);
    assert_eq!(left(folder.path()), 0);
}

#[tokio::test]
async fn a_list_of_local_jobs_needs_no_hadoop() {
    let folder = folder();
    let list = folder.path().join("jobs");
    let run = async |lines: &str| {
        std::fs::write(&list, lines).unwrap();
        let mut command = gerbil_run(folder.path());
        command.arg("--list").arg(&list);
        let output = output(command).await;
        (output.status.code(), text(&output.stderr))
    };
    let (code, said) = run("--local sh -c 'exit 3'\n--local=2 -n 2 true\n").await;
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("1 of 2 failed"), "{said}");
    let (code, said) = run("--local true\ntrue\n").await;
    assert_eq!(code, Some(78), "{said}");
}

#[tokio::test]
async fn a_pipe_at_the_other_end_of_which_is_nobody_holds_nobody() {
    let folder = folder();
    let pipe = folder.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for option in ["--report", "--list"] {
        let mut command = gerbil_run(folder.path());
        command.env("HADOOP_CONF_DIR", no_cluster(folder.path()));
        command.arg(option).arg(&pipe);
        if option == "--report" {
            command.arg("true");
        }
        let child = command.spawn().unwrap();
        sleep(Duration::from_secs(1)).await;
        signal(&child, Signal::SIGTERM);
        let output = timeout(SOON, child.wait_with_output()).await;
        let output = output.unwrap().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(143), "{option}: {said}");
    }
}

/// Settings that name a cluster where none is.
fn no_cluster(folder: &Path) -> PathBuf {
    let conf = folder.join("conf");
    let name = "yarn.resourcemanager.hostname";
    let site = format!(
        "<configuration><property><name>{name}</name><value>127.0.0.1</value></property>\
         </configuration>"
    );
    std::fs::create_dir_all(&conf).unwrap();
    std::fs::write(conf.join("yarn-site.xml"), site).unwrap();
    conf
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(child.id().unwrap().cast_signed());
    kill(pid, signal).unwrap();
}

#[tokio::test]
async fn nothing_outlives_a_killed_run_and_the_next_removes_its_folder() {
    let folder = folder();
    let mark = &mark(2);
    let mut command = gerbil_run(folder.path());
    // In the environment of every process of the job, and on the ranks' command lines.
    command.args(["--local", "-n", "2", "sh", "-c"]);
    command.arg(format!("echo up; sleep {mark}"));
    let mut child = command.spawn().unwrap();
    let _held = up(child.stdout.take().unwrap()).await;
    let path = folder.path().to_str().unwrap().to_owned();
    // ApplicationMaster and launcher are there, by the folder in their environment.
    assert!(living(&path).len() >= 4, "{:?}", living(&path));
    signal(&child, Signal::SIGKILL);
    let killed = Instant::now();
    timeout(SOON, child.wait()).await.unwrap().unwrap();
    while !living(&path).is_empty() || !living(mark).is_empty() {
        let took = killed.elapsed();
        assert!(
            took < Duration::from_secs(3),
            "{took:?}: {:?}",
            living(&path)
        );
        sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(left(folder.path()), 1);
    let mut next = gerbil_run(folder.path());
    next.args(["--local", "true"]);
    assert_eq!(output(next).await.status.code(), Some(0));
    assert_eq!(left(folder.path()), 0);
}
