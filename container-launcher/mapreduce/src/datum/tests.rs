use std::borrow::Cow;

use proptest::prelude::*;

use super::{Descending, EncodeAs, Key, List, Reverse, Text, VInt, VLong, Value};

fn bytes<T: ?Sized>(value: &(impl EncodeAs<T> + ?Sized)) -> Vec<u8> {
    let mut out = Vec::new();
    value.append(&mut out).unwrap();
    out
}

proptest! {
    #[test]
    fn bytes_are_in_the_order_of_the_keys(
        a: (Vec<u8>, i64, Vec<u8>), b: (Vec<u8>, i64, Vec<u8>), x: f64, y: f64
    ) {
        type Triple = (Text, i64, Text);
        prop_assert_eq!(bytes::<Triple>(&a).cmp(&bytes::<Triple>(&b)), a.cmp(&b));
        prop_assert_eq!(bytes::<f64>(&x).cmp(&bytes::<f64>(&y)), x.total_cmp(&y));
        prop_assert_eq!(bytes::<i64>(&a.1).cmp(&bytes::<i64>(&b.1)), a.1.cmp(&b.1));
        type Down = (Reverse<Text>, i64);
        let down = |t: &(Vec<u8>, i64, Vec<u8>)| bytes::<Down>(&(Descending(t.0.clone()), t.1));
        prop_assert_eq!(down(&a).cmp(&down(&b)), b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    }

    #[test]
    fn what_is_written_is_read(a: (Vec<u8>, i64, Vec<u8>), list: Vec<u32>) {
        type Triple = (Text, i64, Text);
        let written = bytes::<Triple>(&a);
        let (x, y, z) = Triple::decode(&written).unwrap();
        prop_assert_eq!((x.as_ref(), y, z), (a.0.as_slice(), a.1, a.2.as_slice()));
        prop_assert_eq!(List::<u32>::decode(&bytes::<List<u32>>(&list)).unwrap(), list);
        let nested = bytes::<(Triple, u8)>(&(a.clone(), 7));
        let ((x, y, z), seven) = <(Triple, u8)>::decode(&nested).unwrap();
        prop_assert_eq!((x, y, z, seven), (Cow::Owned(a.0), a.1, Cow::Owned(a.2), 7));
    }

    #[test]
    fn whatever_bytes_come_are_read_or_refused(bytes: Vec<u8>) {
        drop(<(Text, i64, Text)>::decode(&bytes));
        drop(<(Reverse<Text>, Text)>::decode(&bytes));
        drop(<((Text, u8), f64)>::decode(&bytes));
        let mut out = Vec::new();
        drop(<(Text, Text)>::text(&bytes, &mut out));
        drop(Text::from_writable(&bytes, &mut out));
        let _hash = <(Text, Reverse<Text>)>::java_hash(&bytes);
    }

    #[test]
    fn numbers_of_any_length_are_in_their_order_and_come_back(a: i64, b: i64, shift in 0_u32..64) {
        let (a, b) = (a >> shift, b >> shift);
        prop_assert_eq!(bytes::<VLong>(&a).cmp(&bytes::<VLong>(&b)), a.cmp(&b));
        prop_assert_eq!(VLong::java_hash(&bytes::<VLong>(&a)), i64::java_hash(&bytes::<i64>(&a)));
        let (mut written, mut read) = (Vec::new(), Vec::new());
        VLong::to_writable(&bytes::<VLong>(&a), &mut written).unwrap();
        VLong::from_writable(&written, &mut read).unwrap();
        prop_assert_eq!(VLong::decode(&read).unwrap(), a);
        // A number that is no int is refused as one, as Hadoop's readVInt does.
        read.clear();
        let as_int = VInt::from_writable(&written, &mut read).and_then(|()| VInt::decode(&read));
        prop_assert_eq!(as_int.ok(), i32::try_from(a).ok());
        written.push(0);
        prop_assert!(VLong::from_writable(&written, &mut read).is_err());
    }

    #[test]
    fn writable_numbers_come_back(number: i64) {
        let mut out = Vec::new();
        super::writable::write_long(number, &mut out);
        prop_assert_eq!(super::writable::read_long(&mut out.as_slice()), Some(number));
    }
}

/// What Java's own `hashCode` answers for the same Writables.
#[test]
fn hashes_are_javas() {
    assert_eq!(Text::java_hash(b"hello"), 127_791_473);
    assert_eq!(Text::java_hash("é".as_bytes()), 31 * (31 - 61) - 87);
    assert_eq!(u64::java_hash(&bytes::<u64>(&0x1_0000_0005)), 5);
    assert_eq!(i32::java_hash(&bytes::<i32>(&-7)), -7);
    assert_eq!(f64::java_hash(&bytes::<f64>(&1.5)), 0);
    assert_eq!(VInt::java_hash(&bytes::<VInt>(&-7)), -7);
    assert_eq!(VLong::java_hash(&bytes::<VLong>(&0x1_0000_0005)), 5);
}

#[test]
fn text_output_is_what_java_prints() {
    let show = |bytes: &[u8], text: fn(&[u8], &mut Vec<u8>) -> crate::Result<()>| {
        let mut out = Vec::new();
        text(bytes, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(
        show(&bytes::<(Text, i32)>(&("a\0b", -3)), <(Text, i32)>::text),
        "a\0b\t-3"
    );
    assert_eq!(show(&[0, 255, 16], super::Bytes::text), "00 ff 10");
    assert_eq!(
        show(&bytes::<List<u32>>(&vec![1, 2]), List::<u32>::text),
        "1,2"
    );
}
