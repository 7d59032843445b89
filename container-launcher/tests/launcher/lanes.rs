//! Streams that have much to say take a lane to the client, and leave it when they have little.

use job::wire;
use job::wire::mpi_order::Order;
use job::wire::rank_ended::How;

use crate::support::door::Door;
use crate::support::{Appmaster, share};

/// Thirty megabytes of numbers; then little, after a while.
const SCRIPT: &str = "#!/bin/sh\nseq 1 4000000\nsleep 3\necho the end\n";

fn expected() -> String {
    let numbers = (1..=4_000_000).map(|number| format!("{number}\n"));
    numbers.chain(["the end\n".to_owned()]).collect()
}

#[tokio::test]
async fn much_goes_by_a_lane_and_little_does_not() {
    let mut am = Appmaster::start().await;
    let door = Door::open(&am, usize::MAX).await;
    let _launcher = am.launcher(&[("numbers", SCRIPT)]);
    let mut link = am.link().await;
    link.order(Order::Door(door.order())).await;
    link.run(share(1, &[0], "numbers")).await;
    assert_eq!(link.ended().await.how, Some(How::ExitCode(0)));
    let by_appmaster = am.stdout(0).await;
    let lanes = door.lanes.lock().unwrap();
    let marks = am.marks.lock().unwrap();
    let ([(number, by_lane)], [(before, mark), (back, over)]) = (&lanes[..], &marks[..]) else {
        panic!("{} lanes, {} marks", lanes.len(), marks.len());
    };
    assert_eq!((mark.lane, mark.rank), (*number, 0));
    assert!(!mark.lost && *number != 0);
    assert_eq!((back, over.lane, over.lost), (before, 0, false));
    let (begin, end) = by_appmaster.split_at(*before);
    assert_eq!(end, "the end\n");
    let by_lane = std::str::from_utf8(by_lane).unwrap();
    assert!([begin, by_lane, end].concat() == expected());
}

#[tokio::test]
async fn a_lane_that_breaks_is_told_and_the_rest_comes_as_before() {
    let mut am = Appmaster::start().await;
    let door = Door::open(&am, 1_000_000).await;
    let _launcher = am.launcher(&[("numbers", SCRIPT)]);
    let mut link = am.link().await;
    link.order(Order::Door(door.order())).await;
    link.run(share(1, &[0], "numbers")).await;
    assert_eq!(link.ended().await.how, Some(How::ExitCode(0)));
    let by_appmaster = am.stdout(0).await;
    let marks = am.marks.lock().unwrap();
    let [(_, lane), (until, lost)] = &marks[..] else {
        panic!("{} marks", marks.len());
    };
    assert!(lane.lane != 0 && lost.lost);
    let rest = &by_appmaster[*until..];
    assert!(expected().ends_with(rest) && rest.ends_with("4000000\nthe end\n"));
}

#[tokio::test]
async fn where_no_way_leads_to_the_client_nothing_changes() {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[("numbers", SCRIPT)]);
    let mut link = am.link().await;
    let address = "127.0.0.1:1".to_owned();
    link.order(Order::Door(wire::Door { address })).await;
    link.run(share(1, &[0], "numbers")).await;
    assert_eq!(link.ended().await.how, Some(How::ExitCode(0)));
    assert!(am.stdout(0).await == expected());
    assert!(am.marks.lock().unwrap().is_empty());
    let log = launcher.log();
    assert!(log.contains("no way leads to the client"), "{log}");
}
