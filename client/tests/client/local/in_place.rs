//! A program that looks beside its own file, on this machine.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{folder, gerbil_run, output, text};

/// `tree/bin/p`, which says how it was called and reads `tree/share/top`.
fn tree(folder: &Path) {
    for name in ["bin", "share"] {
        std::fs::create_dir_all(folder.join("tree").join(name)).unwrap();
    }
    std::fs::write(folder.join("tree/share/top"), "beside\n").unwrap();
    let script = "#!/bin/bash\necho \"$0 $LD_LIBRARY_PATH\"; hello; cat \"$(dirname \"$0\")/../share/top\" || exit 3\n";
    let program = folder.join("tree/bin/p");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[tokio::test]
async fn it_runs_where_it_lies_with_all_of_the_user_s_environment() {
    let folder = folder();
    tree(folder.path());
    let mut command = gerbil_run(folder.path());
    command
        .current_dir(folder.path())
        .env("LD_LIBRARY_PATH", "/opt/x")
        .env("BASH_FUNC_hello%%", "() {  echo hello\n}")
        .args(["--local", "tree/bin/p"]);
    let ended = output(command).await;
    let at = folder.path().join("tree/bin/p");
    let wanted = format!("{} /opt/x\nhello\nbeside\n", at.display());
    assert_eq!(text(&ended.stdout), wanted, "{}", text(&ended.stderr));
    assert_eq!(text(&ended.stderr), "");
}

#[tokio::test]
async fn a_copy_misses_its_tree_and_an_archive_brings_it() {
    let folder = folder();
    tree(folder.path());
    let mut command = gerbil_run(folder.path());
    command
        .current_dir(folder.path())
        .args(["--local", "--in-place", "false", "tree/bin/p"]);
    let ended = output(command).await;
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{said}");
    let tree = folder.path().join("tree").canonicalize().unwrap();
    let hint = format!("it ran as a copy, without the rest of {}: ", tree.display());
    assert!(
        said.contains(&hint) && said.contains("--archives"),
        "{said}"
    );

    let packed = std::process::Command::new("tar")
        .args(["cf", "t.tar", "-C", "tree", "."])
        .current_dir(folder.path())
        .status();
    assert!(packed.unwrap().success());
    std::fs::remove_dir_all(folder.path().join("tree")).unwrap();
    let mut command = gerbil_run(folder.path());
    command
        .current_dir(folder.path())
        .args(["--local", "--archives", "t.tar#tree", "tree/bin/p"]);
    let ended = output(command).await;
    let printed = text(&ended.stdout);
    assert!(
        printed.ends_with("beside\n"),
        "{printed}{}",
        text(&ended.stderr)
    );
}
