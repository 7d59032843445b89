//! What a command returns when it was told to end while its output was on its way, or when its input broke: real
//! jobs on this machine.

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::path::Path;
    use std::process::{Child, Command, ExitStatus, Stdio};
    use std::time::{Duration, Instant};

    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    /// A job of some seconds on a busy machine.
    const SOON: Duration = Duration::from_secs(90);
    /// More than the pipe and the client hold, and little enough for the ranks to end while it waits for its reader.
    const BYTES: usize = 700_000;

    fn start(folder: &Path, arguments: &[&str]) -> Child {
        Command::new("env")
            .args(["--default-signal=HUP,INT", env!("CARGO_BIN_EXE_gerbil-run")])
            .args(arguments)
            .current_dir(folder)
            .env_remove("HADOOP_CONF_DIR")
            .env("XDG_STATE_HOME", folder.join("state"))
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn until(what: &str, is_so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < SOON, "{what}");
            std::thread::park_timeout(Duration::from_millis(20));
        }
    }

    fn tell(child: &Child, signal: Signal) {
        kill(Pid::from_raw(i32::try_from(child.id()).unwrap()), signal).unwrap();
    }

    /// Reads all that comes.
    fn rest(child: &mut Child) -> (ExitStatus, usize, String) {
        let mut stderr = child.stderr.take().unwrap();
        let said = std::thread::spawn(move || {
            let mut said = String::new();
            stderr.read_to_string(&mut said).unwrap();
            said
        });
        let mut bytes = Vec::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_end(&mut bytes)
            .unwrap();
        (child.wait().unwrap(), bytes.len(), said.join().unwrap())
    }

    fn script(folder: &Path) -> String {
        format!("yes | head -c {BYTES}; touch {}/printed", folder.display())
    }

    /// The program has printed all and ended well; nobody reads it. A signal comes, and then the reader takes what
    /// there is.
    #[test]
    fn a_signal_while_output_waits_for_its_reader_is_no_success() {
        for signals in [&[Signal::SIGTERM][..], &[Signal::SIGINT, Signal::SIGINT]] {
            let folder = tempfile::tempdir().unwrap();
            let mut child = start(
                folder.path(),
                &["--local", "-n", "1", "sh", "-c", &script(folder.path())],
            );
            until("it prints", || folder.path().join("printed").exists());
            // For the word of its end to go round; sooner or later, the code is the same.
            std::thread::park_timeout(Duration::from_millis(500));
            for (index, signal) in signals.iter().enumerate() {
                if index > 0 {
                    // Two of a kind at once are one to the kernel.
                    std::thread::park_timeout(Duration::from_millis(300));
                }
                tell(&child, *signal);
            }
            let (status, bytes, said) = rest(&mut child);
            let code = 128 + signals[0] as i32;
            assert_eq!(status.code(), Some(code), "{bytes} bytes; {said}");
        }
    }

    #[test]
    fn a_list_says_so_of_its_jobs() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs");
        let script = script(folder.path());
        std::fs::write(&path, format!("--local -n 1 sh -c '{script}'\n")).unwrap();
        let mut child = start(folder.path(), &["--list", "jobs"]);
        until("it prints", || folder.path().join("printed").exists());
        std::thread::park_timeout(Duration::from_millis(500));
        tell(&child, Signal::SIGTERM);
        let (status, bytes, said) = rest(&mut child);
        assert_eq!(status.code(), Some(143), "{bytes} bytes; {said}");
        let row = said.lines().find(|line| line.contains(" application_"));
        assert!(row.is_some_and(|row| row.contains(" 143 ")), "{said}");
        assert!(said.contains("1 of 1 failed"), "{said}");
    }

    /// `cat < /`: the input that breaks is not taken for one that ends.
    #[test]
    fn input_that_cannot_be_read_is_no_end_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let ended = folder.path().join("ended");
        let script = format!("cat && touch {}", ended.display());
        let mut command = Command::new(env!("CARGO_BIN_EXE_gerbil-run"));
        command
            .args(["--local", "-n", "1", "sh", "-c", &script])
            .env_remove("HADOOP_CONF_DIR")
            .env("XDG_STATE_HOME", folder.path().join("state"))
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stdin(std::fs::File::open("/").unwrap());
        let ran = command.output().unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(ran.status.code(), Some(74), "{said}");
        assert!(
            said.contains("cannot read standard input: Is a directory"),
            "{said}"
        );
        assert!(!ended.exists(), "cat has seen an end: {said}");
    }
}
