use super::*;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

const IDENTIFIER: &str = "0a0d0a0908071080d095ffbc311001102a";
const PASSWORD: &str = "4c3c71645f55606427bf2c48afc2f047d4c97aeb";

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap())
        .collect()
}

fn sample() -> Credentials {
    let token = Token {
        identifier: hex(IDENTIFIER),
        password: hex(PASSWORD),
        kind: "YARN_AM_RM_TOKEN".into(),
        service: "127.0.0.1:44353".into(),
    };
    Credentials {
        tokens: BTreeMap::from([(String::new(), token)]),
        secrets: BTreeMap::from([("sk".into(), vec![1, 2, 3])]),
    }
}

fn service_hex() -> String {
    "127.0.0.1:44353"
        .bytes()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

fn golden_version0() -> Vec<u8> {
    hex(&format!(
        "48445453 00 01 00 11 {IDENTIFIER} 14 {PASSWORD} 10 5941524e5f414d5f524d5f544f4b454e \
         0f {} 01 02736b 03010203",
        service_hex()
    ))
}

fn golden_version1() -> Vec<u8> {
    hex(&format!(
        "48445453 01 5d 0a50 0a00 124c 0a11 {IDENTIFIER} 1214 {PASSWORD} \
         1a10 5941524e5f414d5f524d5f544f4b454e 220f {} 1209 0a02736b 1a03010203",
        service_hex()
    ))
}

#[test]
fn both_versions_of_stock_hadoop_are_read_and_version_0_is_written() {
    assert_eq!(Credentials::read(&golden_version0()).unwrap(), sample());
    assert_eq!(Credentials::read(&golden_version1()).unwrap(), sample());
    assert_eq!(sample().write(), golden_version0());
}

#[test]
fn tokens_are_chosen_by_kind_and_filtered_by_kind() {
    let credentials = sample();
    assert_eq!(
        credentials
            .token_of_kind("YARN_AM_RM_TOKEN")
            .unwrap()
            .password,
        hex(PASSWORD)
    );
    assert_eq!(credentials.token_of_kind("NMToken"), None);
    let filtered = credentials.without_kind("YARN_AM_RM_TOKEN");
    assert!(filtered.tokens.is_empty());
    assert_eq!(filtered.secret("sk"), Some(&[1, 2, 3][..]));
}

#[test]
fn debug_shows_neither_password_nor_secret() {
    let text = format!("{:?}", sample());
    assert!(
        text.contains("YARN_AM_RM_TOKEN") && text.contains("sk"),
        "{text}"
    );
    assert!(
        !text.contains("76, 60") && !text.contains("1, 2, 3"),
        "{text}"
    );
}

#[test]
fn what_is_wrong_is_said() {
    let cases: [(&[u8], &str); 6] = [
        (b"", "these 0 bytes are not a Hadoop credentials file"),
        (b"PK\x03\x04....", "do not begin with \"HDTS\""),
        (b"HDTS\x02", "version 2; versions 0 and 1"),
        (b"HDTS\x00\xff", "gives -1 as number of tokens"),
        // One token whose alias claims 2^31-1 bytes.
        (
            b"HDTS\x00\x01\x8c\x7f\xff\xff\xff",
            "alias of a token needs 2147483647 bytes, 0 are left",
        ),
        (b"HDTS\x00\x00\x00!", "goes on for 1 bytes"),
    ];
    for (bytes, words) in cases {
        let message = Credentials::read(bytes).unwrap_err().to_string();
        assert!(message.contains(words), "{message} lacks {words}");
    }
}

prop_compose! {
    fn token()(
        identifier in vec(any::<u8>(), 0..300),
        password in vec(any::<u8>(), 0..40),
        kind in ".{0,20}",
        service in ".{0,20}",
    ) -> Token {
        Token { identifier, password, kind, service }
    }
}

proptest! {
    #[test]
    fn round_trip(
        tokens in btree_map(".{0,12}", token(), 0..5),
        secrets in btree_map(".{0,12}", vec(any::<u8>(), 0..200), 0..5),
    ) {
        let credentials = Credentials { tokens, secrets };
        prop_assert_eq!(Credentials::read(&credentials.write()).unwrap(), credentials);
    }

    #[test]
    fn random_bytes_never_panic(version in 0u8..3, body in vec(any::<u8>(), 0..200)) {
        let mut bytes = b"HDTS".to_vec();
        bytes.push(version);
        bytes.extend(body);
        let _outcome = Credentials::read(&bytes);
    }

    #[test]
    fn every_truncation_is_an_error(cut in 0usize..94) {
        for golden in [golden_version0(), golden_version1()] {
            prop_assume!(cut < golden.len());
            prop_assert!(Credentials::read(&golden[..cut]).is_err());
        }
    }
}
