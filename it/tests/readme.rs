//! What README tells users to type is typed here, but for the command on a cluster that is there: `mpiexec` has it.

use std::process::Stdio;

use it::readme::{blocks, repository, shell};

#[test]
fn the_two_commands_are_there_and_the_first_runs_the_main_job() {
    let [demo, test, _] = &blocks().unwrap()[..] else {
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
