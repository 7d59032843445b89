//! Which ranks are made to yield, seen from inside the ranks.

use job::wire::{Share, Yielding};

use crate::support::{Appmaster, share, with};

/// Prints what a rank was given, and starts a program of its own as any script does.
const SCRIPT: &str = "#!/bin/sh\n\
    echo \"byte=$(od -An -tu1 -N1 \"$GERBIL_CROWDED\" 2>/dev/null | tr -d ' ')\"\n\
    echo \"preload=$LD_PRELOAD open=$OMPI_MCA_mpi_yield_when_idle intel=$I_MPI_THREAD_YIELD\"\n\
    /bin/true && grep -c gerbil-yield /proc/self/maps\n";

/// What rank 0 of so many printed, and the folder it ran in.
#[cfg(test)]
async fn printed(yielding: Yielding, ranks: u32) -> (String, String) {
    let mut am = Appmaster::start().await;
    let mut launcher = am.launcher(&[("script", SCRIPT)]);
    let mut link = am.link().await;
    let all: Vec<u32> = (0..ranks).collect();
    let share = Share {
        yielding: yielding.into(),
        ..share(ranks, &all, "script")
    };
    link.run(with(share, &[], &[("LD_PRELOAD", "")])).await;
    for _ in 0..ranks {
        // A program that speaks no MPI waits for nobody, or rather nobody knows.
        assert_eq!(link.ended().await.waiting_share, None);
    }
    let text = am.stdout(0).await;
    assert_eq!(am.so_far(0, 1), "");
    link.leave().await;
    assert_eq!(launcher.exit().await.code(), Some(0), "{}", launcher.log());
    let folder = launcher.folder.path().canonicalize().unwrap();
    (text, folder.to_str().unwrap().to_owned())
}

#[cfg(test)]
fn cores() -> u32 {
    u32::try_from(std::thread::available_parallelism().unwrap().get()).unwrap()
}

#[tokio::test]
async fn ranks_that_outnumber_their_cores_are_given_the_shim() {
    let (text, folder) = printed(Yielding::Auto, cores() + 1).await;
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("byte="));
    let given = format!("preload={folder}/.gerbil-yield.so open=1 intel=2");
    assert_eq!(lines.next(), Some(given.as_str()));
    // It is loaded, in several pieces, into what the rank starts too.
    assert!(lines.next().unwrap().parse::<u32>().unwrap() > 0);
}

#[tokio::test]
async fn ranks_with_a_core_each_yield_while_others_fill_the_machine() {
    let (text, folder) = printed(Yielding::Auto, 1).await;
    let mut lines = text.lines();
    // Whatever else runs here meanwhile.
    let byte = lines.next().unwrap();
    assert!(["byte=0", "byte=1"].contains(&byte), "{text}");
    let given = format!("preload={folder}/.gerbil-yield.so ");
    assert!(lines.next().unwrap().starts_with(&given), "{text}");
    assert!(lines.next().unwrap().parse::<u32>().unwrap() > 0);
}

#[tokio::test]
async fn the_user_has_the_last_word() {
    let (text, _) = printed(Yielding::Never, cores() + 1).await;
    assert!(text.starts_with("byte=\npreload= open= "), "{text}");
    let (text, folder) = printed(Yielding::Always, 1).await;
    assert!(
        text.starts_with(&format!("byte=\npreload={folder}/")),
        "{text}"
    );
}
