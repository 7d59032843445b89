//! What README tells users to type is typed here.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use it::{Cluster, Mpich, gerbil};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A shell as a user has it.
#[cfg(test)]
fn shell() -> Command {
    let mut shell = Command::new("bash");
    it::cargo::forget(&mut shell);
    shell
}

/// The lines of README's `sh` blocks, one entry a block.
#[cfg(test)]
fn blocks() -> Vec<String> {
    let text = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let after_fences = text.split("```sh\n").skip(1);
    after_fences
        .map(|rest| rest.split("```").next().unwrap().to_owned())
        .collect()
}

#[test]
fn the_two_commands_are_there_and_the_first_runs_the_main_job() {
    let [demo, test, _] = &blocks()[..] else {
        panic!("README has other blocks than the two commands and the one for a cluster");
    };
    let mode = |command: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        let file = repository().join(command.trim());
        std::fs::metadata(file).unwrap().permissions().mode()
    };
    // The second is what runs this test.
    assert_eq!(test.trim(), "it/test");
    assert_eq!(mode(test) & 0o111, 0o111);

    let output = shell()
        .args(["-euc", demo])
        .current_dir(repository())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(stdout.contains("3.14159265358"), "{stdout}\n{stderr}");
    assert!(stdout.contains("rank 7 of 8 runs on"), "{stdout}");
}

/// Build, copy one file, one command: with another target folder, home and cluster than README's.
#[test]
fn one_file_is_copied_and_one_command_runs_the_job() {
    let block = blocks().pop().unwrap();
    let binary = gerbil::binary().unwrap();
    let home = tempfile::tempdir().unwrap();
    Mpich::install()
        .unwrap()
        .example("cpi", home.path())
        .unwrap();
    let cluster = Cluster::builder().nodes(2).start().unwrap();
    let here = block
        .replace("cargo build --release -p client\n", "")
        .replace("target/release/gerbil-run", &binary.to_string_lossy())
        .replace("/etc/hadoop/conf", &cluster.conf_dir().to_string_lossy());
    assert_ne!(here, block, "README's lines have changed: {block}");
    let output = shell()
        .args(["-euxc", &here])
        .current_dir(home.path())
        .env("HOME", home.path())
        .env_remove("XDG_STATE_HOME")
        .env("HADOOP_USER_NAME", cluster.user())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stdout}\n{stderr}");
    assert!(stdout.contains("3.14159265358"), "{stdout}\n{stderr}");
}
