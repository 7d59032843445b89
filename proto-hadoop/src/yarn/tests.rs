//! The typed clients against scripted servers.

use std::time::Duration;

use credentials::Token;
use prost::Message;

use crate::rpc::Timing;
use crate::rpc::peers::{Peer, accept, listen};
use crate::wire::{self, yarn};
use crate::{AppAttemptId, ApplicationClient, ApplicationId, ApplicationMasterClient, CallError};

use super::{
    AllocateRequest, ApplicationFilter, ContainerState, FinalApplicationStatus, Resource,
    ResourceRequest, YarnApplicationState,
};

fn token(byte: u8) -> Token {
    Token {
        identifier: vec![byte],
        password: vec![byte],
        ..Token::default()
    }
}

fn timing() -> Timing {
    let call = Duration::from_secs(5);
    Timing {
        connect: call,
        call,
        pause: Duration::from_millis(10),
        ..Timing::default()
    }
}

fn asking(containers: u32) -> AllocateRequest {
    let row = ResourceRequest {
        priority: 1,
        resource_name: "*".into(),
        capability: Resource::new(1024, 1),
        containers,
        relax_locality: true,
        node_label: None,
        allocation_request_id: 1,
    };
    AllocateRequest {
        asks: vec![row],
        ..AllocateRequest::default()
    }
}

/// What an allocate call said: its number, and the containers of its first row.
async fn heard<S>(peer: &mut Peer<S>) -> (i32, (i32, i32))
where
    S: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
{
    let received = peer.call().await.unwrap();
    assert_eq!(received.method, "allocate");
    let request = yarn::AllocateRequestProto::decode(received.parameter).unwrap();
    let containers = request.ask.first().map_or(-1, |row| row.num_containers());
    (received.id, (request.response_id(), containers))
}

fn answer(response_id: i32, nodes: i32) -> yarn::AllocateResponseProto {
    yarn::AllocateResponseProto {
        response_id: Some(response_id),
        num_cluster_nodes: Some(nodes),
        ..Default::default()
    }
}

#[tokio::test]
async fn an_allocate_call_whose_answer_was_lost_is_repeated_before_the_next() {
    let (listener, address) = listen().await;
    let master = ApplicationMasterClient::new(vec![address], token(1)).with_timing(timing());
    let calls = async {
        master.allocate(asking(1)).await.unwrap();
        let lost = master.allocate(asking(2)).await.unwrap_err();
        assert!(matches!(lost, CallError::Lost { .. }), "{lost}");
        let merged = master.allocate(asking(3)).await.unwrap();
        // The repeated call's container and the next call's number of nodes.
        assert_eq!((merged.completed.len(), merged.cluster_nodes), (1, 9));
        // Nothing is left over.
        assert_eq!(master.allocate(asking(4)).await.unwrap().completed.len(), 0);
    };
    let serve = async {
        let mut peer = accept(&listener).await;
        peer.log_in(&token(1), "auth").await;
        peer.context().await;
        let (id, said) = heard(&mut peer).await;
        assert_eq!(said, (0, 1));
        peer.answer(id, &answer(1, 5)).await;
        assert_eq!(heard(&mut peer).await.1, (1, 2));
        drop(peer);
        // The client tries once more by itself; the answer is lost again.
        let mut peer = accept(&listener).await;
        peer.log_in(&token(1), "auth").await;
        peer.context().await;
        assert_eq!(heard(&mut peer).await.1, (1, 2));
        drop(peer);
        let mut peer = accept(&listener).await;
        peer.log_in(&token(1), "auth").await;
        peer.context().await;
        let (id, said) = heard(&mut peer).await;
        assert_eq!(said, (1, 2));
        let mut repeated = answer(2, 5);
        let attempt = yarn::ApplicationAttemptIdProto {
            application_id: Some(yarn::ApplicationIdProto {
                id: Some(1),
                cluster_timestamp: Some(1),
            }),
            attempt_id: Some(1),
        };
        repeated
            .completed_container_statuses
            .push(yarn::ContainerStatusProto {
                container_id: Some(yarn::ContainerIdProto {
                    app_id: None,
                    app_attempt_id: Some(attempt),
                    id: Some(3),
                }),
                ..Default::default()
            });
        peer.answer(id, &repeated).await;
        let (id, said) = heard(&mut peer).await;
        assert_eq!(said, (2, 3));
        peer.answer(id, &answer(3, 9)).await;
        let (id, said) = heard(&mut peer).await;
        assert_eq!(said, (3, 4));
        peer.answer(id, &answer(4, 9)).await;
    };
    tokio::join!(calls, serve);
}

#[tokio::test]
async fn a_new_key_of_the_resource_manager_means_a_new_log_in() {
    let (listener, address) = listen().await;
    let master = ApplicationMasterClient::new(vec![address], token(1)).with_timing(timing());
    let calls = async {
        for _ in 0..3 {
            master.allocate(AllocateRequest::default()).await.unwrap();
        }
        assert_eq!(master.token(), Some(token(2)));
    };
    let serve = async {
        let mut peer = accept(&listener).await;
        peer.log_in(&token(1), "auth").await;
        peer.context().await;
        let (id, _) = heard(&mut peer).await;
        let rolled = Some(wire::token(&token(2)));
        let with_token = yarn::AllocateResponseProto {
            am_rm_token: rolled,
            ..answer(1, 1)
        };
        peer.answer(id, &with_token).await;
        let mut newer = accept(&listener).await;
        newer.log_in(&token(2), "auth").await;
        newer.context().await;
        let (id, said) = heard(&mut newer).await;
        assert_eq!(said.0, 1);
        // The same token again, as an old connection would bring it, changes nothing.
        let again = yarn::AllocateResponseProto {
            response_id: Some(2),
            ..with_token
        };
        newer.answer(id, &again).await;
        let (id, said) = heard(&mut newer).await;
        assert_eq!(said.0, 2);
        newer.answer(id, &answer(3, 1)).await;
    };
    tokio::join!(calls, serve);
}

#[tokio::test]
async fn a_restarted_resource_manager_is_recognised_and_numbers_begin_anew() {
    let (listener, address) = listen().await;
    let master = ApplicationMasterClient::new(vec![address], token(1)).with_timing(timing());
    let calls = async {
        master.allocate(asking(1)).await.unwrap();
        let error = master.allocate(asking(2)).await.unwrap_err();
        assert!(
            error.is_not_registered() && !error.is_attempt_gone(),
            "{error}"
        );
        master.register("h", None, "").await.unwrap();
        master.allocate(asking(3)).await.unwrap();
        master
            .finish(FinalApplicationStatus::Failed, "rank 3", "")
            .await
            .unwrap();
    };
    let serve = async {
        let mut peer = accept(&listener).await;
        peer.log_in(&token(1), "auth-conf").await;
        peer.context().await;
        let (id, _) = heard(&mut peer).await;
        peer.answer(id, &answer(7, 1)).await;
        let (id, said) = heard(&mut peer).await;
        assert_eq!(said, (7, 2));
        let class = "org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException";
        peer.error(id, class, "AM is not registered").await;
        let received = peer.call().await.unwrap();
        assert_eq!(received.method, "registerApplicationMaster");
        let empty = yarn::RegisterApplicationMasterResponseProto::default();
        peer.answer(received.id, &empty).await;
        let (id, said) = heard(&mut peer).await;
        assert_eq!(said, (0, 3));
        peer.answer(id, &answer(1, 1)).await;
        for unregistered in [false, true] {
            let received = peer.call().await.unwrap();
            assert_eq!(received.method, "finishApplicationMaster");
            let request =
                yarn::FinishApplicationMasterRequestProto::decode(received.parameter).unwrap();
            assert_eq!(request.diagnostics(), "rank 3");
            let done = yarn::FinishApplicationMasterResponseProto {
                is_unregistered: Some(unregistered),
            };
            peer.answer(received.id, &done).await;
        }
    };
    tokio::join!(calls, serve);
}

/// Application 7 of a ResourceManager that started at 1, and its first attempt.
const APPLICATION: &[u8] = b"\x08\x07\x10\x01";
const ATTEMPT: &[u8] = b"\x0a\x04\x08\x07\x10\x01\x10\x01";

/// A field that holds a message.
fn field(tag: u8, message: &[u8]) -> Vec<u8> {
    let length = u8::try_from(message.len()).unwrap();
    [&[tag << 3 | 2, length], message].concat()
}

#[tokio::test]
async fn who_holds_what_byte_by_byte() {
    let (listener, address) = listen().await;
    let client = ApplicationClient::new(vec![address], "alice").with_timing(timing());
    let application = ApplicationId {
        cluster_timestamp: 1,
        id: 7,
    };
    let attempt = AppAttemptId {
        application,
        attempt: 1,
    };
    let calls = async {
        let running = ApplicationFilter {
            states: vec![
                YarnApplicationState::Running,
                YarnApplicationState::Accepted,
            ],
            limit: Some(50),
            ..ApplicationFilter::default()
        };
        let found = client.applications(&running).await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].id, found[0].name.as_str()), (application, "pi"));
        assert_eq!(found[0].current_attempt, Some(attempt));

        let held = client.containers(&attempt).await.unwrap();
        assert_eq!(held.len(), 1);
        assert_eq!(held[0].id.to_string(), "container_1_0007_01_000002");
        let node = held[0].node.as_ref().map(ToString::to_string);
        assert_eq!(node.as_deref(), Some("n1:45454"));
        assert_eq!(held[0].resource, Resource::new(2048, 2));
        assert_eq!(held[0].state, ContainerState::Running);

        let refused = client.containers(&attempt).await.unwrap_err();
        assert!(refused.is("YarnException"), "{refused}");
    };
    let serve = async {
        let mut peer = accept(&listener).await;
        let received = peer.first_call().await;
        assert_eq!(received.method, "getApplications");
        assert_eq!(&received.parameter[..], b"\x10\x05\x10\x04\x28\x32");
        let report = [
            field(1, APPLICATION),
            field(4, b"pi"),
            b"\x40\x05".to_vec(),
            [&[0x82, 0x01, 8], ATTEMPT].concat(),
        ];
        let answer = yarn::GetApplicationsResponseProto::decode(&field(1, &report.concat())[..]);
        peer.answer(received.id, &answer.unwrap()).await;

        let received = peer.call().await.unwrap();
        assert_eq!(received.method, "getContainers");
        assert_eq!(&received.parameter[..], field(1, ATTEMPT));
        let container = [field(2, ATTEMPT), b"\x18\x02".to_vec()].concat();
        let report = [
            field(1, &container),
            field(2, b"\x08\x80\x10\x10\x02"),
            field(3, b"\x0a\x02n1\x10\x8e\xe3\x02"),
            b"\x50\x02".to_vec(),
        ];
        let answer = yarn::GetContainersResponseProto::decode(&field(1, &report.concat())[..]);
        peer.answer(received.id, &answer.unwrap()).await;

        let received = peer.call().await.unwrap();
        let words = "User alice does not have privilege to see this application";
        let class = "org.apache.hadoop.yarn.exceptions.YarnException";
        peer.error(received.id, class, words).await;
    };
    tokio::join!(calls, serve);
}

mod odd_rows {
    use super::super::*;
    use crate::wire::{FromWire, readable, yarn as wire};

    #[test]
    fn a_list_survives_a_row_that_cannot_be_read_and_counts_it() {
        let named = |host: &str, port| wire::NodeReportProto {
            node_id: Some(wire::NodeIdProto {
                host: Some(host.into()),
                port: Some(port),
            }),
            ..wire::NodeReportProto::default()
        };
        let nameless = wire::NodeReportProto::default();
        let sent = vec![named("n1", 45454), nameless, named("spare", -1)];
        let nodes: Rows<NodeReport> = readable(sent, "nodes");
        let names: Vec<String> = nodes.iter().map(|node| node.id.to_string()).collect();
        assert_eq!(names, ["n1:45454", "spare:-1"]);
        assert_eq!(nodes.unread, 1);
    }

    #[test]
    fn a_registration_that_brings_a_recovered_container_is_read() {
        let container = wire::ContainerProto {
            id: Some(
                "container_1_0007_01_000002"
                    .parse::<crate::ContainerId>()
                    .unwrap()
                    .into(),
            ),
            node_id: Some(wire::NodeIdProto {
                host: Some("n1".into()),
                port: Some(45454),
            }),
            ..wire::ContainerProto::default()
        };
        let answer = wire::RegisterApplicationMasterResponseProto {
            containers_from_previous_attempts: vec![container],
            ..wire::RegisterApplicationMasterResponseProto::default()
        };
        let registration = Registration::from_wire(answer).unwrap();
        assert_eq!(registration.previous_containers.len(), 1);
        assert_eq!(registration.previous_containers[0].token, None);
    }
}

mod random_answers {
    use super::super::*;
    use crate::wire::{FromWire, readable, yarn as wire};
    use proptest::prelude::*;
    use prost::Message;

    proptest! {
        #[test]
        fn never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(answer) = wire::AllocateResponseProto::decode(&bytes[..]) {
                let _outcome = AllocateResponse::from_wire(answer);
            }
            if let Ok(answer) = wire::RegisterApplicationMasterResponseProto::decode(&bytes[..]) {
                let _outcome = Registration::from_wire(answer);
            }
            if let Ok(answer) = wire::GetApplicationsResponseProto::decode(&bytes[..]) {
                let sent = answer.applications.len();
                let rows: Rows<ApplicationReport> = readable(answer.applications, "rows");
                prop_assert_eq!(rows.len() + rows.unread, sent);
            }
            if let Ok(answer) = wire::GetClusterNodesResponseProto::decode(&bytes[..]) {
                let _rows: Rows<NodeReport> = readable(answer.node_reports, "rows");
            }
        }

        #[test]
        fn resources_round_trip(
            memory in 0..1u64 << 50,
            vcores in 0..1u32 << 30,
            others in proptest::collection::btree_map("[a-z]{1,5}/[a-z]{1,5}", 0..1u64 << 60, 0..4),
        ) {
            let resource = Resource { memory_mib: memory, vcores, others };
            let bytes = wire::ResourceProto::from(&resource).encode_to_vec();
            let back = wire::ResourceProto::decode(&bytes[..]).unwrap();
            prop_assert_eq!(Resource::optional(Some(back)), resource);
        }
    }
}
