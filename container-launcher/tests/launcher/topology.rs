//! Ranks that ask what their node is made of.

use job::wire::mpi_event::Event;
use job::wire::rank_ended::How;

use crate::support::{Appmaster, share, with};

/// Waits for the file, which a machine with hwloc has soon (it/setup installs it, with MPICH), and asks for
/// its name as MPICH does.
const ASKS: &str = "#!/bin/bash\n\
    for i in {1..200}; do [ -e .gerbil-topology.xml ] && break; sleep 0.05; done\n\
    echo cmd=init pmi_version=1 pmi_subversion=1 >&$PMI_FD; read -r a <&$PMI_FD\n\
    echo cmd=get kvsname=$KVS key=PMI_hwloc_xmlfile >&$PMI_FD; read -r a <&$PMI_FD; echo \"$a\"\n\
    echo cmd=finalize >&$PMI_FD; read -r a <&$PMI_FD\n";

/// What a rank is answered that is given these variables, and what it is told where the file is.
#[cfg(test)]
async fn answer(environment: &[(&str, &str)]) -> (String, String) {
    let mut am = Appmaster::start().await;
    let launcher = am.launcher(&[("asks", ASKS)]);
    let mut link = am.link().await;
    let share = share(1, &[0], "asks");
    let kvs = share.kvs_name.clone();
    let environment = [environment, &[("KVS", kvs.as_str())]].concat();
    link.run(with(share, &[], &environment)).await;
    assert!(matches!(link.event().await, Event::PmiSeen(_)));
    assert_eq!(link.ended().await.how, Some(How::ExitCode(0)));
    let said = am.stdout(0).await;
    let folder = launcher.folder.path().canonicalize().unwrap();
    let file = folder.join(".gerbil-topology.xml");
    let text = std::fs::read_to_string(&file).expect("hwloc's file: it/setup installs libhwloc15");
    assert!(text.contains("<topology version=\"2"), "{text}");
    link.leave().await;
    (said, file.display().to_string())
}

#[tokio::test]
async fn they_are_told_of_the_file_that_is_there() {
    let (said, file) = answer(&[]).await;
    assert_eq!(
        said,
        format!("cmd=get_result rc=0 msg=success value={file}\n")
    );
}

#[tokio::test]
async fn what_the_user_tells_hwloc_comes_first() {
    let (said, _) = answer(&[("HWLOC_COMPONENTS", "no_os")]).await;
    assert_eq!(
        said,
        "cmd=get_result rc=-1 msg=key_not_found value=unknown\n"
    );
}
