//! What a command line comes to before and beside a job: help, mistakes, odd words, odd input.

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::{Output, Stdio};
    use std::time::{Duration, Instant};

    use tempfile::TempDir;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::process::Command;
    use tokio::time::timeout;

    /// A job of a second on a busy machine.
    const SOON: Duration = Duration::from_secs(40);

    /// The command under `name`, in an environment without Hadoop.
    fn called(name: &str, folder: &Path) -> Command {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_gerbil-run"));
        command.arg0(name);
        let mut command = Command::from(command);
        for name in ["HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_HOME"] {
            command.env_remove(name);
        }
        command
            .env("TMPDIR", folder)
            .env("XDG_STATE_HOME", folder.join("state"))
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    fn folder() -> TempDir {
        use std::os::unix::fs::PermissionsExt;
        let open = std::fs::Permissions::from_mode(0o755);
        tempfile::Builder::new()
            .permissions(open)
            .tempdir()
            .unwrap()
    }

    async fn output(mut command: Command) -> Output {
        timeout(SOON, command.output()).await.unwrap().unwrap()
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Exit code, standard output, standard error.
    async fn said(name: &str, line: &str) -> (Option<i32>, String, String) {
        let folder = folder();
        let mut command = called(name, folder.path());
        command.args(line.split_whitespace());
        let output = output(command).await;
        let code = output.status.code();
        (code, text(&output.stdout), text(&output.stderr))
    }

    #[tokio::test]
    async fn what_is_printed_to_a_closed_output_is_a_write_error() {
        let folder = folder();
        for (line, code) in [
            ("--version", 74),
            ("--local -n 1 echo x", 74),
            ("--local -n 1 true", 0),
        ] {
            let mut command = Command::new("sh");
            command
                .args([
                    "-c",
                    "exec \"$0\" $1 >&-",
                    env!("CARGO_BIN_EXE_gerbil-run"),
                    line,
                ])
                .env("TMPDIR", folder.path())
                .env("XDG_STATE_HOME", folder.path().join("state"))
                .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
                .env_remove("HADOOP_CONF_DIR")
                .stdin(Stdio::null())
                .stderr(Stdio::piped())
                .kill_on_drop(true);
            let done = output(command).await;
            let said = text(&done.stderr);
            assert_eq!(done.status.code(), Some(code), "{line}: {said}");
            assert_eq!(
                said.contains("Bad file descriptor"),
                code == 74,
                "{line}: {said}"
            );
        }
    }

    #[tokio::test]
    async fn help_is_on_standard_output_and_short_where_it_was_asked_for_shortly() {
        let (code, brief, nothing) = said("gerbil-run", "-h").await;
        assert_eq!((code, nothing.as_str()), (Some(0), ""));
        assert!(brief.lines().count() <= 25, "{brief}");
        assert!(brief.starts_with("Usage: gerbil-run "), "{brief}");
        assert_eq!(
            said("gerbil-run", "help").await,
            (code, brief.clone(), nothing)
        );
        let (code, whole, _) = said("gerbil-run", "--help").await;
        assert_eq!(code, Some(0));
        assert!(whole.lines().count() > 100, "{whole}");
        assert!(whole.contains("--generate"), "{whole}");
        let (code, version, _) = said("gerbil-run", "version").await;
        assert_eq!(code, Some(0));
        assert!(version.starts_with("gerbil-run "), "{version}");
        // Nothing at all is a mistake, and the way out of it the same text.
        assert_eq!(
            said("gerbil-run", "").await,
            (Some(64), String::new(), brief)
        );
        let (code, _, sentence) = said("gerbil-run", "-n 2").await;
        assert_eq!(code, Some(64));
        assert!(sentence.contains("no program is named"), "{sentence}");
    }

    #[tokio::test]
    async fn under_its_second_name_a_command_comes_first() {
        let (code, out, said_of_it) = said("/usr/bin/gerbil", "run --local echo ps").await;
        assert_eq!((code, out.as_str()), (Some(0), "ps\n"), "{said_of_it}");
        let (code, out, _) = said("gerbil", "--help").await;
        assert_eq!(code, Some(0));
        assert!(
            out.lines().count() <= 24 && out.contains("completions"),
            "{out}"
        );
        let (code, out, _) = said("gerbil", "completions bash").await;
        assert_eq!(code, Some(0));
        assert!(
            out.contains("_gerbil__run()") && out.contains("_gerbil()"),
            "{out}"
        );
        let (code, _, sentence) = said("gerbil", "-n 4 ./cpi").await;
        assert_eq!(code, Some(64));
        assert!(sentence.contains("gerbil run -n 4 ./cpi"), "{sentence}");
        assert_eq!(said("gerbil", "").await.0, Some(64));
        // Under the first a program may have any name.
        let (code, out, _) = said("gerbil-run", "--local ps -o comm=").await;
        assert_eq!(code, Some(0));
        assert!(out.contains("ps"), "{out}");
    }

    #[tokio::test]
    async fn a_word_that_is_no_text_gets_a_sentence() {
        let odd = OsStr::from_bytes(b"\xff\xfe");
        let folder = folder();
        let mut command = called("gerbil-run", folder.path());
        command.arg(odd);
        let first = output(command).await;
        assert_eq!(first.status.code(), Some(78), "{first:?}");
        let mut command = called("gerbil-run", folder.path());
        command.arg("--local").arg(odd);
        let second = output(command).await;
        assert_eq!(second.status.code(), Some(127), "{second:?}");
        for output in [first, second] {
            let said = text(&output.stderr);
            assert!(
                said.starts_with("gerbil-run: ") && !said.contains("panicked"),
                "{said}"
            );
        }
    }

    #[tokio::test]
    async fn variables_that_are_no_text_are_not_taken_as_unset() {
        let odd = OsStr::from_bytes(b"\xff\xfez");
        for (variable, code, words) in [
            ("GERBIL_SESSION", 64, "GERBIL_SESSION"),
            ("MPIEXEC_TIMEOUT", 64, "MPIEXEC_TIMEOUT is"),
            ("BAD", 0, "the variable BAD is no UTF-8"),
        ] {
            let folder = folder();
            let mut command = called("gerbil-run", folder.path());
            command.args(["--local", "echo"]).env(variable, odd);
            let output = output(command).await;
            let said = text(&output.stderr);
            assert_eq!(output.status.code(), Some(code), "{variable}: {said}");
            assert!(said.contains(words), "{variable}: {said}");
        }
        let folder = folder();
        let mut command = called("gerbil-run", folder.path());
        command.args(["--local", "echo"]).env("MPIEXEC_TIMEOUT", "");
        assert_eq!(output(command).await.status.code(), Some(0));
    }

    #[tokio::test]
    async fn names_that_hadoop_and_shells_stumble_over_are_names() {
        let folder = folder();
        let odd = folder.path().join("t%p #q?");
        std::fs::create_dir(&odd).unwrap();
        let mut command = called("gerbil-run", &odd);
        command.args(["--local", "--get", "out", "sh", "-c", "echo"]);
        let refused = output(command).await;
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(64), "{said}");
        assert!(said.contains("set TMPDIR"), "{said}");
        let names = ["a b", "é", "q'u", ".hid", "st*r", "ha#sh", "se;m"];
        for name in names {
            std::fs::write(folder.path().join(name), name).unwrap();
        }
        let mut command = called("gerbil-run", &odd);
        command
            .args(["--local", "--files"])
            .current_dir(folder.path());
        command
            .arg(names.join(","))
            .args(["sh", "-c", "cat \"$@\"", "sh"])
            .args(names);
        let shown = output(command).await;
        assert_eq!(text(&shown.stdout), names.concat(), "{shown:?}");
    }

    #[tokio::test]
    async fn who_takes_one_name_of_the_file_for_the_other_is_told() {
        let (code, _, sentence) = said("gerbil-run", "session list").await;
        assert_eq!(code, Some(64), "{sentence}");
        assert!(sentence.contains("gerbil session list"), "{sentence}");
        let (code, _, sentence) = said("gerbil-run", "-n 4 ./cpi").await;
        assert_eq!(code, Some(78), "{sentence}");
        assert!(sentence.contains("--local"), "{sentence}");
        let (code, _, sentence) = said("gerbil", "mr --staging file:/x list").await;
        assert_eq!(code, Some(64), "{sentence}");
        let (code, page, _) = said("gerbil", "man session start").await;
        assert_eq!(code, Some(0));
        assert!(page.contains("slots"), "{page}");
        assert_eq!(said("gerbil", "help ps").await.0, Some(0));
    }

    #[tokio::test]
    async fn a_row_of_dots_is_shown_while_it_grows() {
        let folder = folder();
        let mut command = called("gerbil-run", folder.path());
        let script = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do printf .; \
                      sleep 0.15; done; echo";
        command.args(["--local", "sh", "-c", script]);
        let mut child = command.spawn().unwrap();
        let mut dots = child.stdout.take().unwrap();
        let mut first = [0; 64];
        let read = timeout(SOON, dots.read(&mut first)).await.unwrap().unwrap();
        let began = Instant::now();
        assert!((1..10).contains(&read), "{read} dots at once");
        let mut rest = Vec::new();
        timeout(SOON, dots.read_to_end(&mut rest))
            .await
            .unwrap()
            .unwrap();
        assert_eq!(read + rest.len(), 21);
        assert!(
            began.elapsed() > Duration::from_secs(1),
            "the first came with the last"
        );
        assert!(child.wait().await.unwrap().success());
    }

    #[tokio::test]
    async fn the_input_of_a_terminal_ends_behind_half_a_line() {
        for (input, wanted) in [("abc", "abcabc"), ("abc\n", "abc\r\nabc\r\n"), ("", "")] {
            let folder = folder();
            let mut command = called("gerbil-run", folder.path());
            command
                .args(["--local", "--pty", "cat"])
                .stdin(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let mut typed = child.stdin.take().unwrap();
            typed.write_all(input.as_bytes()).await.unwrap();
            drop(typed);
            let ended = timeout(SOON, child.wait_with_output()).await;
            let output = ended
                .unwrap_or_else(|_| panic!("{input:?} never ended"))
                .unwrap();
            assert!(output.status.success(), "{output:?}");
            // The terminal shows what is typed, the end of input among it.
            let shown = text(&output.stdout).replace("^D", "").replace('\u{8}', "");
            assert_eq!(shown, wanted, "{output:?}");
        }
    }
}
