//! `gerbil clean` on a machine without a cluster, as a whole.

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::process::CommandExt as _;
    use std::path::Path;
    use std::process::{Command, Output, Stdio};

    use tempfile::TempDir;

    /// The command, whose folders are all below one.
    fn gerbil(folder: &Path, line: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gerbil-run"));
        for name in ["HADOOP_CONF_DIR", "YARN_CONF_DIR", "HADOOP_HOME"] {
            command.env_remove(name);
        }
        command
            .arg0("gerbil")
            .args(line.split_whitespace())
            .env("TMPDIR", folder)
            .env("XDG_STATE_HOME", folder.join("state"))
            .env("XDG_CACHE_HOME", folder.join("cache"))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    fn file(path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "1").unwrap();
    }

    #[test]
    fn it_shows_first_and_removes_only_what_is_not_needed() {
        let folder: TempDir = tempfile::tempdir().unwrap();
        let top = folder.path();
        let nothing = gerbil(top, "clean");
        assert_eq!(nothing.status.code(), Some(0), "{nothing:?}");
        assert!(text(&nothing.stderr).contains("nothing to remove"));

        // A session runs, a run was killed, and results of another wait for their user.
        let session = gerbil(top, "session start here --local --slots-per-container 1");
        assert_eq!(session.status.code(), Some(0), "{session:?}");
        let uid = nix::unistd::geteuid();
        let runs = top.join(format!("gerbil-local-{uid}"));
        let dead = runs.join("run-dead");
        file(&dead.join("lock"));
        let results = runs.join("results-1");
        file(&results.join("0/log"));
        let mine = runs.join("mine");
        file(&mine);
        let report = top.join("state/gerbil/reports/cpi-0123456789abcdef.json");
        file(&report);
        // What gerbil has not made, in the folders where it makes something.
        let others = ["state/gerbil/reports/mine.json", "cache/gerbil/mine/notes"];
        let others = others.map(|name| top.join(name));
        others.iter().for_each(|path| file(path));

        let shown = gerbil(top, "clean");
        assert_eq!(shown.status.code(), Some(0), "{shown:?}");
        let rows = text(&shown.stdout);
        for words in ["killed runs", "results", "sessions", "communicated"] {
            assert!(rows.contains(words), "{words}: {rows}");
        }
        assert!(text(&shown.stderr).contains("gerbil clean --yes removes"));
        assert!(dead.exists() && report.exists());

        let removed = gerbil(top, "clean --yes");
        assert_eq!(removed.status.code(), Some(0), "{removed:?}");
        assert!(!dead.exists() && !report.exists());
        assert!(results.exists() && mine.exists());
        assert!(others.iter().all(|path| path.exists()));
        let job = gerbil(top, "run --session here -n 1 echo whole");
        assert_eq!(text(&job.stdout), "whole\n", "{job:?}");
        let stopped = gerbil(top, "session stop here");
        assert_eq!(stopped.status.code(), Some(0), "{stopped:?}");
    }

    /// As on another machine that has the same home folder.
    #[test]
    fn a_session_of_another_machine_is_not_forgotten_by_any_command() {
        let folder: TempDir = tempfile::tempdir().unwrap();
        let top = folder.path();
        let started = gerbil(top, "session start here --local");
        assert_eq!(started.status.code(), Some(0), "{started:?}");
        let record = top.join("state/gerbil/sessions/here.json");
        let own = fs::read_to_string(&record).unwrap();
        let mut moved: serde_json::Value = serde_json::from_str(&own).unwrap();
        moved["host"] = "other".into();
        moved["local"] = "/none".into();
        fs::write(&record, moved.to_string()).unwrap();
        for line in [
            "session list",
            "session status here",
            "session start here --local",
            "run --session here -n 1 true",
            "ps",
            "logs s1.1",
            "clean --yes",
        ] {
            let ran = gerbil(top, line);
            let said = text(&ran.stdout) + &text(&ran.stderr);
            assert!(!said.contains("here is over"), "{line}: {said}");
            assert!(record.exists(), "{line}: {said}");
        }
        let shown = gerbil(top, "session status here");
        assert_eq!(shown.status.code(), Some(78), "{shown:?}");
        let said = text(&shown.stderr);
        assert!(said.contains("it is used on other"), "{said}");
        // Where it was started it goes on.
        fs::write(&record, own).unwrap();
        let job = gerbil(top, "run --session here -n 1 echo whole");
        assert_eq!(text(&job.stdout), "whole\n", "{job:?}");
        let stopped = gerbil(top, "session stop here");
        assert_eq!(stopped.status.code(), Some(0), "{stopped:?}");
    }
}
