//! MapReduce jobs of a session on this machine alone that no client follows any more: what is kept of those that are over,
//! under every form of their names, and those that are left to the session.

use std::path::Path;

use super::forged::program;
use super::local::User;

async fn start(user: &User) {
    std::fs::write(user.folder.path().join("in"), "a b c d e f\n").unwrap();
    let (code, _, said) = user.gerbil(&["session", "start", "here", "--local"]).await;
    assert_eq!(code, Some(0), "{said}");
}

async fn stop(user: &User) {
    let (code, _, said) = user.gerbil(&["session", "stop", "here"]).await;
    assert_eq!(code, Some(0), "{said}");
    user.until_nothing_is_left().await;
}

/// The words of a run of the example in Python, with a statement before it sends a map's output.
fn words(folder: &Path, name: &str, statement: &str, options: &[&str]) -> Vec<String> {
    let program = program(folder, name, statement).display().to_string();
    let at = |name: &str| format!("file:{}", folder.join(name).display());
    let once = [
        "mr",
        "--session",
        "here",
        "-D",
        "mapreduce.map.maxattempts=1",
    ];
    let words = once.into_iter().chain(options.iter().copied());
    let rest = [program, at("in"), at(&format!("out-{name}"))];
    words.map(str::to_owned).chain(rest).collect()
}

async fn run(user: &User, words: &[String]) -> (Option<i32>, String, String) {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    user.gerbil(&words).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_failed_task_has_printed_is_read_after_its_job_by_every_form_of_its_name() {
    let user = User::new();
    let folder = user.folder.path();
    start(&user).await;
    // As a streaming program's mapper, which is a child of the task.
    let statement = "print('on its way'); __import__('subprocess').run([sys.executable, '-c', 'raise \
                     RuntimeError(\"the mapper is wrong\")'], check=True)";
    let (code, _, said) = run(&user, &words(folder, "wrong", statement, &[])).await;
    assert_eq!(code, Some(1), "{said}");
    let (_, shown, said) = user.gerbil(&["session", "status", "here", "--json"]).await;
    let shown: serde_json::Value = serde_json::from_str(&shown).expect(&said);
    let application = shown["application"].as_str().unwrap();
    let number: u32 = application.rsplit('_').next().unwrap().parse().unwrap();
    let short = format!("s{number}.1");
    let forms = [
        short.clone(),
        format!("s{number}"),
        format!("{application}.1"),
        format!("{application}_1"),
        application.to_owned(),
    ];
    for form in &forms {
        let (code, printed, said) = user.gerbil(&["logs", form, "m0"]).await;
        assert_eq!(code, Some(0), "{form}: {said}");
        assert_eq!(printed, "on its way\n", "{form}");
        assert!(said.starts_with("Traceback"), "{form}: {said}");
        assert!(
            said.contains("\nRuntimeError: the mapper is wrong\n"),
            "{form}: {said}"
        );
        let (code, printed, said) = user.gerbil(&["logs", form]).await;
        assert_eq!(code, Some(0), "{form}: {said}");
        assert!(
            printed.contains("m0 ") && printed.contains("failed"),
            "{form}: {printed}"
        );
        for verb in ["status", "counters", "history"] {
            let (code, printed, said) = user.gerbil(&["mr", verb, form]).await;
            assert_eq!(code, Some(0), "{verb} {form}: {said}");
            let is_named = verb == "counters" || printed.starts_with(&format!("{short} "));
            assert!(is_named, "{verb} {form}: {printed}");
        }
    }
    let (_, page, _) = user.gerbil(&["mr", "history", "--html", &short]).await;
    for told in [
        "<code>RuntimeError: the mapper is wrong</code>",
        "<pre><code>on its way</code>",
        " UTC</td>",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let (_, history, _) = user.gerbil(&["mr", "history", &short]).await;
    assert!(
        history.contains("\n  | RuntimeError: the mapper is wrong"),
        "{history}"
    );
    let (_, list, said) = user.gerbil(&["mr", "list"]).await;
    assert!(
        list.lines()
            .any(|line| line.starts_with(&format!("{short} "))),
        "{list}{said}"
    );
    // Of a task that has not failed nothing is kept.
    let (code, _, said) = user.gerbil(&["logs", &short, "r0"]).await;
    assert_eq!(code, Some(64), "{said}");
    assert!(
        said.contains("nothing is kept of what reduce 0 has printed"),
        "{said}"
    );
    stop(&user).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mapreduce_job_that_is_left_goes_on_and_is_watched_and_read_and_killed() {
    let user = User::new();
    let folder = user.folder.path();
    start(&user).await;
    let go = folder.join("go");
    let waits = format!(
        "print('waits', flush=True); [__import__('time').sleep(0.05) for _ in iter(lambda: os.path.exists('{}'), True)]",
        go.display()
    );
    let detach = ["--detach", "-D", "mapreduce.map.speculative=false"];
    let (code, job, said) = run(&user, &words(folder, "left", &waits, &detach)).await;
    assert_eq!(code, Some(0), "{said}");
    let job = job.trim_end().to_owned();
    assert!(job.starts_with('s') && job.ends_with(".1"), "{job}: {said}");
    let (_, status, said) = user.gerbil(&["mr", "status", &job]).await;
    assert!(status.contains("% done: 0 of 1 map"), "{status}{said}");
    let (code, printed, said) = user.gerbil(&["logs", &job]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(
        printed.is_empty() || printed.contains("running"),
        "{printed}{said}"
    );
    let attach = ["attach", &job];
    let watching = user.gerbil(&attach);
    let (watched, ()) = tokio::join!(watching, async {
        std::fs::write(&go, "").unwrap();
    });
    let (code, _, said) = watched;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(" completed: tasks "), "{said}");
    let part = std::fs::read_to_string(folder.join("out-left/part-r-00000")).unwrap();
    assert_eq!(part, "a\t1\nb\t1\nc\t1\nd\t1\ne\t1\nf\t1\n");
    // Once more, when it is over.
    let (code, _, said) = user.gerbil(&attach).await;
    assert_eq!(code, Some(0), "{said}");

    std::fs::remove_file(&go).unwrap();
    let (code, job, said) = run(&user, &words(folder, "killed", &waits, &detach)).await;
    assert_eq!(code, Some(0), "{said}");
    let job = job.trim_end();
    let (code, _, said) = user.gerbil(&["kill", job]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("{job} is over")), "{said}");
    let (_, status, said) = user.gerbil(&["mr", "status", job]).await;
    assert!(status.contains("state KILLED"), "{status}{said}");
    assert!(!folder.join("out-killed").exists());
    stop(&user).await;
}
