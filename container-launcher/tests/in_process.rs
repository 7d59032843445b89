//! A launcher inside the test's own process. There is one a process, so this is the file's only test.

#[cfg(test)]
mod support;

use std::collections::BTreeMap;
use std::process::ExitCode;

use container_launcher::Surroundings;
use job::wire::rank_ended::How;
use support::{Appmaster, share};

#[tokio::test(flavor = "multi_thread")]
async fn a_launcher_takes_nothing_from_its_process() {
    let mut am = Appmaster::start().await;
    let script = "#!/bin/sh\npwd\necho $GIVEN ${CARGO_MANIFEST_DIR:-nothing}\nexit 3\n";
    let container = am.container(&[("show", script)], b"ticket");
    let folder = container.folder.path().canonicalize().unwrap();
    assert_ne!(std::env::current_dir().unwrap(), folder);
    let environment: BTreeMap<_, _> = [
        ("CONTAINER_ID".into(), container.id.clone().into()),
        ("GIVEN".into(), "given".into()),
        (
            "HADOOP_TOKEN_FILE_LOCATION".into(),
            "container_tokens".into(),
        ),
        ("PATH".into(), "/usr/bin:/bin".into()),
    ]
    .into();
    let around = Surroundings {
        folder: folder.clone(),
        environment,
        executable: support::binary(),
    };
    let launcher = std::thread::spawn(move || container_launcher::main_in(&around));
    let mut link = am.link().await;
    link.run(share(1, &[0], "show")).await;
    assert_eq!(link.ended().await.how, Some(How::ExitCode(3)));
    let said = format!("{}\ngiven nothing\n", folder.display());
    assert_eq!(am.stdout(0).await, said);
    link.leave().await;
    let code = tokio::task::spawn_blocking(move || launcher.join().unwrap());
    assert_eq!(support::within(code).await.unwrap(), ExitCode::SUCCESS);
}
