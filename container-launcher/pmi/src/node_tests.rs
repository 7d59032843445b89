use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;

use super::*;
use crate::{Exchange, SpawnCommand, SpawnRequest, process_mapping};

fn server(size: u32, ranks: &[u32]) -> NodeServer {
    NodeServer::new(JobAttributes {
        size,
        ranks: ranks.to_vec(),
        kvs_name: "kvs_1".to_owned(),
        process_mapping: process_mapping(&[size]),
        ..JobAttributes::default()
    })
    .unwrap()
}

fn said(rank: u32, line: &str) -> Effect {
    Effect::Reply {
        rank,
        line: format!("{line}\n"),
    }
}

#[test]
fn the_opening_of_mpich_is_answered() {
    let mut node = server(2, &[0, 1]);
    assert_eq!(
        node.on_line(1, b"cmd=init pmi_version=1 pmi_subversion=1"),
        [
            Effect::Stage {
                rank: 1,
                stage: PmiStage::Initialized
            },
            said(
                1,
                "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
            ),
        ]
    );
    assert_eq!(
        node.on_line(1, b"cmd=get_maxes"),
        [said(
            1,
            "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0"
        )]
    );
    assert_eq!(
        node.on_line(1, b"cmd=get_appnum"),
        [said(1, "cmd=appnum appnum=0 rc=0")]
    );
    assert_eq!(
        node.on_line(1, b"cmd=get_my_kvsname"),
        [said(1, "cmd=my_kvsname kvsname=kvs_1 rc=0")]
    );
    assert_eq!(
        node.on_line(1, b"cmd=get_universe_size"),
        [said(1, "cmd=universe_size size=-1 rc=0")]
    );
    assert_eq!(
        node.on_line(1, b"cmd=get kvsname=kvs_1 key=PMI_process_mapping"),
        [said(
            1,
            "cmd=get_result rc=0 msg=success value=(vector,(0,1,2))"
        )]
    );
    assert_eq!(
        node.on_line(1, b"cmd=get kvsname=kvs_1 key=PMI_hwloc_xmlfile"),
        [said(
            1,
            "cmd=get_result rc=-1 msg=key_not_found value=unknown"
        )]
    );
    assert_eq!(
        node.on_line(0, b"cmd=initack pmiid=0"),
        [said(
            0,
            "cmd=initack rc=0\ncmd=set size=2\ncmd=set rank=0\ncmd=set debug=0"
        )]
    );
    assert_eq!(
        (node.stage(0), node.stage(1)),
        (PmiStage::Silent, PmiStage::Initialized)
    );
    assert_eq!(
        node.on_line(1, b"cmd=finalize").last(),
        Some(&said(1, "cmd=finalize_ack rc=0"))
    );
    assert_eq!(node.stage(1), PmiStage::Finalized);
}

#[test]
fn a_fence_goes_up_only_when_all_local_ranks_are_in() {
    let mut node = server(4, &[2, 3]);
    let ok = |rank| said(rank, "cmd=put_result rc=0 msg=success");
    assert_eq!(
        node.on_line(2, b"cmd=put kvsname=kvs_1 key=b value=2"),
        [ok(2)]
    );
    assert_eq!(
        node.on_line(3, b"cmd=put kvsname=kvs_1 key=a value=3"),
        [ok(3)]
    );
    assert_eq!(node.on_line(2, b"cmd=barrier_in"), []);
    assert_eq!(node.fence_done(vec![]), [], "nothing is open yet");
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(
        node.on_line(3, b"cmd=barrier_in"),
        [Effect::Fence {
            puts: vec![pair("a", "3"), pair("b", "2")]
        }]
    );
    assert_eq!(
        node.fence_done(vec![pair("c", "0")]),
        [
            said(2, "cmd=barrier_out rc=0"),
            said(3, "cmd=barrier_out rc=0")
        ]
    );
    assert_eq!(
        node.on_line(2, b"cmd=get kvsname=kvs_1 key=c"),
        [said(2, "cmd=get_result rc=0 msg=success value=0")]
    );
    assert_eq!(node.on_line(2, b"cmd=barrier_in"), []);
    assert_eq!(
        node.on_line(3, b"cmd=barrier_in"),
        [Effect::Fence { puts: vec![] }],
        "values go up once"
    );
}

#[test]
fn limits_are_kept() {
    let mut node = server(1, &[0]);
    let long_key = format!("cmd=put key={} value=1", "k".repeat(KEY_MAX + 1));
    assert_eq!(
        node.on_line(0, long_key.as_bytes()),
        [said(0, "cmd=put_result rc=-1 msg=key_longer_than_64_bytes")]
    );
    let long_value = format!("cmd=put key=k value={}", "v".repeat(VALUE_MAX + 1));
    assert_eq!(
        node.on_line(0, long_value.as_bytes()),
        [said(
            0,
            "cmd=put_result rc=-1 msg=value_longer_than_1024_bytes"
        )]
    );
    assert_eq!(
        node.on_line(0, b"cmd=put kvsname=other key=k value=v"),
        [said(0, "cmd=put_result rc=-1 msg=unknown_kvsname")]
    );
}

#[test]
fn what_is_not_offered_gets_an_answer() {
    let mut node = server(1, &[0]);
    for (line, answer) in [
        ("cmd=publish_name service=a", "publish_result"),
        ("cmd=unpublish_name", "unpublish_result"),
        ("cmd=lookup_name", "lookup_result"),
        ("cmd=make_coffee", "make_coffee"),
    ] {
        let effects = node.on_line(0, line.as_bytes());
        let [Effect::Reply { line, .. }] = effects.as_slice() else {
            panic!("{effects:?}");
        };
        assert!(
            line.starts_with(&format!("cmd={answer} rc=-1 msg=")),
            "{line}"
        );
    }
    let newer = node.on_line(0, b"cmd=init pmi_version=3 pmi_subversion=0");
    assert_eq!(
        newer,
        [said(
            0,
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1 msg=PMI_1_and_2_are_offered"
        )]
    );
    assert_eq!(node.stage(0), PmiStage::Silent);
}

#[test]
fn a_spawn_goes_out_whole_and_its_answer_comes_back() {
    let mut node = server(1, &[0]);
    let request = "mcmd=spawn\nnprocs=2\nexecname=./child\ntotspawns=2\nspawnssofar=1\n\
                   argcnt=1\narg1=two words\npreput_num=1\npreput_key_0=PORT\n\
                   preput_val_0=tag#0$a=b$\ninfo_num=1\ninfo_key_0=host\ninfo_val_0=n1\nendcmd\n\
                   mcmd=spawn\nnprocs=1\nexecname=other\ntotspawns=2\nspawnssofar=2\nargcnt=0\n\
                   info_num=0";
    for line in request.lines() {
        assert_eq!(node.on_line(0, line.as_bytes()), []);
    }
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let request = SpawnRequest {
        commands: vec![
            SpawnCommand {
                processes: 2,
                program: "./child".to_owned(),
                args: vec!["two words".to_owned()],
                infos: vec![pair("host", "n1")],
            },
            SpawnCommand {
                processes: 1,
                program: "other".to_owned(),
                ..SpawnCommand::default()
            },
        ],
        preputs: vec![pair("PORT", "tag#0$a=b$")],
    };
    assert_eq!(
        node.on_line(0, b"endcmd"),
        [Effect::Spawn { rank: 0, request }]
    );
    assert_eq!(
        node.spawn_answer(0, Ok(())),
        [said(0, "cmd=spawn_result rc=0")]
    );
    assert_eq!(node.spawn_answer(0, Ok(())), []);
    for line in ["mcmd=spawn", "nprocs=many", "execname=x"] {
        assert_eq!(node.on_line(0, line.as_bytes()), []);
    }
    assert_eq!(
        node.on_line(0, b"endcmd"),
        [said(
            0,
            "cmd=spawn_result rc=-1 msg=nprocs_is_missing_or_no_number"
        )]
    );
}

#[test]
fn a_spawn_of_which_one_command_is_refused_is_answered_once_and_not_run_in_part() {
    let mut node = server(1, &[0]);
    let command = |number: u32, processes: &str| {
        format!(
            "mcmd=spawn\nnprocs={processes}\nexecname=./child\ntotspawns=2\n\
             spawnssofar={number}\nargcnt=0\nendcmd"
        )
    };
    let heard = |node: &mut NodeServer, text: &str| -> Vec<Effect> {
        let lines = text.lines();
        lines
            .flat_map(|line| node.on_line(0, line.as_bytes()))
            .collect()
    };
    for (one, other) in [("many", "2"), ("2", "many")] {
        assert_eq!(heard(&mut node, &command(1, one)).len(), 0);
        assert_eq!(
            heard(&mut node, &command(2, other)),
            [said(
                0,
                "cmd=spawn_result rc=-1 msg=nprocs_is_missing_or_no_number"
            )]
        );
    }
    // The second of a request without a first is no request.
    let refused = heard(&mut node, &command(2, "1"));
    assert!(
        matches!(&refused[..], [Effect::Reply { line, .. }] if line.contains("rc=-1")),
        "{refused:?}"
    );
    assert_eq!(heard(&mut node, &command(1, "1")).len(), 0);
    let whole = heard(&mut node, &command(2, "1"));
    assert!(matches!(&whole[..], [Effect::Spawn { request, .. }] if request.commands.len() == 2));
}

#[test]
fn a_spawned_group_finds_what_was_put_for_it() {
    let mut node = NodeServer::new(JobAttributes {
        size: 3,
        ranks: vec![0, 2],
        kvs_name: "kvs_1_g1".to_owned(),
        appnums: [(2, 1)].into(),
        preputs: vec![("PARENT_ROOT_PORT_NAME".to_owned(), "tag#0$".to_owned())],
        ..JobAttributes::default()
    })
    .unwrap();
    assert_eq!(
        node.on_line(2, b"cmd=get kvsname=kvs_1_g1 key=PARENT_ROOT_PORT_NAME"),
        [said(2, "cmd=get_result rc=0 msg=success value=tag#0$")]
    );
    assert_eq!(
        node.on_line(2, b"cmd=get_appnum"),
        [said(2, "cmd=appnum appnum=1 rc=0")]
    );
    assert_eq!(
        node.on_line(0, b"cmd=get_appnum"),
        [said(0, "cmd=appnum appnum=0 rc=0")]
    );
}

#[test]
fn names_go_out_and_their_answers_come_back() {
    let mut node = server(1, &[0]);
    let request = NameRequest::Publish {
        service: "ocean".to_owned(),
        port: "tag#0$x$".to_owned(),
    };
    assert_eq!(
        node.on_line(0, b"cmd=publish_name service=ocean port=tag#0$x$"),
        [Effect::Name { rank: 0, request }]
    );
    assert_eq!(
        node.name_answer(0, Ok("")),
        [said(0, "cmd=publish_result rc=0 msg=success")]
    );
    assert_eq!(node.on_line(0, b"cmd=lookup_name service=a").len(), 1);
    assert_eq!(
        node.name_answer(0, Err("service_not_found")),
        [said(0, "cmd=lookup_result rc=1 msg=service_not_found")]
    );
    assert_eq!(node.on_line(0, b"cmd=lookup_name service=ocean").len(), 1);
    assert_eq!(
        node.name_answer(0, Ok("tag#0$x$")),
        [said(0, "cmd=lookup_result rc=0 msg=success port=tag#0$x$")]
    );
    assert_eq!(node.on_line(0, b"cmd=unpublish_name service=a").len(), 1);
    let again = node.on_line(0, b"cmd=lookup_name service=a");
    assert!(matches!(again.as_slice(), [Effect::Broken { .. }]));
}

#[test]
fn an_abort_keeps_its_code_and_words() {
    let mut node = server(2, &[1]);
    assert_eq!(
        node.on_line(1, b"cmd=abort exitcode=77"),
        [Effect::Abort {
            rank: 1,
            exit_code: 77,
            message: String::new()
        }]
    );
    assert_eq!(
        node.on_line(1, b"cmd=abort exitcode=-1 message=PMI_Init failed (1)"),
        [Effect::Abort {
            rank: 1,
            exit_code: -1,
            message: "PMI_Init failed (1)".to_owned()
        }]
    );
}

#[test]
fn a_rank_that_speaks_nonsense_is_given_up_alone() {
    let mut node = server(2, &[0, 1]);
    assert_eq!(
        node.on_line(0, b"GET / HTTP/1.1"),
        [Effect::Broken {
            rank: 0,
            sentence: "PMI line without cmd= at its start: \"GET / HTTP/1.1\"".to_owned()
        }]
    );
    assert_eq!(node.on_line(0, b"cmd=get_appnum"), []);
    assert_eq!(node.on_line(1, b"cmd=get_appnum").len(), 1);
    assert_eq!(node.on_line(1, b"cmd=barrier_in"), []);
    assert!(matches!(
        node.on_line(1, b"cmd=barrier_in").as_slice(),
        [Effect::Broken { rank: 1, .. }]
    ));
}

#[test]
fn jobs_that_make_no_sense_are_refused() {
    let job = |size, ranks: &[u32], name: &str| {
        NodeServer::new(JobAttributes {
            size,
            ranks: ranks.to_vec(),
            kvs_name: name.to_owned(),
            ..JobAttributes::default()
        })
        .unwrap_err()
    };
    assert_eq!(job(2, &[2], "k"), JobError::Rank { rank: 2, size: 2 });
    assert_eq!(job(2, &[1, 1], "k"), JobError::Rank { rank: 1, size: 2 });
    assert_eq!(job(2, &[], "k"), JobError::NoRanks);
    assert!(matches!(job(2, &[0], "a b"), JobError::KvsName { .. }));
}

/// What a rank of MPICH says on its own, as measured: it puts its address, meets the others, and
/// asks for everybody's.
fn script(rank: u32, size: u32) -> VecDeque<String> {
    let mut lines: VecDeque<String> = [
        "cmd=init pmi_version=1 pmi_subversion=1",
        "cmd=get_maxes",
        "cmd=get_appnum",
        "cmd=get_my_kvsname",
        "cmd=get kvsname=kvs_1 key=PMI_process_mapping",
        "cmd=barrier_in",
    ]
    .map(str::to_owned)
    .into();
    lines.push_back(format!(
        "cmd=put kvsname=kvs_1 key=-allgather-{rank} value=address{rank}"
    ));
    lines.push_back("cmd=barrier_in".to_owned());
    for other in 0..size {
        lines.push_back(format!("cmd=get kvsname=kvs_1 key=-allgather-{other}"));
    }
    lines.extend(["cmd=barrier_in", "cmd=finalize"].map(str::to_owned));
    lines
}

/// Runs two nodes and the exchange between them, the ranks in the order that `order` draws.
fn simulate(split: u32, size: u32, order: &[u8]) -> BTreeMap<u32, Vec<String>> {
    let shares: [Vec<u32>; 2] = [(0..split).collect(), (split..size).collect()];
    let mapping = process_mapping(&[split, size - split]);
    let mut nodes = shares.clone().map(|ranks| {
        NodeServer::new(JobAttributes {
            size,
            ranks,
            kvs_name: "kvs_1".to_owned(),
            process_mapping: mapping.clone(),
            ..JobAttributes::default()
        })
        .unwrap()
    });
    let mut exchange = Exchange::new(2);
    let mut scripts: BTreeMap<u32, VecDeque<String>> =
        (0..size).map(|rank| (rank, script(rank, size))).collect();
    let mut waiting: BTreeMap<u32, bool> = (0..size).map(|rank| (rank, false)).collect();
    let mut heard: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut turn = 0;
    while scripts.values().any(|script| !script.is_empty()) {
        let ready: Vec<u32> = (0..size)
            .filter(|rank| !waiting[rank] && !scripts[rank].is_empty())
            .collect();
        assert!(!ready.is_empty(), "all wait for ever");
        let drawn = usize::from(order[turn % order.len()]);
        turn += 1;
        let rank = ready[drawn % ready.len()];
        let index = usize::from(rank >= split);
        let line = scripts.get_mut(&rank).unwrap().pop_front().unwrap();
        waiting.insert(rank, true);
        let mut effects: VecDeque<(usize, Effect)> = nodes[index]
            .on_line(rank, line.as_bytes())
            .into_iter()
            .map(|effect| (index, effect))
            .collect();
        while let Some((index, effect)) = effects.pop_front() {
            match effect {
                Effect::Reply { rank, line } => {
                    waiting.insert(rank, false);
                    heard.entry(rank).or_default().push(line);
                }
                Effect::Fence { puts } => {
                    if let Some(union) = exchange.on_fence(index, puts).unwrap() {
                        for (index, node) in nodes.iter_mut().enumerate() {
                            let done = node.fence_done(union.clone());
                            effects.extend(done.into_iter().map(|effect| (index, effect)));
                        }
                    }
                }
                Effect::Stage { .. } => {}
                other => panic!("{index}: {other:?}"),
            }
        }
    }
    assert_eq!(exchange.barriers(), 3);
    heard
}

#[test]
fn what_the_process_manager_offers_stays_on_its_node() {
    let mut node = server(2, &[0]);
    node.offer("PMI_hwloc_xmlfile", "/container/topology.xml");
    node.offer("too_long", &"v".repeat(VALUE_MAX + 1));
    assert_eq!(
        node.on_line(0, b"cmd=get kvsname=kvs_1 key=PMI_hwloc_xmlfile"),
        [said(
            0,
            "cmd=get_result rc=0 msg=success value=/container/topology.xml"
        )]
    );
    let refused = "cmd=get_result rc=-1 msg=key_not_found value=unknown";
    assert_eq!(
        node.on_line(0, b"cmd=get kvsname=kvs_1 key=too_long"),
        [said(0, refused)]
    );
    // Of no account to the ranks of others.
    assert_eq!(
        node.on_line(0, b"cmd=barrier_in"),
        [Effect::Fence { puts: vec![] }]
    );
}

proptest! {
    #[test]
    fn two_nodes_agree_in_every_order(
        size in 2u32..7,
        split in 1u32..6,
        order in prop::collection::vec(any::<u8>(), 1..60),
    ) {
        prop_assume!(split < size);
        let heard = simulate(split, size, &order);
        for rank in 0..size {
            let gets: Vec<&String> = heard[&rank]
                .iter()
                .filter(|line| line.contains("value=address"))
                .collect();
            prop_assert_eq!(gets.len(), usize::try_from(size).unwrap());
            for (other, line) in gets.iter().enumerate() {
                prop_assert_eq!(
                    line.as_str(),
                    format!("cmd=get_result rc=0 msg=success value=address{other}\n")
                );
            }
        }
    }

    #[test]
    fn random_lines_never_panic(
        lines in prop::collection::vec((0u32..4, prop::collection::vec(any::<u8>(), 0..80)), 0..40),
    ) {
        let mut node = server(3, &[0, 2]);
        for (rank, line) in lines {
            drop(node.on_line(rank, &line));
        }
    }

    #[test]
    fn random_commands_never_panic(
        lines in prop::collection::vec(
            (0u32..3, "(cmd=|mcmd=)(init|put|get|getbyidx|barrier_in|abort|spawn|finalize|endcmd)( (key|value|idx|exitcode|group|pmi_version)=[a-z0-9-]{0,70}){0,3}"),
            0..60,
        ),
        done in any::<bool>(),
    ) {
        let mut node = server(3, &[0, 1, 2]);
        for (rank, line) in lines {
            drop(node.on_line(rank, line.as_bytes()));
            if done {
                drop(node.fence_done(vec![(line, String::new())]));
            }
        }
    }
}

#[test]
fn ranks_that_wait_for_one_that_is_gone_are_stuck() {
    let mut node = server(3, &[0, 1, 2]);
    for rank in 0..3 {
        assert_ne!(
            node.on_line(rank, b"cmd=init pmi_version=1 pmi_subversion=1"),
            []
        );
    }
    assert_eq!(node.on_line(0, b"cmd=barrier_in"), []);
    assert!(!node.is_stuck());
    node.ended(2);
    // The other one may still come, or leave too.
    assert!(!node.is_stuck());
    assert_eq!(node.on_line(1, b"cmd=barrier_in"), []);
    assert!(node.is_stuck());
    node.ended(0);
    node.ended(1);
    assert!(!node.is_stuck());
}
