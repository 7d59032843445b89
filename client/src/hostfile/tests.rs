use std::io::Write as _;
use std::path::Path;

use super::read::file_text;
use super::*;

fn file(text: &str) -> Result<Vec<(String, u32)>, String> {
    file_text("hosts".into(), text.as_bytes())
        .map(flat)
        .map_err(|error| error.to_string())
}

fn flat(list: HostList) -> Vec<(String, u32)> {
    list.hosts.into_iter().map(|h| (h.name, h.places)).collect()
}

fn pairs(wanted: &[(&str, u32)]) -> Vec<(String, u32)> {
    let wanted = wanted.iter();
    wanted.map(|(name, n)| ((*name).to_owned(), *n)).collect()
}

#[test]
fn all_forms_of_mpich_and_open_mpi_are_read() {
    let text = "# my hosts\r\n\
        n1\r\n\
        n2:4   # four\r\n\
        \r\n\
        n3 slots=2\r\n\
        n4\t3\r\n\
        n5 slots=2 max_slots=8\n\
        n6 max-slots=8 slots=1\n\
        [fe80::1]:2\n\
        [::1]\n\
        10.0.0.7:5\n\
        n1:2";
    assert_eq!(
        file(text).unwrap(),
        pairs(&[
            ("n1", 3),
            ("n2", 4),
            ("n3", 2),
            ("n4", 3),
            ("n5", 2),
            ("n6", 1),
            ("fe80::1", 2),
            ("::1", 1),
            ("10.0.0.7", 5),
        ])
    );
    assert_eq!(file("\u{feff}n1\n").unwrap(), pairs(&[("n1", 1)]));
    let list = file_text("hosts".into(), text.as_bytes()).unwrap();
    assert_eq!(list.notes.len(), 1);
    assert!(list.notes[0].starts_with("hosts:7: max_slots=8"));
}

#[test]
fn ranges_stand_for_all_their_hosts() {
    let wanted = pairs(&[("n1", 2), ("n2", 4), ("n3", 2), ("a", 1)]);
    assert_eq!(file("n[1-3]:2\na\nn2 slots=2\n").unwrap(), wanted);
    assert_eq!(flat(inline("n[1-3]:2,a,n[2]:2").unwrap()), wanted);
    assert_eq!(
        flat(inline("n[1,3]").unwrap()),
        pairs(&[("n1", 1), ("n3", 1)])
    );
    assert_eq!(names("a,n[1-2]").unwrap().0, ["a", "n1", "n2"]);
    let error = |text: &str| inline(text).unwrap_err().to_string();
    assert!(error("n[3-1]").starts_with("host 1: n[3-1] has no range"));
    assert!(error("a,-n[1-2]").starts_with("host 2: -n1 is no name"));
    assert!(names("a:2").is_err() && names("a,,b").is_err());
    let list = file_text("hosts".into(), b"n[1-2]\n\nm\n").unwrap();
    let at: Vec<_> = list.hosts.iter().map(|host| host.at.as_deref()).collect();
    assert_eq!(at, [Some("hosts:1"), Some("hosts:1"), Some("hosts:3")]);
}

#[test]
fn what_is_wrong_is_said_with_file_line_and_value() {
    for (text, wanted) in [
        (
            "n1\nn2:0\n",
            "hosts:2: the number of processes is 0; a host takes 1 to 1000000",
        ),
        ("n1:-3", "hosts:1: the number of processes is -3"),
        ("n1 -3", "hosts:1: the number of processes is -3"),
        (
            "n1 slots=99999999999999999999",
            "hosts:1: the number of processes is 99999999999999999999",
        ),
        ("n1:1000001", "hosts:1: the number of processes is 1000001"),
        (
            "n1:999999\nn2:2",
            "hosts:2: with n2 the list has 1000001 places, more than 1000000",
        ),
        ("n1:", "hosts:1: \"\" is no number of processes"),
        ("n1:four", "hosts:1: \"four\" is no number of processes"),
        ("n1 slots=", "hosts:1: \"\" is no number of processes"),
        ("n1 max_slots=0", "hosts:1: the number of processes is 0"),
        (
            "n1:2 slots=3",
            "hosts:1: 3 is a second number of processes for one mention of n1",
        ),
        ("n1 n2", "hosts:1: n2 is not understood here"),
        (
            "n1 ifname=ib0",
            "hosts:1: ifname=ib0 is not understood here",
        ),
        ("me@n1", "hosts:1: me@n1 names a user"),
        ("fe80::1", "hosts:1: fe80::1 could be an address"),
        ("[fe80::1", "hosts:1: [fe80::1 is no name of a host"),
        ("[n1]:3", "hosts:1: [n1]:3 is no name of a host"),
        ("-n1", "hosts:1: -n1 is no name of a host"),
        ("n1,n2", "hosts:1: n1,n2 is no name of a host"),
        (":4", "hosts:1: :4 is no name of a host"),
        ("# nothing\n\n", "the list hosts names no host"),
        ("", "the list hosts names no host"),
    ] {
        let error = file(text).unwrap_err();
        assert!(error.starts_with(wanted), "{text:?} gave {error:?}");
    }
    let error = file_text("hosts".into(), b"n1\n\xff\xfe\n").unwrap_err();
    assert_eq!(error.to_string(), "hosts:2: this line is no UTF-8 text");
}

#[test]
fn a_word_of_the_command_line_follows_the_same_rules() {
    let list = inline("a:2,b:2, c ,a").map(flat).unwrap();
    assert_eq!(list, pairs(&[("a", 3), ("b", 2), ("c", 1)]));
    assert_eq!(inline("[::1]:2").map(flat).unwrap(), pairs(&[("::1", 2)]));
    for (text, wanted) in [
        ("a,,b", "host 2: there is no host between two commas"),
        ("", "host 1: there is no host between two commas"),
        ("a:2,b:0", "host 2: the number of processes is 0"),
    ] {
        let error = inline(text).unwrap_err().to_string();
        assert!(error.starts_with(wanted), "{text:?} gave {error:?}");
    }
}

#[test]
fn files_that_are_no_lists_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let error = |path: &Path| read(path).unwrap_err().to_string();
    assert!(error(folder.path()).contains("is a directory"));
    assert!(error(&folder.path().join("none")).contains("No such file"));
    assert!(error(Path::new("-")).contains("standard input"));
    let large = folder.path().join("large");
    let file = std::fs::File::create(&large).unwrap();
    file.set_len(error::FILE_MAX + 1).unwrap();
    assert!(error(&large).contains("larger than 16 MiB"));
    let good = folder.path().join("good");
    writeln!(std::fs::File::create(&good).unwrap(), "n1:2").unwrap();
    assert_eq!(flat(read(&good).unwrap()), pairs(&[("n1", 2)]));
}
