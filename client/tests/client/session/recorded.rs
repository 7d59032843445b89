//! Sessions that write down what is decided.

use std::io::BufRead as _;

use policy::schedule::named;
use policy::schedule::record::{RecordLine, Replay, What};

use super::local::User;

#[tokio::test(flavor = "multi_thread")]
async fn what_a_session_decides_replays_from_its_file() {
    let user = User::new();
    let file = user.folder.path().join("record");
    let record = file.to_str().unwrap();
    let start = "session start here --local=2 --containers 2 --slots-per-container 2 --record";
    let start: Vec<&str> = start.split(' ').chain([record]).collect();
    let (code, _, said) = user.gerbil(&start).await;
    assert_eq!(code, Some(0), "{said}");
    let job = ["run", "--session", "here", "-n", "3", "echo", "up"];
    for _ in 0..2 {
        let (code, printed, said) = user.gerbil(&job).await;
        assert_eq!((code, printed), (Some(0), "up\n".repeat(3)), "{said}");
    }
    let (code, printed, said) = user.gerbil(&["session", "status", "here"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert!(!printed.contains("recorded"), "{printed}");
    let (code, _, said) = user.gerbil(&["session", "stop", "here"]).await;
    assert_eq!(code, Some(0), "{said}");
    // All of it is there as soon as the session is over.
    let text = std::fs::read(&file).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str(&line.unwrap()));
    let lines: Vec<RecordLine> = lines.collect::<Result<_, _>>().unwrap();
    let What::Policy(policy) = &lines[0].what else {
        panic!("{:?}", lines[0]);
    };
    let mut replay = Replay::new(named(policy).unwrap());
    lines
        .iter()
        .for_each(|line| replay.hear(line.clone()).unwrap());
    // Two gangs.
    assert_eq!(replay.end().unwrap(), 2);
    // It is not written over.
    let (code, _, said) = user.gerbil(&start).await;
    assert_eq!(code, Some(74), "{said}");
    assert!(said.contains("record exists already"), "{said}");
    assert_eq!(std::fs::read(&file).unwrap(), text);
    user.until_nothing_is_left().await;
}
