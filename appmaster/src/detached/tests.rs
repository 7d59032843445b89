//! Whole jobs' output through real files.

use std::path::Path;

use job::wire::job_event::Event;
use tempfile::TempDir;

use super::*;
use crate::detached::parts::Position;
use crate::detached::spool::ReadEnd;

fn printed(rank: u32, text: &str) -> wire::OutputChunk {
    wire::OutputChunk {
        rank,
        run: 1,
        data: text.as_bytes().to_vec().into(),
        ..wire::OutputChunk::default()
    }
}

fn end() -> Event {
    Event::Verdict(wire::Verdict::default())
}

/// All that is there, in words: what is left out as `<N>`; and whether that is all for ever.
fn read(kept: &DetachedJob, rank: Option<u32>) -> (String, ReadEnd) {
    let (mut place, mut text) = (Position::default(), String::new());
    loop {
        let behind = kept.behind(place, rank).unwrap();
        place = behind.place;
        for chunk in behind.chunks {
            match chunk.left_out {
                0 => text.push_str(std::str::from_utf8(&chunk.data).unwrap()),
                bytes => text.push_str(&format!("<{bytes}>")),
            }
        }
        if let Some(end) = behind.end {
            return (text, end);
        }
    }
}

fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return 0;
    };
    let sizes = entries.map(|entry| {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => bytes_below(&path),
            false => path.metadata().unwrap().len(),
        }
    });
    sizes.sum()
}

fn bed(most: u64) -> (TempDir, Detached) {
    let folder = TempDir::new().unwrap();
    let all = Detached::below(folder.path().join("kept"), most);
    (folder, all)
}

#[test]
fn what_ranks_print_is_read_again_as_often_as_one_likes_whole_or_of_one_rank() {
    let (folder, all) = bed(DISK_MAX);
    let kept = all.insert(JobId(7), "p", InputSender::Empty);
    assert_eq!(read(&kept, None), (String::new(), ReadEnd::Now));
    let nobody = || false;
    kept.print(&[printed(0, "a\n"), printed(1, "b\n")], nobody);
    kept.print(&[printed(0, "c\n")], nobody);
    assert_eq!(read(&kept, None), ("a\nb\nc\n".into(), ReadEnd::Now));
    kept.close();
    for _ in 0..2 {
        assert_eq!(read(&kept, None), ("a\nb\nc\n".into(), ReadEnd::Forever));
        assert_eq!(read(&kept, Some(0)), ("a\nc\n".into(), ReadEnd::Forever));
        assert_eq!(read(&kept, Some(9)), (String::new(), ReadEnd::Forever));
    }
    all.clear();
    assert!(!folder.path().join("kept").exists());
}

#[test]
fn of_much_output_the_first_and_the_last_mebibyte_is_kept() {
    let (folder, all) = bed(DISK_MAX);
    let kept = all.insert(JobId(1), "p", InputSender::Empty);
    let line = "x".repeat(999) + "\n";
    let lines: Vec<_> = (0..10).map(|_| printed(0, &line)).collect();
    for _ in 0..1_000 {
        kept.print(&lines, || false);
    }
    kept.close();
    let on_disk = bytes_below(folder.path());
    assert!((2_000_000..2 << 20).contains(&on_disk), "{on_disk}");
    let (text, _) = read(&kept, None);
    let (head, rest) = text.split_once('<').unwrap();
    let (out, tail) = rest.split_once('>').unwrap();
    let out: usize = out.parse().unwrap();
    assert_eq!(head.len() + out + tail.len(), 10_000_000);
    assert!(head.len() > 900_000 && tail.len() > 900_000);
    assert!(
        head.lines()
            .chain(tail.lines())
            .all(|line| line.len() == 999)
    );
}

#[test]
fn all_jobs_together_have_so_much_and_what_has_ended_makes_room() {
    const MOST: u64 = 100_000;
    let (folder, all) = bed(MOST);
    let line = "x".repeat(999) + "\n";
    let lines: Vec<_> = (0..90).map(|_| printed(0, &line)).collect();
    let first = all.insert(JobId(1), "first", InputSender::Empty);
    first.print(&lines, || all.make_room());
    assert!(!read(&first, None).0.contains('<'));
    // One that runs keeps what it has; of the next only the length is known.
    let second = all.insert(JobId(2), "second", InputSender::Empty);
    second.print(&lines, || all.make_room());
    assert_eq!(read(&first, None).0.len(), 90_000);
    second.close();
    assert!(read(&second, None).0.ends_with('>'));
    assert!(bytes_below(folder.path()) <= MOST);
    first.close();
    first.hear(end());
    let third = all.insert(JobId(3), "third", InputSender::Empty);
    third.print(&lines, || all.make_room());
    assert_eq!(read(&third, None).0.len(), 90_000);
    assert_eq!(read(&first, None), ("<90000>".into(), ReadEnd::Forever));
    assert!(bytes_below(folder.path()) <= MOST);
    all.clear();
    assert_eq!(bytes_below(folder.path()), 0);
}

#[test]
fn a_disk_that_takes_nothing_costs_output_and_no_more() {
    let (folder, all) = bed(DISK_MAX);
    // Where its folder would be is a file.
    std::fs::write(folder.path().join("kept"), "in the way").unwrap();
    let kept = all.insert(JobId(1), "p", InputSender::Empty);
    kept.print(&[printed(0, "one\n")], || false);
    std::fs::remove_file(folder.path().join("kept")).unwrap();
    kept.print(&[printed(0, "two\n")], || false);
    // What was to be kept has gone meanwhile: that is no end of anything either.
    kept.close();
    assert_eq!(read(&kept, None), ("<4>two\n".into(), ReadEnd::Forever));
    all.clear();
    assert_eq!(read(&kept, None), ("<8>".into(), ReadEnd::Forever));
}

#[test]
fn the_last_hundred_that_have_ended_are_remembered() {
    let (_folder, all) = bed(DISK_MAX);
    let lasting = all.insert(JobId(1), "lasting", InputSender::Empty);
    for number in 2..=150 {
        let kept = all.insert(JobId(number), "p", InputSender::Empty);
        kept.hear(end());
        all.forget_some();
    }
    let ended: Vec<u32> = all.ended().iter().map(|ended| ended.job).collect();
    assert_eq!(ended, (51..=150).collect::<Vec<u32>>());
    assert!(all.get(JobId(1)).is_some() && all.get(JobId(50)).is_none());
    lasting.hear(end());
    all.forget_some();
    assert!(all.get(JobId(1)).is_none());
}

#[test]
fn input_is_given_by_one_and_only_where_there_is_any() {
    let (_folder, all) = bed(DISK_MAX);
    let empty = all.insert(JobId(1), "p", InputSender::Empty);
    assert!(empty.claim_input(true).unwrap_err().contains("--input 0"));
    let open = all.insert(JobId(2), "p", InputSender::Free);
    let claim = open.claim_input(true).unwrap();
    let refused = open.claim_input(true).unwrap_err();
    assert!(refused.contains("somebody else gives"));
    // What has broken off another may end, also while the first still watches.
    open.release_input();
    let other = open.claim_input(true).unwrap();
    assert!(open.claim_input(true).is_err());
    // Who has claimed it leaves before it has given any.
    drop((claim, other));
    assert!(open.claim_input(true).is_ok());
    let refused = open.claim_input(false).unwrap_err();
    assert!(refused.contains("somebody else has given"));
    empty.release_input();
    assert!(empty.claim_input(true).is_err());
    let late = all.insert(JobId(3), "p", InputSender::Free);
    late.hear(end());
    let refused = late.claim_input(true).unwrap_err();
    assert!(refused.contains("it has ended"));
}
