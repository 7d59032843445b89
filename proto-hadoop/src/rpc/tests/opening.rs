//! How a connection is opened, and protected.

use super::*;

#[tokio::test(start_paused = true)]
async fn protected_frames_may_span_and_share_blobs() {
    for qop in ["auth", "auth-int", "auth-conf", "auth-conf,auth"] {
        let (ours, theirs) = duplex(1 << 20);
        let mut peer = Peer::new(theirs);
        let secret = token();
        let login = Login::Token(secret.clone());
        let (session, ()) = tokio::join!(
            handshake::login(ours, PROTOCOL, &login, CLIENT),
            peer.log_in(&secret, qop)
        );
        let connection = Connection::start(session.unwrap(), CLIENT, Timing::default());
        let agreed = connection.qop.map(crate::auth::Qop::name);
        assert_eq!(agreed, qop.split(',').next());
        for step in [7, 1000] {
            let (one, two, ()) = tokio::join!(
                call(&connection, "one", LONG),
                call(&connection, "two", LONG),
                async {
                    if step == 7 {
                        let context = peer.context().await;
                        assert_eq!(context.protocol(), PROTOCOL);
                        assert_eq!(context.user_info.unwrap().effective_user, None);
                    }
                    let (one, two) = (peer.call().await.unwrap(), peer.call().await.unwrap());
                    let answers =
                        [success(two.id, &text("two")), success(one.id, &text("one"))].concat();
                    peer.send(&answers, step).await;
                }
            );
            assert_eq!(
                (kind(&one.unwrap()), kind(&two.unwrap())),
                ("one".into(), "two".into())
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_unprotected_frame_on_a_protected_connection_is_refused() {
    let (ours, theirs) = duplex(1 << 20);
    let mut peer = Peer::new(theirs);
    let secret = token();
    let login = Login::Token(secret.clone());
    let (session, ()) = tokio::join!(
        handshake::login(ours, PROTOCOL, &login, CLIENT),
        peer.log_in(&secret, "auth-int")
    );
    let connection = Connection::start(session.unwrap(), CLIENT, Timing::default());
    let (outcome, ()) = tokio::join!(call(&connection, "m", LONG), async {
        peer.context().await;
        let received = peer.call().await.unwrap();
        peer.raw(&success(received.id, &text("forged"))).await;
    });
    match outcome {
        Err(Miss::Failed(CallFailure::End(Disconnect::Garbled { .. }))) => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn offers_without_a_way_in_are_explained() {
    let kerberos = |method: &str| SaslAuth {
        method: method.into(),
        mechanism: "GSSAPI".into(),
        ..SaslAuth::default()
    };
    let scram = SaslAuth {
        mechanism: "SCRAM-SHA-256".into(),
        ..token_login("")
    };
    let cases = [
        (vec![kerberos("KERBEROS")], "Kerberos"),
        (vec![kerberos("SIMPLE")], "NoTokenLogin"),
        (vec![scram], "SCRAM-SHA-256"),
        (vec![token_login("qop=\"auth\"")], "md5-sess"),
    ];
    for (offer, words) in cases {
        let (ours, theirs) = duplex(1 << 20);
        let mut peer = Peer::new(theirs);
        let login = Login::Token(token());
        let (outcome, ()) = tokio::join!(
            handshake::login(ours, PROTOCOL, &login, CLIENT),
            async move {
                peer.offer(offer).await;
            }
        );
        let said = format!("{:?}", outcome.unwrap_err());
        assert!(said.contains(words), "{said} lacks {words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_know_the_token_is_not_trusted() {
    let (ours, theirs) = duplex(1 << 20);
    let mut peer = Peer::new(theirs);
    let login = Login::Token(token());
    let challenge = "realm=\"default\",nonce=\"n\",qop=\"auth\",algorithm=md5-sess";
    let (outcome, ()) = tokio::join!(handshake::login(ours, PROTOCOL, &login, CLIENT), async {
        peer.offer(vec![token_login(challenge)]).await;
        let success = crate::rpc::peers::sasl_frame(&crate::wire::common::RpcSaslProto {
            token: Some(Bytes::from_static(
                b"rspauth=00000000000000000000000000000000",
            )),
            ..Default::default()
        });
        peer.raw(&success).await;
        // Stays open: the client ends it.
        assert!(peer.frame().await.is_none());
    });
    assert!(matches!(
        outcome.map(drop),
        Err(Disconnect::Sasl(SaslError::ServerProof))
    ));
}

#[tokio::test]
async fn a_cluster_with_kerberos_is_named_for_it() {
    let (listener, address) = listen().await;
    let channel = channel(vec![address]);
    let (outcome, ()) = tokio::join!(simple_call(&channel), async {
        let mut peer = accept(&listener).await;
        peer.first_call().await;
        let words = "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]";
        peer.fatal("org.apache.hadoop.security.AccessControlException", words)
            .await;
    });
    let said = outcome.unwrap_err().to_string();
    assert!(
        said.contains("wants Kerberos (it offers TOKEN, KERBEROS)"),
        "{said}"
    );
}

#[tokio::test]
async fn opening_context_and_first_call_share_one_write() {
    let (listener, address) = listen().await;
    let channel = channel(vec![address]);
    let server = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut bytes = vec![0; 4096];
        let length = stream.read(&mut bytes).await.unwrap();
        bytes.truncate(length);
        bytes
    };
    let bytes = tokio::select! {
        bytes = server => bytes,
        outcome = simple_call(&channel) => panic!("{outcome:?}"),
    };
    assert!(bytes.starts_with(b"hrpc\x09\x00\x00"));
    assert!(bytes.windows(5).any(|window| window == b"alice"));
    // The parameter ends the call.
    assert!(
        bytes.ends_with(&[0x1a, 1, b'q', 0x22, 0]),
        "{}",
        bytes.escape_ascii()
    );
}
