//! Sessions whole: this binary as ApplicationMaster and launcher, on a small cluster in this process.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use mini::resource_manager::Options;
use mini::{Cluster, RunFolder};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use proto_hadoop::yarn::Resource;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

/// A command of some seconds on a busy machine.
const SOON: Duration = Duration::from_secs(60);
const USER: &str = "tester";

/// Two nodes.
struct Bed {
    cluster: Cluster,
    run: RunFolder,
    folder: TempDir,
}

type Told = (Option<i32>, String, String);

impl Bed {
    async fn start() -> Self {
        use std::os::unix::fs::PermissionsExt as _;
        let open = std::fs::Permissions::from_mode(0o755);
        let folder = tempfile::Builder::new()
            .permissions(open)
            .tempdir()
            .unwrap();
        let run = RunFolder::create(folder.path()).unwrap();
        let options = Options {
            step_mib: 64,
            ..Options::default()
        };
        let nodes = vec![Resource::new(2048, 8); 2];
        let cluster = Cluster::start(options, &nodes, &run, USER).await.unwrap();
        let conf = folder.path().join("conf");
        std::fs::create_dir(&conf).unwrap();
        std::fs::write(conf.join("yarn-site.xml"), cluster.settings()).unwrap();
        Self {
            cluster,
            run,
            folder,
        }
    }

    fn command(&self, name: &str) -> Command {
        let mut command = Command::new("env");
        let link = self.folder.path().join(name);
        let file = Path::new(env!("CARGO_BIN_EXE_gerbil-run"));
        let _there = std::os::unix::fs::symlink(file, &link).is_ok();
        command.arg("--default-signal=HUP,INT,QUIT").arg(link);
        for variable in ["YARN_CONF_DIR", "HADOOP_HOME", "GERBIL_SESSION"] {
            command.env_remove(variable);
        }
        command
            .env("HADOOP_CONF_DIR", self.folder.path().join("conf"))
            .env("HADOOP_USER_NAME", USER)
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    fn staging(&self) -> String {
        format!("--staging=file:{}/staging", self.run.path().display())
    }

    async fn session(&self, words: &[&str]) -> Told {
        let mut command = self.command("gerbil");
        command.arg("session").args(words);
        if words[0] == "start" {
            command.arg(self.staging());
        }
        told(command.spawn().unwrap()).await
    }

    /// A shell in the session.
    fn shell(&self, options: &[&str], script: &str) -> Command {
        let mut command = self.command("gerbil-run");
        command
            .args(["--session", "default"])
            .arg(self.staging())
            .args(options)
            .args(["sh", "-c", script]);
        command
    }

    /// `gerbil WORDS`, for a job that was left to the session.
    fn gerbil(&self, words: &[&str]) -> Command {
        let mut command = self.command("gerbil");
        command.args(words);
        command
    }

    /// Leaves a shell to the session; its name there.
    async fn detach(&self, options: &[&str], script: &str) -> String {
        let options = [&["--detach"], options].concat();
        let (code, name, said) = self.run(&options, script).await;
        assert_eq!((code, said.as_str()), (Some(0), ""));
        name.trim_end().to_owned()
    }

    async fn run(&self, options: &[&str], script: &str) -> Told {
        told(self.shell(options, script).spawn().unwrap()).await
    }

    /// Until the status holds `words`.
    async fn shows(&self, words: &str) {
        let begin = Instant::now();
        loop {
            let (_, shown, said) = self.session(&["status", "default"]).await;
            if shown.contains(words) {
                return;
            }
            assert!(begin.elapsed() < SOON, "no {words:?} in {shown}{said}");
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// One of the session's launchers.
    fn launcher(&self) -> Pid {
        let own = self.folder.path().display().to_string();
        let is_one = |process: &Path| {
            let read = |name: &str| {
                let bytes = std::fs::read(process.join(name)).unwrap_or_default();
                String::from_utf8_lossy(&bytes).into_owned()
            };
            read("cmdline").contains("--as=container-launcher") && read("environ").contains(&own)
        };
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let mut launchers = processes.filter(|process| is_one(&process.path()));
        let found = launchers.next().unwrap().file_name();
        Pid::from_raw(found.to_str().unwrap().parse().unwrap())
    }

    async fn stop(self) {
        let (code, _, said) = self.session(&["stop", "default"]).await;
        assert_eq!(code, Some(0), "{said}");
        self.cluster.stop(Duration::from_secs(2)).await;
    }
}

async fn told(child: Child) -> Told {
    let output = timeout(SOON, child.wait_with_output()).await;
    let output = output.unwrap().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_run_in_a_session_one_after_the_other_and_at_once() {
    let bed = Bed::start().await;
    let begin = Instant::now();
    let size = [
        "--containers",
        "2",
        "--slots-per-container",
        "2",
        "--memory",
        "128",
    ];
    let (code, ready, said) = bed.session(&[&["start"], &size[..]].concat()).await;
    assert_eq!(code, Some(0), "{said}");
    println!("ready after {:?}", begin.elapsed());
    assert!(
        ready.starts_with("session default is ready, with 4 slots"),
        "{ready}"
    );

    // Output, exit code, and a name of its own for each of several programs.
    for _ in 0..3 {
        let begin = Instant::now();
        let (code, printed, said) = bed.run(&["-n", "4"], "echo $PMI_RANK of $PMI_SIZE").await;
        println!("a job took {:?}", begin.elapsed());
        assert_eq!(code, Some(0), "{said}");
        let mut lines: Vec<&str> = printed.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines, ["0 of 4", "1 of 4", "2 of 4", "3 of 4"], "{said}");
    }
    let (code, _, said) = bed.run(&["-n", "2"], "exit $((PMI_RANK * 5))").await;
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("rank 1"), "{said}");

    let mut command = bed.shell(&[], "cat; echo end");
    let mut child = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"one\ntwo\n").await.unwrap();
    drop(stdin);
    let (code, printed, said) = told(child).await;
    assert_eq!(
        (code, printed.as_str()),
        (Some(0), "one\ntwo\nend\n"),
        "{said}"
    );

    // Two at once, of which each has half of the slots.
    let both = tokio::join!(
        bed.run(&["-n", "2"], "sleep 0.5; echo a"),
        bed.run(&["-n", "2"], "sleep 0.5; echo b"),
    );
    for ((code, printed, said), wanted) in [(both.0, "a\na\n"), (both.1, "b\nb\n")] {
        assert_eq!((code, printed.as_str()), (Some(0), wanted), "{said}");
    }
    bed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_waits_is_shown_and_ctrl_c_ends_one_job_alone() {
    let bed = Bed::start().await;
    let size = ["--containers", "2", "--memory", "128"];
    let (code, _, said) = bed.session(&[&["start"], &size[..]].concat()).await;
    assert_eq!(code, Some(0), "{said}");
    let mut held = bed
        .shell(&["-n", "2"], "echo up; sleep 100")
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(held.stdout.take().unwrap());
    let mut line = String::new();
    timeout(SOON, lines.read_line(&mut line))
        .await
        .unwrap()
        .unwrap();
    held.stdout = Some(lines.into_inner());
    let next = bed.shell(&["-n", "1"], "echo next").spawn().unwrap();
    bed.shows("1 job runs, 1 waiting").await;
    let (_, shown, _) = bed.session(&["status", "default"]).await;
    println!("{shown}");
    let pid = i32::try_from(held.id().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGINT).unwrap();
    let (code, _, said) = told(held).await;
    assert_eq!(code, Some(130), "{said}");
    let (code, printed, said) = told(next).await;
    assert_eq!((code, printed.as_str()), (Some(0), "next\n"), "{said}");
    bed.shows("no job runs, 0 waiting, 2 ended").await;

    // More than it can ever have.
    let (code, _, said) = bed.run(&["-n", "3"], "true").await;
    assert_eq!(code, Some(65), "{said}");
    bed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_not_to_be_leaves_nothing() {
    let bed = Bed::start().await;
    let most = ["--containers", "2", "--memory", "1500"];
    let (code, _, said) = bed.session(&[&["start"], &most[..]].concat()).await;
    assert_eq!(code, Some(0), "{said}");
    let files = || {
        let folder = bed.folder.path().join("state/gerbil/sessions");
        std::fs::read_dir(folder).unwrap().count()
    };
    assert_eq!(files(), 1);

    // There is no room for another.
    let late = [&["start", "--wait-timeout", "1s"], &most[..]].concat();
    let (code, _, said) = bed.session(&late).await;
    assert_eq!(code, Some(75), "{said}");
    assert!(
        said.contains("session default-2 was not ready within 1s"),
        "{said}"
    );
    assert_eq!(files(), 1);
    let mut command = bed.command("gerbil");
    command
        .args(["session", "start", "night"])
        .arg(bed.staging())
        .args(most);
    let child = command.spawn().unwrap();
    let begin = Instant::now();
    while files() < 2 {
        assert!(begin.elapsed() < SOON);
        sleep(Duration::from_millis(20)).await;
    }
    sleep(Duration::from_secs(1)).await;
    let pid = i32::try_from(child.id().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGINT).unwrap();
    let (code, _, said) = told(child).await;
    assert_eq!(code, Some(130), "{said}");
    assert!(
        said.contains("session night was interrupted before it was ready, and ended"),
        "{said}"
    );
    assert_eq!(files(), 1);

    // What it could never hold is refused at once.
    let (code, _, said) = bed.session(&["start", "wide", "--containers", "3"]).await;
    assert_eq!(code, Some(65), "{said}");
    assert!(said.contains("3 containers of"), "{said}");
    let (code, _, said) = bed
        .session(&[
            "start",
            "deep",
            "--memory",
            "1g",
            "--slots-per-container",
            "4",
        ])
        .await;
    assert_eq!(code, Some(65), "{said}");
    let (_, listed, _) = bed.session(&["list"]).await;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    let (code, _, said) = bed.session(&["stop", "default", "--now"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(files(), 0);
    bed.cluster.stop(Duration::from_secs(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn options_of_a_job_do_in_a_session_what_they_do_elsewhere() {
    let bed = Bed::start().await;
    let size = [
        "--containers",
        "2",
        "--slots-per-container",
        "2",
        "--memory",
        "128",
    ];
    let (code, _, said) = bed.session(&[&["start"], &size[..]].concat()).await;
    assert_eq!(code, Some(0), "{said}");

    let folder = bed.folder.path();
    let out = format!("{}/%r.out", folder.display());
    let (code, printed, said) = bed
        .run(
            &["-n", "2", "-outfile-pattern", &out, "-wdir", "/"],
            "pwd; echo $PMI_RANK",
        )
        .await;
    assert_eq!((code, printed.as_str()), (Some(0), ""), "{said}");
    let written = std::fs::read_to_string(folder.join("1.out")).unwrap();
    assert_eq!(written, "/\n1\n");

    // An archive is unpacked, and a program's own folder is its job's alone.
    let packed = folder.join("packed");
    std::fs::create_dir(&packed).unwrap();
    std::fs::write(packed.join("inside.txt"), "unpacked\n").unwrap();
    let tar = folder.join("data.tar");
    let made = Command::new("tar")
        .arg("-cf")
        .arg(&tar)
        .args(["-C", folder.to_str().unwrap(), "packed"])
        .status();
    assert!(made.await.unwrap().success());
    let archive = format!("{}#data", tar.display());
    let (code, printed, said) = bed
        .run(
            &["--archives", &archive, "-env", "A", "b"],
            "cat data/packed/inside.txt; echo $A",
        )
        .await;
    assert_eq!(
        (code, printed.as_str()),
        (Some(0), "unpacked\nb\n"),
        "{said}"
    );
    let zip = folder.join("data.zip");
    std::fs::write(&zip, "none").unwrap();
    let (code, _, said) = bed
        .run(&["--archives", zip.to_str().unwrap()], "true")
        .await;
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("a session unpacks .tar alone"), "{said}");

    // More than its links hold at once.
    let mut command = bed.shell(&["-n", "2"], "head -c 30000000 /dev/zero");
    let mut child = command.spawn().unwrap();
    let mut printed = child.stdout.take().unwrap();
    let counting = async {
        let mut sink = tokio::io::sink();
        tokio::io::copy(&mut printed, &mut sink).await.unwrap()
    };
    let bytes = timeout(SOON, counting).await.unwrap();
    let (code, _, said) = told(child).await;
    assert_eq!((code, bytes), (Some(0), 60_000_000), "{said}");

    // A reader that leaves ends its job, and nothing else.
    let mut child = bed.shell(&[], "yes").spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    timeout(SOON, lines.read_line(&mut line))
        .await
        .unwrap()
        .unwrap();
    drop(lines);
    let (code, _, said) = told(child).await;
    assert_eq!(code, Some(128 + 13), "{said}");

    let (code, _, said) = bed.run(&["-timeout", "1"], "sleep 60").await;
    assert_eq!(code, Some(124), "{said}");
    let (code, printed, said) = bed.run(&["--pty"], "test -t 1 && echo a terminal").await;
    assert_eq!(
        (code, printed.trim_end()),
        (Some(0), "a terminal"),
        "{said}"
    );
    bed.shows("no job runs, 0 waiting, 6 ended").await;
    bed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_start_together_have_names_of_their_own_and_end_when_nobody_needs_them() {
    let bed = Bed::start().await;
    let start = &["start", "--memory", "128", "--session-timeout", "2s"];
    let (one, other) = tokio::join!(bed.session(start), bed.session(start));
    let mut names = Vec::new();
    for (code, ready, said) in [one, other] {
        assert_eq!(code, Some(0), "{said}");
        names.push(ready.split(' ').nth(1).unwrap().to_owned());
    }
    names.sort();
    assert_eq!(names, ["default", "default-2"]);
    let begin = Instant::now();
    loop {
        let (code, listed, said) = bed.session(&["list"]).await;
        assert_eq!(code, Some(0), "{said}");
        if listed.is_empty() {
            assert!(said.contains("there is no session"), "{said}");
            break;
        }
        assert!(begin.elapsed() < SOON, "{listed}");
        sleep(Duration::from_millis(100)).await;
    }
    let (code, _, said) = bed.run(&[], "true").await;
    assert_eq!(code, Some(64), "{said}");
    bed.cluster.stop(Duration::from_secs(2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_loses_a_container_begins_again_in_others() {
    let bed = Bed::start().await;
    let line = "start --containers 2 --slots-per-container 2";
    let line: Vec<&str> = line.split(' ').collect();
    let (code, _, said) = bed.session(&line).await;
    assert_eq!(code, Some(0), "{said}");
    // In its first run each process waits for what never comes.
    let seen = bed.folder.path().join("seen").display().to_string();
    let script = format!(
        "if mkdir {seen}-$PMI_RANK 2>/dev/null; then echo up; sleep 600; fi; echo again $PMI_RANK"
    );
    let lose_one = async |options: &[&str]| {
        let mut running = bed.shell(options, &script).spawn().unwrap();
        let mut lines = BufReader::new(running.stdout.take().unwrap());
        for _ in 0..4 {
            let mut line = String::new();
            let read = timeout(SOON, lines.read_line(&mut line)).await;
            read.unwrap().unwrap();
            assert_eq!(line, "up\n");
        }
        running.stdout = Some(lines.into_inner());
        kill(bed.launcher(), Signal::SIGKILL).unwrap();
        told(running).await
    };
    let (code, printed, said) = lose_one(&["-n", "4", "--restarts", "1"]).await;
    let mut again: Vec<&str> = printed.lines().collect();
    again.sort_unstable();
    let all = ["again 0", "again 1", "again 2", "again 3"];
    assert_eq!((code, again), (Some(0), all.to_vec()), "{said}");
    assert!(said.contains("the program is started again"), "{said}");
    bed.shows("2 containers with 4 slots, 0 of them lent").await;

    for rank in 0..4 {
        std::fs::remove_dir(format!("{seen}-{rank}")).unwrap();
    }
    let (code, printed, said) = lose_one(&["-n", "4", "--no-restart"]).await;
    assert_eq!((code, printed.as_str()), (Some(70), ""), "{said}");
    bed.shows("2 containers with 4 slots, 0 of them lent").await;
    bed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_whose_files_cannot_be_brought_ends_and_holds_no_slot() {
    let bed = Bed::start().await;
    let data = bed.folder.path().join("data.txt");
    std::fs::write(&data, "as it was\n").unwrap();
    let files = ["-n", "2", "--files", data.to_str().unwrap()];
    let start = ["start", "default", "--containers", "2", "--memory", "128"];
    let (code, _, said) = bed.session(&start).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, printed, said) = bed.run(&files, "cat data.txt").await;
    assert_eq!((code, printed.lines().count()), (Some(0), 2), "{said}");
    let (code, _, said) = bed.session(&["stop", "default"]).await;
    assert_eq!(code, Some(0), "{said}");

    // From now on something else of the same size lies where it was staged; another session's nodes have
    // none of it yet.
    let mut folders = vec![bed.run.path().join("staging")];
    let mut spoilt = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false if std::fs::read(&path).unwrap() == b"as it was\n" => {
                    std::fs::write(&path, "as it is.\n").unwrap();
                    spoilt += 1;
                }
                false => {}
            }
        }
    }
    assert_eq!(spoilt, 1);
    let (code, _, said) = bed.session(&start).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, _, said) = bed.run(&files, "cat data.txt").await;
    assert_ne!(code, Some(0), "{said}");
    assert!(said.contains("is not what was staged"), "{said}");
    bed.shows("no job runs, 0 waiting, 1 ended").await;
    let (code, printed, said) = bed.run(&["-n", "2"], "echo well").await;
    assert_eq!(
        (code, printed.as_str()),
        (Some(0), "well\nwell\n"),
        "{said}"
    );
    bed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_job_is_watched_by_several_during_and_after_its_life() {
    let bed = Bed::start().await;
    let size = ["--containers", "2", "--slots-per-container", "2"];
    let (code, _, said) = bed
        .session(&[&["start", "--memory", "128"], &size[..]].concat())
        .await;
    assert_eq!(code, Some(0), "{said}");
    let go = bed.folder.path().join("go");
    let script = format!(
        "go={}; echo up $PMI_RANK; echo bad >&2; while ! test -e $go; do sleep 0.05; done; echo end; cat; \
         : > $go.$PMI_RANK; while ! test -e $go.0 || ! test -e $go.1; do sleep 0.05; done; \
         exit $((PMI_RANK * 4))",
        go.display()
    );
    let job = bed.detach(&["-n", "2"], &script).await;
    let number = job.split_once('.').unwrap().0;
    assert_eq!(job, format!("{number}.1"));
    bed.shows("(detached)").await;
    let (_, shown, _) = bed.session(&["status", "default", "--json"]).await;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["jobs"][0]["detached"], true);
    let (_, listed, said) = told(bed.gerbil(&["ps"]).spawn().unwrap()).await;
    assert!(listed.contains("sh (detached)"), "{listed}{said}");

    // One watches from now on, one leaves again, and the job does not care.
    let early = bed.gerbil(&["attach", &job]).spawn().unwrap();
    let mut leaver = bed.gerbil(&["attach", &job]).spawn().unwrap();
    let mut lines = BufReader::new(leaver.stdout.take().unwrap());
    let mut line = String::new();
    let read = timeout(SOON, lines.read_line(&mut line)).await;
    read.unwrap().unwrap();
    assert!(line.starts_with("up "), "{line}");
    let pid = i32::try_from(leaver.id().unwrap()).unwrap();
    kill(Pid::from_raw(pid), Signal::SIGINT).unwrap();
    leaver.stdout = Some(lines.into_inner());
    let (code, _, said) = told(leaver).await;
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains(&format!("{job} goes on")), "{said}");
    // So far, without waiting.
    let (code, printed, said) = told(bed.gerbil(&["logs", &job, "1"]).spawn().unwrap()).await;
    assert_eq!((code, printed.as_str()), (Some(0), "up 1\n"), "{said}");
    assert_eq!(said, "bad\n");
    let none = bed.gerbil(&["attach", "--input", &job]).spawn().unwrap();
    let (code, _, said) = told(none).await;
    assert_eq!(code, Some(65), "{said}");
    assert!(said.contains("was empty from the beginning"), "{said}");

    std::fs::write(&go, "").unwrap();
    let (code, printed, said) = told(early).await;
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("rank 1"), "{said}");
    bed.shows("no job runs, 0 waiting, 1 ended").await;
    // When it is over there is the same to be seen.
    let mut seen: Vec<&str> = printed.lines().collect();
    seen.sort_unstable();
    assert_eq!(seen, ["end", "end", "up 0", "up 1"], "{printed}");
    for _ in 0..2 {
        let (code, again, said) = told(bed.gerbil(&["attach", &job]).spawn().unwrap()).await;
        assert_eq!((code, &again), (Some(4), &printed), "{said}");
        assert!(said.contains("rank 1"), "{said}");
    }
    let (code, again, _) = told(bed.gerbil(&["logs", &job, "0"]).spawn().unwrap()).await;
    assert_eq!((code, again.as_str()), (Some(0), "up 0\nend\n"));
    let (_, shown, _) = bed.session(&["status", "default"]).await;
    assert!(shown.contains("detached jobs that have ended"), "{shown}");
    let (code, _, said) = told(
        bed.gerbil(&["logs", &format!("{number}.9")])
            .spawn()
            .unwrap(),
    )
    .await;
    assert_eq!(code, Some(70), "{said}");
    assert!(said.contains("there is no job 9 here"), "{said}");
    bed.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_detached_job_takes_input_of_one_is_killed_by_name_and_ends_with_its_session() {
    let bed = Bed::start().await;
    let size = ["start", "--containers", "2", "--memory", "128"];
    let (code, _, said) = bed.session(&size).await;
    assert_eq!(code, Some(0), "{said}");
    let job = bed.detach(&["--input", "0"], "cat; echo end").await;
    let mut giver = bed.gerbil(&["attach", "--input", &job]);
    let mut giver = giver.stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = giver.stdin.take().unwrap();
    stdin.write_all(b"one\n").await.unwrap();
    let mut lines = BufReader::new(giver.stdout.take().unwrap());
    let mut line = String::new();
    let read = timeout(SOON, lines.read_line(&mut line)).await;
    read.unwrap().unwrap();
    assert_eq!(line, "one\n");
    let (code, _, said) = told(bed.gerbil(&["attach", "--input", &job]).spawn().unwrap()).await;
    assert_eq!(code, Some(65), "{said}");
    assert!(said.contains("somebody else has given"), "{said}");
    stdin.write_all(b"two\n").await.unwrap();
    drop(stdin);
    giver.stdout = Some(lines.into_inner());
    let (code, printed, said) = told(giver).await;
    assert_eq!((code, printed.as_str()), (Some(0), "two\nend\n"), "{said}");

    // More than is kept: whoever comes late sees beginning and end, and how much is between.
    let job = bed.detach(&[], "seq 1 1000000").await;
    bed.shows("no job runs, 0 waiting, 2 ended").await;
    let (code, printed, said) = told(bed.gerbil(&["attach", &job]).spawn().unwrap()).await;
    assert_eq!(code, Some(0), "{said}");
    let (head, tail) = printed.split_once("[gerbil: ").unwrap();
    let (bytes, tail) = tail
        .split_once(" bytes of output are left out here]\n")
        .unwrap();
    let bytes: usize = bytes.parse().unwrap();
    let all: usize = (1..=1_000_000)
        .map(|number: u32| number.to_string().len() + 1)
        .sum();
    let between = head.len() + bytes + tail.len();
    assert!((all..=all + 1).contains(&between), "{between} of {all}");
    assert!(head.starts_with("1\n2\n") && tail.ends_with("\n1000000\n"));
    // A reader that leaves is no reason for anything.
    let mut child = bed.gerbil(&["attach", &job]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let read = timeout(SOON, lines.read_line(&mut line)).await;
    read.unwrap().unwrap();
    drop(lines);
    let (code, _, said) = told(child).await;
    assert_eq!((code, said.as_str()), (Some(128 + 13), ""));

    let job = bed.detach(&["-n", "2"], "echo up; sleep 100").await;
    let watching = bed.gerbil(&["attach", &job]).spawn().unwrap();
    bed.shows("1 job runs").await;
    let (code, _, said) = told(bed.gerbil(&["kill", &job]).spawn().unwrap()).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, _, said) = told(watching).await;
    assert_eq!(code, Some(130), "{said}");

    let job = bed.detach(&[], "echo up; sleep 100").await;
    let mut watching = bed.gerbil(&["attach", &job]).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap());
    let read = timeout(SOON, lines.read_line(&mut line)).await;
    read.unwrap().unwrap();
    watching.stdout = Some(lines.into_inner());
    let (code, _, said) = bed.session(&["stop", "default", "--now"]).await;
    assert_eq!(code, Some(0), "{said}");
    let (code, _, said) = told(watching).await;
    assert_eq!(code, Some(143), "{said}");
    let (code, _, said) = told(bed.gerbil(&["attach", &job]).spawn().unwrap()).await;
    assert_eq!(code, Some(64), "{said}");
    assert!(said.contains("no session of yours has a job"), "{said}");
    // The work folder of its ApplicationMaster is gone, or at least what was kept there.
    let mut folders = vec![bed.run.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            assert_ne!(path.file_name().unwrap(), ".gerbil-output");
            if path.is_dir() {
                folders.push(path);
            }
        }
    }
    bed.cluster.stop(Duration::from_secs(2)).await;
}
