//! A real launcher with real programs, from hello to leave and in all the ways a job ends early.

use std::time::{Duration, Instant};

use job::wire::mpi_event::Event;
use job::wire::mpi_order::Order;
use job::wire::rank_ended::How;
use job::wire::{FenceDone, InputChunk, PmiStage, Share, Signal};
use nix::sys::signal::{Signal as Number, kill};
use nix::unistd::Pid;

use crate::support::{Appmaster, Launcher, Link, Relay, is_alive, share, with};

/// Says that it is there, then sleeps and does not mind SIGTERM.
const STUBBORN: &str =
    "#!/bin/sh\ntrap '' TERM\necho $$ > pid.$PMI_RANK\nwhile :; do sleep 1; done\n";
/// Leaves a process behind that has a session, a parent and pipes of its own, and sleeps.
const ORPHAN_MAKER: &str = "#!/bin/sh\n\
    (setsid sh -c 'echo $$ > orphan; exec sleep 300' </dev/null >/dev/null 2>&1 &)\n\
    echo $$ > pid.$PMI_RANK\n";

#[tokio::test]
async fn ranks_print_and_end_and_the_launcher_leaves() {
    let mut am = Appmaster::start().await;
    let script = "#!/bin/sh\necho \"$PMI_RANK of $PMI_SIZE, $MPI_LOCALRANKID of $MPI_LOCALNRANKS: \
                  $GREETING $1 $2\"\necho oops >&2\n\
                  test -z \"$HADOOP_TOKEN_FILE_LOCATION\" || echo leaked\nexit $PMI_RANK\n";
    let mut launcher = am.launcher(&[("hello", script)]);
    let mut link = am.link().await;
    assert_eq!(link.hello.build, job::BUILD);
    assert_eq!(link.hello.container, launcher.container);
    assert!(link.hello.node.as_ref().unwrap().cores > 0);
    let hello = share(8, &[4, 5, 6], "hello");
    link.run(with(hello, &["a b", "*"], &[("GREETING", "hello")]))
        .await;
    let mut codes = Vec::new();
    for _ in 0..3 {
        let ended = link.ended().await;
        assert_eq!(ended.pmi(), PmiStage::Silent);
        assert!(ended.max_rss_kib > 0);
        codes.push((ended.rank, ended.how));
    }
    codes.sort_by_key(|(rank, _)| *rank);
    let code = |rank: i32| Some(How::ExitCode(rank));
    assert_eq!(codes, [(4, code(4)), (5, code(5)), (6, code(6))]);
    assert_eq!(am.stdout(5).await, "5 of 8, 1 of 3: hello a b *\n");
    assert_eq!(am.so_far(5, 1), "oops\n");
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0));
    launcher.nothing_left().await;
    assert_eq!(launcher.log(), "");
}

#[tokio::test]
async fn a_program_that_cannot_run_is_refused_in_one_sentence() {
    let mut am = Appmaster::start().await;
    for (program, code, words) in [
        (
            "nothing",
            127,
            "nothing is not in the container's working directory",
        ),
        ("orphan", 127, "loader that it names is not on this node"),
    ] {
        let mut launcher = am.launcher(&[("orphan", "#!/no/such/interpreter\n")]);
        let mut link = am.link().await;
        link.order(Order::Share(share(2, &[0, 1], program))).await;
        let Event::Refusal(refusal) = link.event().await else {
            panic!("{program} ran");
        };
        assert_eq!(refusal.exit_code, code, "{}", refusal.sentence);
        assert!(refusal.sentence.contains(words), "{}", refusal.sentence);
        link.leave().await;
        assert_eq!(launcher.exit().await.code(), Some(0));
    }
}

#[tokio::test]
async fn stop_is_polite_first_and_then_not() {
    let mut am = Appmaster::start().await;
    let polite =
        "#!/bin/sh\ntrap 'exit 5' TERM\necho $$ > pid.$PMI_RANK\nwhile :; do sleep 0.01; done\n";
    let script = "#!/bin/sh\nif [ $PMI_RANK = 0 ]; then exec ./polite; fi; exec ./stubborn\n";
    let mut launcher = am.launcher(&[("polite", polite), ("stubborn", STUBBORN), ("both", script)]);
    let mut link = am.link().await;
    link.run(share(2, &[0, 1], "both")).await;
    launcher.file("pid.0").await;
    launcher.file("pid.1").await;
    let begin = Instant::now();
    link.stop(1000).await;
    let first = link.ended().await;
    assert_eq!((first.rank, first.how), (0, Some(How::ExitCode(5))));
    assert!(begin.elapsed() < Duration::from_millis(900));
    let second = link.ended().await;
    assert_eq!((second.rank, second.how), (1, Some(How::Signal(9))));
    assert!(begin.elapsed() >= Duration::from_secs(1));
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0));
    launcher.nothing_left().await;
}

#[tokio::test]
async fn signals_reach_every_rank_and_its_group() {
    let mut am = Appmaster::start().await;
    let script = "#!/bin/sh\ntrap 'echo got it; exit 3' USR1\necho $$ > pid.$PMI_RANK\n\
                  while :; do sleep 0.01; done\n";
    let launcher = am.launcher(&[("catcher", script)]);
    let mut link = am.link().await;
    link.run(share(2, &[0, 1], "catcher")).await;
    launcher.file("pid.0").await;
    launcher.file("pid.1").await;
    link.order(Order::Signal(Signal {
        signal: Number::SIGUSR1 as i32,
    }))
    .await;
    for _ in 0..2 {
        assert_eq!(link.ended().await.how, Some(How::ExitCode(3)));
    }
    assert_eq!(am.stdout(1).await, "got it\n");
}

#[tokio::test]
async fn input_reaches_rank_0_and_ends() {
    let mut am = Appmaster::start().await;
    let script = "#!/bin/sh\nif [ $PMI_RANK = 0 ]; then exec wc -c; else exec cat; fi\n";
    let _launcher = am.launcher(&[("count", script)]);
    let mut link = am.link().await;
    link.run(Share {
        input: true,
        ..share(2, &[0, 1], "count")
    })
    .await;
    assert_eq!(link.ended().await.rank, 1, "its input is empty");
    for _ in 0..640 {
        let data = vec![b'x'; 16 * 1024].into();
        am.input
            .send(Ok(InputChunk {
                data,
                ..InputChunk::default()
            }))
            .await
            .unwrap();
    }
    let (closed, _) = tokio::sync::mpsc::channel(1);
    am.input = closed;
    assert_eq!(link.ended().await.how, Some(How::ExitCode(0)));
    assert_eq!(am.stdout(0).await, "10485760\n");
}

#[tokio::test]
async fn a_rank_may_close_its_input() {
    let mut am = Appmaster::start().await;
    let script = "#!/bin/sh\nread line; exec 0<&-; echo \"$line\"; sleep 0.3; echo done\n";
    let mut launcher = am.launcher(&[("picky", script)]);
    let mut link = am.link().await;
    link.run(Share {
        input: true,
        ..share(1, &[0], "picky")
    })
    .await;
    let chunk = |text: &str| {
        Ok(InputChunk {
            data: text.as_bytes().to_vec().into(),
            ..InputChunk::default()
        })
    };
    am.input.send(chunk("one\n")).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    am.input.send(chunk("two\n")).await.unwrap();
    assert_eq!(link.ended().await.how, Some(How::ExitCode(0)));
    assert_eq!(am.stdout(0).await, "one\ndone\n");
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0));
    assert_eq!(launcher.log(), "");
}

#[tokio::test]
async fn the_next_run_begins_when_nothing_of_the_one_before_is_left() {
    let mut am = Appmaster::start().await;
    let script = format!("{ORPHAN_MAKER}\necho of $GERBIL_TEST_RUN; sleep 0.$GERBIL_TEST_RUN\n");
    let mut launcher = am.launcher(&[("maker", &script)]);
    let mut link = am.link().await;
    let run = |run: u32| {
        let number = run.to_string();
        let mut share = with(
            share(1, &[0], "maker"),
            &[],
            &[("GERBIL_TEST_RUN", &number)],
        );
        (share.run, share.kvs_name) = (run, format!("run_{number}"));
        share
    };
    link.run(run(1)).await;
    let orphan: i32 = launcher.file("orphan").await.parse().unwrap();
    assert_eq!(link.ended().await.how, Some(How::ExitCode(0)));
    link.run(run(2)).await;
    assert!(!is_alive(orphan));
    assert_eq!(link.ended().await.how, Some(How::ExitCode(0)));
    am.all_output().await;
    assert_eq!(am.stdout(0).await, "of 1\nof 2\n");
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0));
    launcher.nothing_left().await;
}

#[tokio::test]
async fn orphans_end_with_the_job() {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher(&[("maker", ORPHAN_MAKER)]);
    let mut link = am.link().await;
    link.run(share(1, &[0], "maker")).await;
    let orphan: i32 = launcher.file("orphan").await.parse().unwrap();
    assert_eq!(link.ended().await.how, Some(How::ExitCode(0)));
    assert!(is_alive(orphan), "it is let alone while the job runs");
    link.stop(1000).await;
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0));
    assert!(!is_alive(orphan));
    launcher.nothing_left().await;
}

#[tokio::test]
async fn an_orphan_without_its_mark_is_found_by_descent() {
    let mut am = Appmaster::start().await;
    let script = "#!/bin/sh\n\
        (env -i /usr/bin/setsid /bin/sh -c 'echo $$ > orphan; exec /bin/sleep 300' </dev/null >/dev/null 2>&1 &)\n";
    let mut launcher = am.launcher(&[("maker", script)]);
    let mut link = am.link().await;
    link.run(share(1, &[0], "maker")).await;
    let orphan: i32 = launcher.file("orphan").await.parse().unwrap();
    link.ended().await;
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0));
    assert!(!is_alive(orphan));
}

#[tokio::test]
async fn output_ends_although_an_orphan_holds_the_pipe() {
    let mut am = Appmaster::start().await;
    let script = "#!/bin/sh\necho last words\n(setsid sleep 300 &)\nprintf unfinished\n";
    let _launcher = am.launcher(&[("holder", script)]);
    let mut link = am.link().await;
    link.run(share(1, &[0], "holder")).await;
    assert_eq!(link.ended().await.how, Some(How::ExitCode(0)));
    let begin = Instant::now();
    assert_eq!(am.stdout(0).await, "last words\nunfinished");
    assert!(begin.elapsed() < Duration::from_secs(4));
}

#[tokio::test]
async fn a_killed_launcher_takes_everything_with_it() {
    let mut am = Appmaster::start().await;
    let script = format!("{ORPHAN_MAKER}exec ./stubborn\n");
    let mut launcher = am.launcher(&[("maker", &script), ("stubborn", STUBBORN)]);
    let mut link = am.link().await;
    link.run(share(2, &[0, 1], "maker")).await;
    launcher.file("pid.0").await;
    launcher.file("pid.1").await;
    let orphan: i32 = launcher.file("orphan").await.parse().unwrap();
    kill(Pid::from_raw(launcher.pid()), Number::SIGKILL).unwrap();
    launcher.exit().await;
    let begin = Instant::now();
    launcher.nothing_left().await;
    assert!(
        begin.elapsed() < Duration::from_secs(2),
        "{:?}",
        begin.elapsed()
    );
    assert!(!is_alive(orphan));
}

#[tokio::test]
async fn sigterm_ends_all_before_yarn_loses_patience() {
    let mut am = Appmaster::start().await;
    let script = format!("{ORPHAN_MAKER}exec ./stubborn\n");
    let mut launcher = am.launcher(&[("maker", &script), ("stubborn", STUBBORN)]);
    let mut link = am.link().await;
    link.run(share(2, &[0, 1], "maker")).await;
    launcher.file("pid.0").await;
    launcher.file("pid.1").await;
    launcher.file("orphan").await;
    let begin = Instant::now();
    kill(Pid::from_raw(launcher.pid()), Number::SIGTERM).unwrap();
    assert_eq!(launcher.exit().await.code(), Some(143));
    assert!(
        begin.elapsed() < Duration::from_millis(800),
        "{:?}",
        begin.elapsed()
    );
    launcher.nothing_left().await;
}

#[tokio::test]
async fn a_launcher_whose_appmaster_vanishes_ends_its_ranks() {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher(&[("stubborn", STUBBORN)]);
    let mut link = am.link().await;
    link.run(share(1, &[0], "stubborn")).await;
    launcher.file("pid.0").await;
    let begin = Instant::now();
    am.relay(Relay::Gone);
    assert_eq!(launcher.exit().await.code(), Some(70));
    // Nobody listened there twice.
    assert!(
        begin.elapsed() < Duration::from_secs(5),
        "{:?}",
        begin.elapsed()
    );
    launcher.nothing_left().await;
    assert!(launcher.log().contains("is lost"), "{}", launcher.log());
}

#[tokio::test]
async fn a_launcher_whose_appmaster_falls_silent_ends_its_ranks() {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher(&[("stubborn", STUBBORN)]);
    let mut link = am.link().await;
    link.run(share(1, &[0], "stubborn")).await;
    launcher.file("pid.0").await;
    let begin = Instant::now();
    am.relay(Relay::Frozen);
    assert_eq!(launcher.exit().await.code(), Some(70));
    // It counts from its last word that was answered, before the silence began.
    assert!(
        begin.elapsed() < job::transport::LOST + Duration::from_secs(2),
        "{:?}",
        begin.elapsed()
    );
    launcher.nothing_left().await;
}

/// Prints and reads, in the middle of a barrier, while everything that it says and hears is cut off.
const TALKER: &str = "#!/bin/bash\n\
    say() { echo \"$1\" >&$PMI_FD; read -r answer <&$PMI_FD; }\n\
    say 'cmd=init pmi_version=1 pmi_subversion=1'\n\
    read -r first; echo \"began $first\"; echo > begun\n\
    say 'cmd=barrier_in'\n\
    for i in $(seq 5000); do echo line $i; done\n\
    read -r last; echo \"$last\"; exit 9\n";

/// Cuts the launcher off while its rank is in a barrier and about to print and to read, as `cut` says,
/// which is over before the AM gives it up.
#[cfg(test)]
async fn goes_on_after(cut: impl AsyncFn(&Appmaster, &Link, &Launcher)) {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher(&[("talker", TALKER)]);
    let mut link = am.link().await;
    link.run(Share {
        input: true,
        ..share(1, &[0], "talker")
    })
    .await;
    let line = |text: &str| {
        Ok(InputChunk {
            data: text.as_bytes().to_vec().into(),
            ..InputChunk::default()
        })
    };
    am.input.send(line("in time\n")).await.unwrap();
    assert!(matches!(link.event().await, Event::PmiSeen(_)));
    launcher.file("begun").await;
    assert!(matches!(link.event().await, Event::Fence(_)));
    let order = async {
        // While nothing gets through.
        tokio::time::sleep(Duration::from_millis(300)).await;
        for piece in FenceDone::pieces(0, Vec::new()) {
            link.order(Order::FenceDone(piece)).await;
        }
        am.input.send(line("afterwards\n")).await.unwrap();
    };
    tokio::join!(order, cut(&am, &link, &launcher));
    assert_eq!(link.ended().await.how, Some(How::ExitCode(9)));
    let printed = am.stdout(0).await;
    let mut lines = printed.lines();
    assert_eq!(lines.next(), Some("began in time"));
    for number in 1..=5000 {
        assert_eq!(lines.next(), Some(&*format!("line {number}")));
    }
    assert_eq!(lines.next(), Some("afterwards"));
    assert_eq!(lines.next(), None);
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0), "{}", launcher.log());
    launcher.nothing_left().await;
}

#[tokio::test]
async fn a_broken_link_is_followed_by_another_that_goes_on_where_it_was() {
    goes_on_after(async |am, _link, _launcher| {
        am.relay(Relay::Cut);
        tokio::time::sleep(Duration::from_secs(3)).await;
        am.relay(Relay::Open);
    })
    .await;
}

#[tokio::test]
async fn a_link_that_stands_and_brings_nothing_is_left_for_another() {
    goes_on_after(async |am, _link, _launcher| {
        // Whatever was on its way is lost, and the connection is never heard to break: it stands to the end.
        am.relay(Relay::Stale);
    })
    .await;
}

#[tokio::test]
async fn a_link_that_is_hung_up_is_followed_by_another() {
    goes_on_after(async |_am, link, _launcher| {
        link.hang_up();
        tokio::time::sleep(Duration::from_secs(1)).await;
    })
    .await;
}

#[tokio::test]
async fn a_launcher_that_was_stopped_goes_on() {
    goes_on_after(async |_am, _link, launcher| {
        kill(Pid::from_raw(launcher.pid()), Number::SIGSTOP).unwrap();
        tokio::time::sleep(Duration::from_secs(18)).await;
        kill(Pid::from_raw(launcher.pid()), Number::SIGCONT).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_wrong_ticket_is_refused() {
    let am = Appmaster::start().await;
    let mut launcher = am.launcher_with_ticket(&[], b"guessed");
    assert_eq!(launcher.exit().await.code(), Some(70));
    assert!(
        launcher
            .log()
            .contains("refuses this launcher: wrong ticket"),
        "{}",
        launcher.log()
    );
}

#[tokio::test]
async fn many_ranks_fit_and_start_with_the_limit_that_the_container_has() {
    const RANKS: u32 = 60;
    let mut am = Appmaster::start().await;
    let script = "#!/bin/bash\n\
        ulimit -Sn\n\
        echo 'cmd=init pmi_version=1 pmi_subversion=1' >&$PMI_FD; read -r answer <&$PMI_FD\n\
        echo $PMI_FD ${answer%% *}\n";
    let launcher = am.launcher_with_open_files(64, &[("limits", script)]);
    let mut link = am.link().await;
    let ranks: Vec<u32> = (0..RANKS).collect();
    link.run(share(RANKS, &ranks, "limits")).await;
    let mut ended = 0;
    while ended < RANKS {
        match link.event().await {
            Event::Ended(end) => {
                assert_eq!(end.how, Some(How::ExitCode(0)));
                ended += 1;
            }
            Event::PmiSeen(_) => {}
            other => panic!("{other:?}, {}", launcher.log()),
        }
    }
    for rank in 0..RANKS {
        assert_eq!(am.stdout(rank).await, "64\n3 cmd=response_to_init\n");
    }
}

/// It has loaded what is called as a library of MPI is, and does not speak to its process manager.
/// Each rank has a copy of its own: one that is written while another rank has it loaded would end that.
const LOADED: &str =
    "#!/bin/sh\nmkdir $$ && cp \"$1\" \"$$/$2\"\nexec env LD_PRELOAD=\"$PWD/$$/$2\" sleep 30\n";

/// A small library that this process has loaded itself.
#[cfg(test)]
fn any_library() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let paths = maps
        .lines()
        .filter_map(|line| line.find('/').map(|at| &line[at..]));
    let mut libraries = paths.filter(|path| path.contains("/libgcc_s.so"));
    libraries.next().expect("libgcc_s").to_owned()
}

#[tokio::test]
async fn silent_ranks_that_have_loaded_open_mpi_are_refused_and_end() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[("loaded", LOADED)]);
    let mut link = am.link().await;
    let words = [any_library(), "libmpi.so.40".to_owned()];
    let words = words.each_ref().map(String::as_str);
    link.run(with(share(2, &[0, 1], "loaded"), &words, &[]))
        .await;
    let begin = Instant::now();
    let Event::Refusal(refusal) = link.event().await else {
        panic!("it runs");
    };
    assert_eq!(refusal.exit_code, 65, "{}", refusal.sentence);
    for word in ["Open MPI", "/libmpi.so.40", "each of the 2 processes"] {
        assert!(refusal.sentence.contains(word), "{}", refusal.sentence);
    }
    for _ in 0..2 {
        assert_eq!(link.ended().await.how, Some(How::Signal(9)));
    }
    assert!(begin.elapsed() < Duration::from_secs(10));
    drop(launcher);
}
