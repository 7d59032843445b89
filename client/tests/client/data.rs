//! Data in and out of jobs, and jobs that are saved and go on, without Hadoop: `--local` and a folder.

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::process::{Output, Stdio};
    use std::time::Duration;

    use tempfile::TempDir;
    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
    use tokio::process::Command;
    use tokio::time::timeout;

    /// A job of some seconds on a busy machine.
    const SOON: Duration = Duration::from_secs(60);

    /// The command, in an environment without Hadoop and with its temporary files in `folder`.
    fn gerbil_run(folder: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gerbil-run"));
        for name in ["HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_HOME"] {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .env("TMPDIR", folder)
            .env("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    async fn output(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
        ended(gerbil_run(folder, arguments)).await
    }

    /// The same for one that is typed in the folder `work` of `folder`.
    async fn output_in_work(folder: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
        let mut command = gerbil_run(folder, arguments);
        command.current_dir(folder.join("work"));
        ended(command).await
    }

    async fn ended(mut command: Command) -> (Option<i32>, String, String) {
        let ran = timeout(SOON, command.output()).await;
        let Output {
            status,
            stdout,
            stderr,
        } = ran.unwrap().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (status.code(), text(stdout), text(stderr))
    }

    /// A folder that others may pass through, as staged files need it.
    fn folder() -> TempDir {
        use std::os::unix::fs::PermissionsExt as _;
        let open = fs::Permissions::from_mode(0o755);
        tempfile::Builder::new()
            .permissions(open)
            .tempdir()
            .unwrap()
    }

    #[tokio::test]
    async fn data_goes_in_and_comes_out_whole() {
        let folder = folder();
        let top = folder.path().to_str().unwrap();
        fs::create_dir_all(folder.path().join("in/deep")).unwrap();
        fs::write(folder.path().join("in/deep/a"), "alpha\n").unwrap();
        let (incoming, out) = (
            format!("file:{top}/in=data/x"),
            format!("res=file:{top}/out"),
        );
        let script =
            "mkdir -p res; cat data/x/deep/a > res/$PMI_RANK; test $PMI_RANK = 0 || exit $0";
        let job = |code: &'static str| {
            let arguments = [
                "--local=2",
                "-n",
                "2",
                "-ppn",
                "1",
                "--stage-in",
                &incoming,
                "--stage-out",
                &out,
                "sh",
                "-c",
                script,
                code,
            ];
            arguments.map(str::to_owned)
        };
        let run = async |code| {
            let arguments = job(code);
            output(folder.path(), &arguments.each_ref().map(String::as_str)).await
        };
        let (code, _, said) = run("3").await;
        assert_eq!(code, Some(3), "{said}");
        assert!(!folder.path().join("out").exists());

        let (code, _, said) = run("0").await;
        assert_eq!((code, said.as_str()), (Some(0), ""));
        for rank in ["0", "1"] {
            let file = folder.path().join("out").join(rank);
            assert_eq!(fs::read_to_string(file).unwrap(), "alpha\n");
        }
        let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
        left.retain(|entry| entry.file_name().to_string_lossy().starts_with(".gerbil"));
        assert!(left.is_empty(), "{left:?}");

        let (code, _, said) = run("0").await;
        assert_eq!(code, Some(74), "{said}");
        assert!(said.contains("/out exists already"), "{said}");
    }

    #[tokio::test]
    async fn a_local_job_starts_where_one_stands() {
        let folder = folder();
        let work = folder.path().join("work");
        fs::create_dir_all(work.join("deep")).unwrap();
        fs::write(work.join("in.txt"), "alpha\n").unwrap();
        let script = "pwd; cat in.txt; echo > out.$PMI_RANK";
        let line = ["--local=2", "-n", "2", "-ppn", "1", "sh", "-c", script];
        let (code, text, said) = output_in_work(folder.path(), &line).await;
        assert_eq!((code, said.as_str()), (Some(0), ""), "{text}");
        let here = work.canonicalize().unwrap().display().to_string();
        assert_eq!(text.matches(&format!("{here}\n")).count(), 2, "{text}");
        assert_eq!(text.matches("alpha").count(), 2, "{text}");
        assert!(work.join("out.0").exists() && work.join("out.1").exists());
        let line = ["--local", "-wdir", "deep", "pwd"];
        let (_, text, _) = output_in_work(folder.path(), &line).await;
        assert_eq!(text, format!("{here}/deep\n"));
    }

    #[tokio::test]
    async fn results_come_home() {
        let folder = folder();
        let work = folder.path().join("work");
        fs::create_dir(&work).unwrap();
        fs::write(work.join("log.0"), "old").unwrap();
        let script = "mkdir res; echo $PMI_RANK > res/$PMI_RANK; echo log > log; chmod 600 log; \
                      echo run > run; chmod 500 run; test $PMI_RANK = 1 || echo one > one; exit $0";
        let line = [
            "--local=2",
            "-n",
            "2",
            "-ppn",
            "1",
            "--get=res",
            "--get=log=log.%p",
            "--get=run=run.%p",
            "--stage-out=one=./uno",
            "sh",
            "-c",
            script,
        ];
        let run = async |code| output_in_work(folder.path(), &[&line[..], &[code]].concat()).await;
        let read = |name: &str| fs::read_to_string(work.join(name)).unwrap_or_default();
        let (code, _, said) = run("3").await;
        assert_eq!(code, Some(3), "{said}");
        assert!(said.contains("--get brings nothing"), "{said}");
        assert_eq!(read("log.0"), "old");
        assert!(!work.join("res").exists());

        let (code, _, said) = run("0").await;
        assert_eq!((code, said.as_str()), (Some(0), ""));
        for (name, text) in [
            ("res/0", "0\n"),
            ("res/1", "1\n"),
            ("log.0", "log\n"),
            ("log.1", "log\n"),
            ("uno", "one\n"),
        ] {
            assert_eq!(read(name), text, "{name}");
        }
        assert_eq!(fs::read_dir(&work).unwrap().count(), 6);
        let mode = |name: &str| {
            use std::os::unix::fs::PermissionsExt as _;
            fs::metadata(work.join(name)).unwrap().permissions().mode() & 0o777
        };
        // As the program has made them.
        assert_eq!(["log.0", "log.1", "run.0"].map(mode), [0o600, 0o600, 0o500]);

        // A folder is never written over.
        let (code, _, said) = run("0").await;
        assert_eq!(code, Some(74), "{said}");
        assert!(said.contains("/res is a folder"), "{said}");
        let none = ["--local", "--get", "nothing", "true"];
        let (code, _, said) = output_in_work(folder.path(), &none).await;
        assert_eq!(code, Some(74), "{said}");
        assert!(said.contains("no file of nothing"), "{said}");
    }

    /// The name is taken while the job runs: what it has made lies where it is said, after the end too.
    #[tokio::test]
    async fn results_that_cannot_come_home_are_kept() {
        let folder = folder();
        let work = folder.path().join("work");
        fs::create_dir(&work).unwrap();
        let script = "echo result > log; mkdir $0/log";
        let top = work.to_str().unwrap();
        let line = ["--local", "-n", "1", "--get=log", "sh", "-c", script, top];
        let (code, _, said) = output_in_work(folder.path(), &line).await;
        assert_eq!(code, Some(74), "{said}");
        let (_, place) = said.trim().split_once("the results lie in file:").unwrap();
        let result = fs::read_to_string(Path::new(place).join("log"));
        assert_eq!(result.unwrap(), "result\n", "{said}");
        let names = fs::read_dir(&work).unwrap();
        assert_eq!(names.count(), 1, "nothing but the folder in the way");
    }

    #[tokio::test]
    async fn a_file_that_stays_here_is_said_at_once() {
        let folder = folder();
        let work = folder.path().join("work");
        fs::create_dir(&work).unwrap();
        for name in ["job.sh", "in.txt"] {
            fs::write(work.join(name), "cat in.txt\n").unwrap();
        }
        let line = ["--local", "--files", "in.txt", "sh", "job.sh", "in.txt"];
        let (code, _, said) = output_in_work(folder.path(), &line).await;
        assert_ne!(code, Some(0), "{said}");
        let words = "job.sh is a file here, not on the nodes: bring it with --files job.sh\n";
        assert!(said.starts_with(&format!("gerbil-run: {words}")), "{said}");
        assert!(!said.contains("in.txt is a file here"), "{said}");
        let line = ["--local", "--files", "in.txt,job.sh", "sh", "job.sh"];
        let (code, text, said) = output_in_work(folder.path(), &line).await;
        assert_eq!((code, said.as_str()), (Some(0), ""));
        assert_eq!(text, "cat in.txt\n");
    }

    #[tokio::test]
    async fn two_nodes_with_one_file_are_told() {
        let folder = folder();
        let out = format!("res=file:{}/out", folder.path().display());
        let arguments = [
            "--local=2",
            "-n",
            "2",
            "-ppn",
            "1",
            "--stage-out",
            &out,
            "sh",
            "-c",
            "echo > res",
        ];
        let (code, _, said) = output(folder.path(), &arguments).await;
        assert_eq!(code, Some(74), "{said}");
        for words in ["127.0.0.1", "127.0.0.2", "both have res", "%h or %p"] {
            assert!(said.contains(words), "{said}");
        }
        assert!(!folder.path().join("out").exists());
    }

    /// Counts, saves the count when it is asked to, and fails when a file appears.
    const COUNTS: &str = r#"
        count=0; asked=; trap 'asked=1' USR1
        if [ -n "$GERBIL_RESTORED" ]; then count=$(cat "$GERBIL_CHECKPOINT_DIR/count"); echo "from $count"; fi
        while [ $count -lt $2 ]; do
            count=$((count + 1)); sleep 0.02
            if [ -n "$asked" ]; then
                asked=; echo $count > "$GERBIL_CHECKPOINT_DIR/count"; : > "$GERBIL_CHECKPOINT_DIR/done"
            fi
            if [ -e "$1" ]; then exit 9; fi
        done
        echo "at $count""#;

    #[tokio::test]
    async fn a_job_that_failed_goes_on_from_its_checkpoint() {
        let folder = folder();
        let top = folder.path().to_str().unwrap();
        let (staging, gate) = (format!("file:{top}/staging"), format!("{top}/gate"));
        let begin = [
            "--local=2",
            "-n",
            "2",
            "-ppn",
            "1",
            "--staging",
            &staging,
            "--checkpoint-interval",
            "1s",
        ];
        let program = ["sh", "-c", COUNTS, "counts", &gate];
        let first = [&begin[..], &program, &["100000"]].concat();
        let mut child = gerbil_run(folder.path(), &first).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let complete = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if line.contains("checkpoint 2 is complete") {
                    return;
                }
            }
            panic!("it was never saved");
        };
        timeout(SOON, complete).await.unwrap();
        fs::write(&gate, "").unwrap();
        let mut rest = String::new();
        let mut errors = lines.into_inner();
        let read = timeout(SOON, errors.read_to_string(&mut rest));
        read.await.unwrap().unwrap();
        let ended = timeout(SOON, child.wait()).await.unwrap().unwrap();
        assert_eq!(ended.code(), Some(9), "{rest}");
        assert!(
            rest.contains("stays: a job with --restore application_"),
            "{rest}"
        );
        fs::remove_file(&gate).unwrap();

        let jobs = fs::read_dir(format!("{top}/staging/checkpoints")).unwrap();
        let jobs: Vec<String> = jobs
            .flatten()
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        let [id] = &jobs[..] else {
            panic!("{jobs:?}");
        };
        let restore = ["--staging", &staging, "--restore", id];
        // Both on one node now.
        let arguments = [&["--local=1", "-n", "2"], &restore[..], &program, &["30"]].concat();
        let (code, said, errors) = output(folder.path(), &arguments).await;
        assert_eq!((code, errors.as_str()), (Some(0), ""));
        let starts = said
            .lines()
            .filter(|line| line.starts_with("from "))
            .count();
        assert_eq!(starts, 2, "{said}");
        // That of the failed job stays, that of the one that succeeded does not.
        let left = fs::read_dir(format!("{top}/staging/checkpoints")).unwrap();
        assert_eq!(left.count(), 1);

        let three = [&["--local=1", "-n", "3"], &restore[..], &program, &["30"]].concat();
        let (code, _, said) = output(folder.path(), &three).await;
        assert_eq!(code, Some(64), "{said}");
        assert!(said.contains("is of 2 processes"), "{said}");
    }
}
