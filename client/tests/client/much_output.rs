//! Output in amounts for which it gets a way of its own (`job::lane`), of real jobs on this machine.

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::os::unix::process::ExitStatusExt as _;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    /// A job of some seconds on a busy machine.
    const SOON: Duration = Duration::from_secs(90);
    const NUMBERS: usize = 4_000_000;
    const LINES: usize = 400_000;

    fn start(folder: &std::path::Path, arguments: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_gerbil-run"))
            .arg("--local")
            .args(arguments)
            .env_remove("HADOOP_CONF_DIR")
            .env("XDG_STATE_HOME", folder.join("state"))
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Thirty megabytes each: numbers in their order, and lines that are all the same.
    #[test]
    fn all_of_it_comes_in_order_and_in_whole_lines() {
        let folder = tempfile::tempdir().unwrap();
        let line = "x".repeat(77);
        let script = format!(
            "case $PMI_RANK in 0) seq 1 {NUMBERS};; 1) yes {line} | head -n {LINES};; esac; \
             sleep 3; echo end of $PMI_RANK"
        );
        let mut child = start(folder.path(), &["-n", "2", "sh", "-c", &script]);
        let mut text = String::new();
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let of_rank_1 = text.lines().filter(|found| *found == line).count();
        assert_eq!(of_rank_1, LINES);
        let rest: Vec<&str> = text.lines().filter(|found| *found != line).collect();
        let (numbers, ends) = rest.split_at(NUMBERS);
        for (number, found) in (1..).zip(numbers) {
            assert_eq!(found.parse(), Ok(number));
        }
        let mut ends = ends.to_vec();
        ends.sort_unstable();
        assert_eq!(ends, ["end of 0", "end of 1"]);
    }

    /// Longer than an ApplicationMaster waits for a launcher that brings nothing.
    const STILL: Duration = Duration::from_secs(14);

    #[test]
    fn what_is_on_its_way_when_the_job_ends_waits_for_its_reader() {
        const ALL: usize = 64_000_000;
        let folder = tempfile::tempdir().unwrap();
        let script = format!("yes | head -c {ALL}");
        let mut child = start(folder.path(), &["-n", "1", "sh", "-c", &script]);
        let mut stdout = child.stdout.take().unwrap();
        let mut taken = vec![0; ALL - 6_000_000];
        stdout.read_exact(&mut taken).unwrap();
        std::thread::park_timeout(STILL);
        let rest = stdout.read_to_end(&mut taken).unwrap();
        assert_eq!((taken.len(), rest), (ALL, 6_000_000));
        assert_eq!(child.wait().unwrap().code(), Some(0));
        assert!(taken.chunks(2).all(|line| line == b"y\n"));
    }

    #[test]
    fn a_reader_that_leaves_ends_the_job() {
        let folder = tempfile::tempdir().unwrap();
        let mut child = start(folder.path(), &["-n", "1", "yes"]);
        let mut stdout = child.stdout.take().unwrap();
        let mut taken = vec![0; 100_000_000];
        stdout.read_exact(&mut taken).unwrap();
        drop(stdout);
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(begin.elapsed() < SOON, "it goes on for nobody");
            std::thread::park_timeout(Duration::from_millis(50));
        };
        let code = status.code().or(status.signal().map(|signal| 128 + signal));
        assert_eq!(code, Some(141));
        assert!(taken.chunks(2).all(|line| line == b"y\n"));
    }
}
