//! What others see of a cluster of this machine: nothing, whatever the user's mask of new files is.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use super::{gerbil_run, living, mark, output, text};

/// Another user of every machine.
const NOBODY: u32 = 65534;

/// The command with a mask of new files.
fn masked(folder: &Path, mask: &str) -> tokio::process::Command {
    let whole = gerbil_run(folder);
    let whole = whole.as_std();
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", &format!("umask {mask}; exec \"$0\" \"$@\"")])
        .arg(whole.get_program())
        .args(whole.get_args())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped());
    for (name, value) in whole.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut command = tokio::process::Command::from(command);
    command.kill_on_drop(true);
    command
}

/// All files and folders below one.
fn below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                left.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found
}

/// Those that another user can read. Who is not root cannot be another: the first folder has to be closed.
fn open_to_others(shared: &Path) -> Vec<PathBuf> {
    if !nix::unistd::geteuid().is_root() {
        let mode = std::fs::metadata(shared).unwrap().permissions().mode();
        return match mode & 0o077 {
            0 => Vec::new(),
            _ => vec![shared.to_owned()],
        };
    }
    let can = |path: &Path| {
        let mut command = std::process::Command::new("test");
        command.args(["-r".as_ref(), path.as_os_str()]);
        command.uid(NOBODY).gid(NOBODY).status().unwrap().success()
    };
    below(shared).into_iter().filter(|path| can(path)).collect()
}

#[tokio::test]
async fn a_job_runs_under_every_mask_and_nobody_else_reads_what_it_brings() {
    for mask in ["077", "000"] {
        let folder = super::folder();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "mine").unwrap();
        std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
        let mark = mark(if mask == "077" { 71 } else { 72 });
        let mut command = masked(folder.path(), mask);
        let script = format!("cat secret; echo; exec sleep {mark}");
        command.args(["--local=2", "-n", "1", "--files"]);
        command.arg(&secret).args(["sh", "-c", &script]);
        let mut running = command.spawn().unwrap();
        let shared = folder
            .path()
            .join(format!("gerbil-local-{}", nix::unistd::geteuid()));
        let begin = std::time::Instant::now();
        while living(&mark)
            .iter()
            .filter(|line| line.starts_with("sleep"))
            .count()
            == 0
        {
            let ended = running.try_wait().unwrap();
            assert!(
                ended.is_none() && begin.elapsed() < super::SOON,
                "{ended:?}"
            );
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        let staged = below(&shared);
        let is_secret = |path: &&PathBuf| std::fs::read(path).is_ok_and(|it| it == b"mine");
        assert!(staged.iter().find(is_secret).is_some(), "{staged:?}");
        assert_eq!(
            open_to_others(&shared),
            [""; 0].map(PathBuf::from),
            "{mask}"
        );
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(running.id().unwrap().cast_signed()),
            nix::sys::signal::Signal::SIGTERM,
        )
        .unwrap();
        let ended = running.wait_with_output();
        let ended = tokio::time::timeout(super::SOON, ended)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(ended.status.code(), Some(143), "{}", text(&ended.stderr));
        assert_eq!(text(&ended.stdout), "mine\n");
    }
}

#[tokio::test]
async fn a_folder_for_temporary_files_that_is_closed_to_others_is_good_enough() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = masked(folder.path(), "077");
    command.args(["--local", "-n", "2", "sh", "-c", "echo up"]);
    let output = output(command).await;
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout), "up\nup\n");
    let shared = folder
        .path()
        .join(format!("gerbil-local-{}", nix::unistd::geteuid()));
    assert!(shared.exists(), "the run's files were elsewhere");
}

#[tokio::test]
async fn what_a_job_writes_to_what_it_brought_is_not_what_is_brought_again() {
    let folder = super::folder();
    let (data, staging) = (folder.path().join("d.txt"), folder.path().join("staging"));
    std::fs::write(&data, "good\n").unwrap();
    let run = async |script: &str| {
        let mut command = gerbil_run(folder.path());
        command.args(["--local", "-n", "1", "--staging"]);
        command
            .arg(format!("file:{}", staging.display()))
            .arg("--files")
            .arg(&data);
        command.args(["sh", "-c", script]);
        let output = output(command).await;
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    };
    let (code, _, said) = run("chmod u+w d.txt; echo evil >> d.txt").await;
    assert_eq!(code, Some(0), "{said}");
    let (code, printed, said) = run("cat d.txt").await;
    assert_eq!((code, printed.as_str()), (Some(0), "good\n"), "{said}");
}
