//! What a peer may send, frame by frame.

use super::*;

/// One HTTP/2 frame. `length` may be a lie.
fn frame(length: u32, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// An honest frame.
fn whole(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    frame(
        u32::try_from(payload.len()).unwrap(),
        kind,
        flags,
        stream,
        payload,
    )
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const GOAWAY: u8 = 7;
const END_HEADERS: u8 = 4;

/// The first bytes of a connection, and a call of `Join` on stream 1 up to its body.
fn call() -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(whole(SETTINGS, 0, 0, &[]));
    // HPACK: names by their place in the static table or in full, values in full.
    let mut block = vec![0x83, 0x87];
    let mut text = |name: &[u8], value: &str| {
        block.extend(name);
        block.push(u8::try_from(value.len()).unwrap());
        block.extend(value.as_bytes());
    };
    text(&[0x04], "/gerbil.Launchers/Join");
    text(&[0x01], secrets::APPMASTER_NAME);
    text(&[0x0f, 0x10], "application/grpc");
    text(b"\x00\x02te", "trailers");
    bytes.extend(whole(HEADERS, END_HEADERS, 1, &block));
    bytes
}

/// Sends `bytes` and reads frames until one is of `kinds`; false: the connection ended without one.
async fn answered(port: &PortBed, bytes: &[u8], kinds: &[u8]) -> bool {
    let mut stream = port.raw().await;
    let _said = stream.write_all(bytes).await.is_ok();
    timeout(SOON, async {
        let mut head = [0; 9];
        while stream.read_exact(&mut head).await.is_ok() {
            if kinds.contains(&head[3]) {
                return true;
            }
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut rest = vec![0; usize::try_from(length).unwrap()];
            if stream.read_exact(&mut rest).await.is_err() {
                break;
            }
        }
        false
    })
    .await
    .unwrap()
}

#[tokio::test]
async fn what_is_too_large_is_refused_before_it_is_there() {
    let mut port = PortBed::open().await;
    // A message of 2 GiB, of which ten bytes come: refused by its announcement.
    let mut announced = call();
    let mut body = vec![0, 0x80, 0, 0, 0];
    body.extend([1; 10]);
    announced.extend(whole(DATA, 0, 1, &body));
    assert!(answered(&port, &announced, &[HEADERS, RESET]).await);
    // A frame of 16 MiB, where 16 KiB are the most.
    let mut frame_too_large = call();
    frame_too_large.extend(frame(0x00ff_ffff, DATA, 0, 1, &[0; 1000]));
    assert!(answered(&port, &frame_too_large, &[GOAWAY]).await);
    // Headers without an end.
    let mut headers = call();
    let endless = whole(9, 0, 3, &[0; 16_000]);
    headers.extend(whole(HEADERS, 0, 3, &[]));
    for _ in 0..100 {
        headers.extend(&endless);
    }
    assert!(answered(&port, &headers, &[GOAWAY, RESET]).await);
    // No HTTP/2 at all, inside TLS.
    let _closed = answered(&port, &[0xff; 100_000], &[GOAWAY]).await;
    port.heard_nothing();
    port.admits_a_launcher().await;
}

#[tokio::test]
async fn ten_megabytes_of_hello_are_no_hello() {
    let mut port = PortBed::open().await;
    let mut launcher = port.launcher().await;
    let long = "x".repeat(10_000_000);
    let (_said, answer) = join(&mut launcher, &long, b"ticket").await;
    let status = answer.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    port.heard_nothing();
    port.admits_a_launcher().await;
}
