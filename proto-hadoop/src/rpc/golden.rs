//! Bytes of stock clients and servers (classes of Hadoop 3.5.0, the same from 3.3.4 on).

use bytes::{Bytes, BytesMut};
use prost::Message;

use crate::wire::common::RpcSaslProto;
use crate::wire::common::rpc_response_header_proto::RpcStatusProto;
use crate::wire::common::rpc_sasl_proto::{SaslAuth, SaslState};
use crate::wire::{FromWire, yarn};
use crate::yarn::{AllocateRequest, Resource, ResourceRequest};
use crate::{AppAttemptId, ApplicationId};

use super::message::{self, ClientId, Request, Response};

const CLIENT: ClientId = ClientId(*b"0123456789abcdef");
const PROTOCOL: &str = "org.apache.hadoop.yarn.api.ApplicationClientProtocolPB";
const MASTER_PROTOCOL: &str = "org.apache.hadoop.yarn.api.ApplicationMasterProtocolPB";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text
        .chars()
        .filter_map(|digit| digit.to_digit(16))
        .collect();
    digits
        .chunks(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap())
        .collect()
}

fn hex_of(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn resource(memory_varint: &str, vcores: &str) -> String {
    format!(
        "08{memory_varint} 10{vcores} 1a14 0a09 6d656d6f72792d6d62 10{memory_varint} 1a024d69 2000 \
         1a0e 0a06 76636f726573 10{vcores} 1a00 2000"
    )
}

#[test]
fn opening_of_a_token_log_in() {
    let mut out = BytesMut::from(&b"hrpc\x09\x00\xdf"[..]);
    let negotiate = RpcSaslProto {
        state: SaslState::Negotiate.into(),
        ..RpcSaslProto::default()
    };
    message::put_sasl(&mut out, &negotiate);
    assert_eq!(
        out,
        hex("68727063 09 00 df 0000000e 0a 08021000184122002801 02 1001")[..]
    );
}

#[test]
fn offer_of_a_token_server_and_the_echoed_choice() {
    let challenge = "realm=\"default\",nonce=\"xezwXPwU2AmGpPQP24LGt73m8yRSIRTWyZXZDaPF\",\
                     qop=\"auth\",charset=utf-8,algorithm=md5-sess";
    let offer = hex(&format!(
        "1001 228c01 0a05 544f4b454e 120a 4449474553542d4d4435 1a00 2207 64656661756c74 2a6c {}",
        hex_of(challenge)
    ));
    let mut body = hex("0e 08dfffffff0f10001809 3a004001");
    body.extend(prost_length(offer.len()));
    body.extend(&offer);
    let mut response = Response::decode(body.into()).unwrap();
    assert_eq!(response.call(), message::SASL);
    assert_eq!(response.header.status(), RpcStatusProto::Success);
    let sasl: RpcSaslProto = message::take(&mut response.rest).unwrap();
    assert_eq!(sasl.state(), SaslState::Negotiate);
    assert_eq!(sasl.auths[0].challenge(), challenge.as_bytes());

    let chosen = SaslAuth {
        challenge: None,
        ..sasl.auths[0].clone()
    };
    let initiate = RpcSaslProto {
        auths: vec![chosen],
        ..RpcSaslProto::default()
    };
    let tail = hex("221e 0a05544f4b454e 120a4449474553542d4d4435 1a00 220764656661756c74");
    assert!(initiate.encode_to_vec().ends_with(&tail));
}

fn prost_length(length: usize) -> Vec<u8> {
    let mut out = Vec::new();
    prost::encode_length_delimiter(length, &mut out).unwrap();
    out
}

#[test]
fn context_of_a_simple_and_of_a_token_log_in() {
    let mut out = BytesMut::from(&b"hrpc\x09\x00\x00"[..]);
    message::put_context(&mut out, CLIENT, PROTOCOL, Some("alice"));
    let simple = format!(
        "687270630900000000005d 1a08021000180522103031323334353637383961626364656628014112070a05 \
         616c6963651a36{}",
        hex_of(PROTOCOL)
    );
    assert_eq!(out, hex(&simple)[..]);

    let mut out = BytesMut::new();
    message::put_context(&mut out, CLIENT, MASTER_PROTOCOL, None);
    let payload = hex(&format!("1200 1a36 {}", hex_of(MASTER_PROTOCOL)));
    assert!(out.ends_with(&payload));
}

#[test]
fn get_new_application_and_its_answer() {
    let request = Request {
        client: CLIENT,
        protocol: PROTOCOL,
        method: "getNewApplication",
        parameter: &Message::encode_to_vec(&yarn::GetNewApplicationRequestProto {}),
    };
    let expected = format!(
        "0000006a 1a 080210001800 2210 30313233343536373839616263646566 2800 \
         4d 0a11 6765744e65774170706c69636174696f6e 1236 {} 1801 00",
        hex_of(PROTOCOL)
    );
    assert_eq!(request.frame(0), hex(&expected)[..]);

    let payload = format!("38 0a09 08071080d095ffbc31 122b {}", resource("8040", "04"));
    let mut payload = Bytes::from(hex(&payload));
    let answer: yarn::GetNewApplicationResponseProto = message::take(&mut payload).unwrap();
    let id = ApplicationId::from_wire(answer.application_id.unwrap()).unwrap();
    assert_eq!(id.to_string(), "application_1700000000000_0007");
    assert_eq!(
        Resource::optional(answer.maximum_capability),
        Resource::new(8192, 4)
    );
}

#[test]
fn register_with_neither_port_nor_address() {
    let request = yarn::RegisterApplicationMasterRequestProto {
        host: Some("h1".into()),
        rpc_port: Some(-1),
        tracking_url: Some(String::new()),
    };
    let expected = hex("11 0a026831 10ffffffffffffffffff01 1a00");
    assert_eq!(request.encode_length_delimited_to_vec(), expected);
}

#[test]
fn allocate_says_what_a_stock_client_says() {
    let stock = format!(
        "47 0a3e 0a020801 12012a 1a2b {} 2002 2801 3a0408011000 2000 2d00000000",
        resource("8008", "01")
    );
    let mut stock = Bytes::from(hex(&stock));
    let mut stock: yarn::AllocateRequestProto = message::take(&mut stock).unwrap();
    let ours = AllocateRequest {
        asks: vec![ResourceRequest {
            priority: 1,
            resource_name: "*".into(),
            capability: Resource::new(1024, 1),
            containers: 2,
            relax_locality: true,
            node_label: None,
            allocation_request_id: -1,
        }],
        ..AllocateRequest::default()
    };
    // Stock clients repeat memory and cores in the table of types, and leave the default request id out.
    let row = &mut stock.ask[0];
    row.capability.as_mut().unwrap().resource_value_map.clear();
    row.allocation_request_id = Some(row.allocation_request_id());
    assert_eq!(ours.to_wire(0), stock);
}

#[test]
fn token_identifier() {
    let bytes = hex("0a0d0a0908071080d095ffbc311001102a");
    let identifier = yarn::AmrmTokenIdentifierProto::decode(&bytes[..]).unwrap();
    assert_eq!(identifier.key_id(), 42);
    let attempt = AppAttemptId::from_wire(identifier.app_attempt_id.unwrap()).unwrap();
    assert_eq!(attempt.to_string(), "appattempt_1700000000000_0007_000001");
}

#[test]
fn refusal_of_a_simple_client_on_a_token_port() {
    let class = "org.apache.hadoop.security.AccessControlException";
    let words = "SIMPLE authentication is not enabled.  Available:[TOKEN]";
    let header = hex(&format!(
        "08ffffffff0f 1002 1809 2231 {} 2a38 {} 300f 3a00 4001",
        hex_of(class),
        hex_of(words)
    ));
    let mut body = prost_length(header.len());
    body.extend(header);
    let response = Response::decode(body.into()).unwrap();
    assert_eq!(
        (response.call(), response.header.status()),
        (-1, RpcStatusProto::Fatal)
    );
    assert_eq!(
        response.words(),
        (class.to_owned(), words.to_owned(), String::new())
    );
}
