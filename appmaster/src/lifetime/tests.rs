//! Sessions stop, one after the other kind of reason.

use FinalApplicationStatus::{Failed, Killed, Succeeded};

use super::*;

#[test]
fn a_session_that_stops_unregisters_once_with_the_first_verdict() {
    let mut life = Lifetime::new(false, None);
    assert!(life.is_open() && life.holds_containers() && !life.is_over());
    assert_eq!(life.unregister(), None, "it is open");
    assert!(life.stop(Succeeded, "3 jobs were run".into()));
    assert!(life.stop(Killed, "the session was ended from outside".into()));
    assert!(!life.is_open() && life.holds_containers());
    let verdict = (Succeeded, "3 jobs were run".to_owned());
    assert_eq!(life.unregister(), Some(verdict));
    assert!(!life.holds_containers());
    assert!(!life.stop(Killed, "too late".into()));
    assert_eq!(life.unregister(), None, "it is told once");
    life.unregistered();
    assert!(life.is_over());
}

#[test]
fn a_session_without_jobs_stops_after_its_time_and_not_while_a_job_is_there() {
    let mut life = Lifetime::new(false, Some(Millis(60_000)));
    let due = |life: &Lifetime| life.dues()[0].1;
    assert_eq!(due(&life), Some(Millis(60_000)));
    assert!(life.due(Millis(59_999)).is_empty());
    assert_eq!(life.due(Millis(60_000)), [Reason::Idle]);
    life.job_came();
    assert_eq!(due(&life), None);
    assert!(life.due(Millis(99_000)).is_empty());
    life.job_over(Millis(70_000), false);
    assert_eq!(due(&life), None, "another is there");
    life.job_over(Millis(80_000), true);
    assert_eq!(due(&life), Some(Millis(140_000)));
    life.stop(Succeeded, "1 jobs were run".into());
    assert!(due(&life).is_none() && life.due(Millis(140_000)).is_empty());
}

#[test]
fn a_session_of_one_client_stops_where_that_has_not_come() {
    let mut life = Lifetime::new(true, None);
    let by = life.dues()[1].1.unwrap();
    assert_eq!(life.due(by), [Reason::OwnerMissed]);
    let client = tokio::sync::mpsc::channel(1).0;
    assert_eq!(life.owner_comes(client), Ok(()));
    assert!(life.due(by).is_empty());
    assert_eq!(life.dues()[1].1, None);
}

#[test]
fn one_that_ends_the_jobs_of_another_takes_none_and_stops_when_these_are_over() {
    let mut life = Lifetime::new(false, Some(Millis(1)));
    life.recover();
    assert!(!life.is_open() && !life.holds_containers());
    assert!(life.due(Millis(10)).is_empty());
    assert!(!life.stop(Killed, "from outside".into()));
    assert_eq!(life.unregister(), None);
    life.recovered("job 1 was finished".into());
    assert_eq!(
        life.unregister(),
        Some((Failed, "job 1 was finished".into()))
    );
}
