//! What a job is called, what others are told of it, and what its terminal does to it.

use super::faulty::Faulty;
use super::*;

/// What a second command says of the cluster.
async fn beside(faulty: &Faulty, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = gerbil_run(faulty.folder.path());
    command
        .env("HADOOP_CONF_DIR", faulty.folder.path().join("conf"))
        .env("HADOOP_USER_NAME", "tester")
        .args(arguments);
    let output = output(command).await;
    let code = output.status.code();
    (code, text(&output.stdout), text(&output.stderr))
}

#[tokio::test(flavor = "multi_thread")]
async fn others_are_told_which_jobs_there_are_and_how_far() {
    let faulty = Faulty::start().await;
    let (code, listed, said) = beside(&faulty, &["--ps"]).await;
    assert_eq!((code, listed.as_str()), (Some(0), ""), "{said}");
    assert!(said.contains("no job of tester"), "{said}");

    let script = "test $PMI_RANK = 0 || exit 0; echo up; sleep 60";
    let mut command = faulty.command(2, script);
    command.stderr(Stdio::inherit());
    let mut child = command.spawn().unwrap();
    let _held = up(child.stdout.take().unwrap()).await;
    // By phases and by ranks: one of two has ended.
    let began = Instant::now();
    let listed = loop {
        let (code, listed, said) = beside(&faulty, &["--ps"]).await;
        assert_eq!(code, Some(0), "{said}");
        if listed.contains("50 %") {
            break listed;
        }
        assert!(began.elapsed() < Duration::from_secs(15), "{listed}");
        sleep(Duration::from_millis(200)).await;
    };
    let row = listed.lines().nth(1).unwrap();
    assert!(
        row.starts_with("application_") && row.ends_with(" sh"),
        "{listed}"
    );
    let id = row.split_whitespace().next().unwrap();
    let (code, _, said) = beside(&faulty, &["-k", id]).await;
    assert_eq!(code, Some(0), "{said}");
    let status = timeout(SOON, child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(143));
    faulty.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_called_by_its_id() {
    let faulty = Faulty::start().await;
    let mut command = gerbil_run(faulty.folder.path());
    faulty.find(&mut command);
    command.args(["--explain", "--timing", "--tags", "Nightly,team:x", "true"]);
    let output = output(command).await;
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let submitted = " is submitted to queue default";
    let first = said.lines().find(|line| line.ends_with(submitted));
    let first = first.unwrap_or_else(|| panic!("{said}"));
    let id = first.split_whitespace().nth(1).unwrap();
    assert!(id.starts_with("application_"), "{said}");
    assert!(said.contains(&format!("{id} ended after")), "{said}");

    let client = faulty.client();
    let report = client.report(&id.parse().unwrap()).await.unwrap();
    assert_eq!(report.tags, ["nightly", "team:x"]);
    assert!(
        report.diagnostics.starts_with("1 rank on 1 node ran for "),
        "{report:?}"
    );

    // On Ctrl-C too.
    let mut child = faulty.command(1, "echo up; sleep 60").spawn().unwrap();
    let _held = up(child.stdout.take().unwrap()).await;
    signal(&child, Signal::SIGINT);
    let output = timeout(SOON, child.wait_with_output())
        .await
        .unwrap()
        .unwrap();
    let said = text(&output.stderr);
    assert!(said.contains("ending application_"), "{said}");
    faulty.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminal_is_told_the_id_in_a_line_that_stays() {
    let faulty = Faulty::start().await;
    let mut inner = gerbil_run(faulty.folder.path());
    faulty.find(&mut inner);
    inner.arg("true");
    let inner = inner.as_std();
    let words = std::iter::once(inner.get_program()).chain(inner.get_args());
    let words: Vec<&str> = words.map(|word| word.to_str().unwrap()).collect();
    let mut command = Command::new("script");
    command
        .args([
            "--quiet",
            "--return",
            "--command",
            &words.join(" "),
            "/dev/null",
        ])
        .env("HADOOP_CONF_DIR", faulty.folder.path().join("conf"))
        .env("HADOOP_USER_NAME", "tester")
        .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    let output = output(command).await;
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown}");
    assert!(shown.contains(" is submitted to queue default"), "{shown}");
    // Where the locale is plain, so is the line that changes.
    assert!(shown.is_ascii(), "{shown}");
    faulty.stop().await;
}

/// Whether a process is stopped, by the kernel's word.
fn is_stopped(child: &Child) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", child.id().unwrap()));
    let stat = stat.unwrap();
    let (_name, state) = stat.rsplit_once(") ").unwrap();
    state.starts_with('T')
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_may_last_and_its_end_may_be_the_jobs() {
    let faulty = Faulty::start().await;
    let mark = &mark(4);
    let start = || {
        let mut command = faulty.command(1, &format!("echo up; sleep {mark}; echo done"));
        command.stderr(Stdio::null());
        command.spawn().unwrap()
    };
    let (mut goes_on, mut dies) = (start(), start());
    let mut held = up(goes_on.stdout.take().unwrap()).await;
    let _held = up(dies.stdout.take().unwrap()).await;
    for child in [&goes_on, &dies] {
        signal(child, Signal::SIGTSTP);
    }
    // Past several rounds of pings.
    sleep(Duration::from_secs(21)).await;
    assert!(is_stopped(&goes_on) && is_stopped(&dies));
    assert!(living(mark).len() >= 2, "{:?}", living(mark));
    signal(&dies, Signal::SIGKILL);
    timeout(SOON, dies.wait()).await.unwrap().unwrap();
    signal(&goes_on, Signal::SIGCONT);
    let mut rest = String::new();
    let ended = timeout(Duration::from_secs(60), held.read_line(&mut rest)).await;
    ended.unwrap().unwrap();
    assert_eq!(rest, "done\n");
    let status = timeout(SOON, goes_on.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(living(mark), [""; 0]);
    faulty.stop().await;
}
