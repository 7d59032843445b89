use job::explain::{
    Asked, Granted, Holder, Libpmix, Missing, MissingNode, PassedOver, Placed, PlacedNode,
    Released, Snapshot, SnapshotNode,
};

use super::*;

fn mib(memory_mib: u64, vcores: u32) -> Amount {
    Amount {
        memory_mib,
        vcores,
        ..Amount::default()
    }
}

fn node(name: &str, rack: &str, used: u64) -> SnapshotNode {
    SnapshotNode {
        id: format!("{name}:45454"),
        host: name.into(),
        rack: rack.into(),
        capability: mib(8192, 8),
        used: mib(used, 1),
        room: mib(8192 - used, 7),
        ceiling: mib(8192, 8),
    }
}

fn snapshot(nodes: Vec<SnapshotNode>) -> Snapshot {
    Snapshot {
        at_ms: 312,
        maximum: mib(8192, 4),
        step_mib: 1024,
        counts_vcores: false,
        headroom: Some(mib(20480, 12)),
        nodes,
        left_out: 0,
    }
}

fn golden(event: &Explained, expected: &str) {
    let words = words(event).join("\n");
    assert_eq!(words, expected, "\n{words}\n");
}

#[test]
fn a_cluster_shows_its_freest_nodes_first() {
    let nodes = vec![
        node("n1", "/rack1", 4096),
        node("n2", "/rack1", 0),
        node("n3", "/rack2", 1024),
    ];
    golden(
        &Explained::Snapshot(snapshot(nodes)),
        "\
0.312 s: the cluster: 3 nodes
  containers of at most 8192 MiB and 4 vcores, in steps of 1024 MiB; cores are not counted
  the queue still gives this application 20480 MiB and 12 vcores
  the freest first, amounts in MiB/cores
  node  rack    capability    used    room
  n2    /rack1      8192/8     0/1  8192/7
  n3    /rack2      8192/8  1024/1  7168/7
  n1    /rack1      8192/8  4096/1  4096/7",
    );
}

#[test]
fn a_large_cluster_is_cut_and_counted() {
    let nodes = (0..1000).map(|n| node(&format!("n{n:03}"), "/r", n));
    let words = words(&Explained::Snapshot(snapshot(nodes.collect())));
    assert_eq!(words.len(), 4 + 1 + ROWS + 1, "{words:#?}");
    assert!(words[0].ends_with("1000 nodes in /r"), "{words:#?}");
    assert_eq!(
        words.last().unwrap(),
        "  and 960 more, with room for 8152 to 7193 MiB"
    );
}

fn placed() -> Placed {
    let node = |name: &str, first_rank, processes, held| PlacedNode {
        id: format!("{name}:45454"),
        host: name.into(),
        first_rank,
        ranks_apart: Vec::new(),
        processes,
        ask: mib(u64::from(processes) * 1024, processes),
        reason: "has room for all (8192 MiB and 8 vcores left), and the most of all nodes that \
                 were looked at"
            .into(),
        held,
    };
    let passed = |name: &str, reason: &str| PassedOver {
        id: format!("{name}:45454"),
        reason: reason.into(),
    };
    Placed {
        at_ms: 0,
        round: 1,
        mode: "all".into(),
        processes: 5,
        unit: mib(1024, 1),
        oversubscribe: true,
        nodes: vec![node("n1", 0, 4, false), node("n2", 4, 1, true)],
        passed_over: vec![
            passed("n3", "0 MiB left"),
            passed("n4", "512 MiB left"),
            passed("n5", "0 MiB left"),
            passed("n6", "0 MiB left"),
            passed("n7", "0 MiB left"),
        ],
        left_out: 0,
    }
}

#[test]
fn a_placement_names_each_node_its_ranks_and_why() {
    golden(
        &Explained::Placed(placed()),
        "\
placement: mode all, 5 processes of 1024 MiB and 1 vcore on 2 nodes
  node  processes  ranks  MiB/cores  why
  n1            4  0-3       4096/4  has room for all (8192 MiB and 8 vcores left), and
                                     the most of all nodes that were looked at
  n2            1  4         1024/1  its container is there; has room for all (8192 MiB
                                     and 8 vcores left), and the most of all nodes that
                                     were looked at
  not used                              why
  n3:45454, n5:45454, n6:45454, 1 more  0 MiB left
  n4:45454                              512 MiB left",
    );
}

#[test]
fn nodes_on_one_host_are_told_apart() {
    let mut placed = placed();
    placed.nodes[1].host = "n1".into();
    let words = words(&Explained::Placed(placed)).join("\n");
    assert!(words.contains("n1:45454"), "{words}");
    assert!(words.contains("n2:45454"), "{words}");
}

#[test]
fn a_refusal_says_whether_waiting_helps() {
    let not = |may_pass| {
        Explained::NotPlaced(NotPlaced {
            at_ms: 1500,
            reason: "no node has room".into(),
            may_pass,
        })
    };
    golden(
        &not(true),
        "1.500 s: no placement now: no node has room; it waits and looks again",
    );
    golden(&not(false), "1.500 s: no placement ever: no node has room");
}

#[test]
fn asking_granting_and_giving_back_are_a_line_each() {
    golden(
        &Explained::Asked(Asked {
            at_ms: 20,
            round: 2,
            containers: 1,
            rows: 3,
        }),
        "0.020 s: asked for 1 container in one allocate call (3 rows, round 2)",
    );
    let granted = |processes| {
        Explained::Granted(Granted {
            at_ms: 1020,
            container: "container_1_0001_01_000002".into(),
            host: "n1".into(),
            asked: mib(4096, 4),
            granted: mib(2048, 1),
            processes,
        })
    };
    golden(
        &granted(4),
        "1.020 s: granted on n1: 2048 MiB and 1 vcore for 4 processes, asked 4096 MiB and 4 vcores \
         (container_1_0001_01_000002)",
    );
    golden(
        &granted(0),
        "1.020 s: granted on n1: 2048 MiB and 1 vcore, which nobody waits for: it goes back \
         (container_1_0001_01_000002)",
    );
    golden(
        &Explained::Released(Released {
            at_ms: 9000,
            containers: ["c1", "c2", "c3", "c4", "c5"].map(String::from).into(),
            reason: "the others did not come in time".into(),
        }),
        "9.000 s: gave back c1, c2, c3, 2 more: the others did not come in time",
    );
}

#[test]
fn what_is_missing_names_who_holds_it() {
    let holder = Holder {
        application: "application_1_0007".into(),
        name: "wordcount".into(),
        user: "ann".into(),
        queue: "default".into(),
        containers: 3,
        holds: mib(6144, 3),
    };
    let missing = Missing {
        at_ms: 12_000,
        headroom: Some(mib(2048, 2)),
        nodes: vec![
            MissingNode {
                id: "n3:45454".into(),
                host: "n3".into(),
                ask: mib(4096, 4),
                room: Some(mib(1024, 1)),
                holders: vec![holder; 5],
                unseen: mib(512, 1),
            },
            MissingNode {
                id: "n4:45454".into(),
                host: "n4".into(),
                ask: mib(4096, 4),
                room: None,
                holders: Vec::new(),
                unseen: Amount::default(),
            },
        ],
        stand_ins: false,
        left_out: 7,
        hidden: 1,
        holders_are_partial: false,
    };
    let partial = words(&Explained::Missing(Missing {
        holders_are_partial: true,
        ..missing.clone()
    }));
    let not_asked = |line: &&String| line.contains("see or that w");
    assert_eq!(partial.iter().filter(not_asked).count(), 2);
    let stand_ins = Missing {
        stand_ins: true,
        nodes: missing.nodes[1..].to_vec(),
        left_out: 0,
        hidden: 0,
        ..missing.clone()
    };
    golden(
        &Explained::Missing(stand_ins),
        "\
12.000 s: no placement; the freest nodes are
  the queue still gives this application 2048 MiB and 2 vcores
  n4: wants 4096 MiB and 4 vcores, but the node has gone",
    );
    golden(
        &Explained::Missing(missing),
        "\
12.000 s: 9 containers are still missing
  the queue still gives this application 2048 MiB and 2 vcores
  n3: wants 4096 MiB and 4 vcores, has room for 1024 MiB and 1 vcore
    application_1_0007 (wordcount, of ann in default) holds 6144 MiB and 3 vcores in 3 containers
    application_1_0007 (wordcount, of ann in default) holds 6144 MiB and 3 vcores in 3 containers
    application_1_0007 (wordcount, of ann in default) holds 6144 MiB and 3 vcores in 3 containers
    and 2 more applications
    512 MiB and 1 vcore are held by applications that you may not see
  n4: wants 4096 MiB and 4 vcores, but the node has gone
  and 7 more nodes
  1 application may hold something there that you may not see",
    );
}

#[test]
fn the_process_manager_of_a_program_has_one_line() {
    let of = |manager: &str, libpmix: Option<Libpmix>| {
        Explained::ProcessManager(ChosenManager {
            at_ms: 0,
            program: "./ring".into(),
            manager: manager.into(),
            libpmix,
        })
    };
    golden(&of("pmi", None), "process manager of ./ring: pmi");
    let own = Libpmix {
        path: "/l/libpmix.so.2".into(),
        release: Some("5.0.11".into()),
        named: false,
    };
    golden(
        &of("pmix", Some(own.clone())),
        "process manager of ./ring: pmix, libpmix 5.0.11 of the program (/l/libpmix.so.2)",
    );
    let named = Libpmix {
        release: None,
        named: true,
        ..own
    };
    golden(
        &of("pmix", Some(named)),
        "process manager of ./ring: pmix, libpmix that --pmix names (/l/libpmix.so.2)",
    );
}
