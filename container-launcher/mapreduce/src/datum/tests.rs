use std::borrow::Cow;
use std::cmp::{self, Ordering};

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
        a: (Vec<u8>, i64, Vec<u8>), b: (Vec<u8>, i64, Vec<u8>), x: u64, y: u64, small: (i16, i16)
    ) {
        let (x, y) = (f64::from_bits(x), f64::from_bits(y));
        type Triple = (Text, i64, Text);
        prop_assert_eq!(bytes::<Triple>(&a).cmp(&bytes::<Triple>(&b)), a.cmp(&b));
        prop_assert_eq!(bytes::<f64>(&x).cmp(&bytes::<f64>(&y)), java_compare(x, y));
        let (one, other) = small;
        prop_assert_eq!(bytes::<i16>(&one).cmp(&bytes::<i16>(&other)), one.cmp(&other));
        let ([one, _], [other, _]) = (one.to_be_bytes(), other.to_be_bytes());
        let (one, other) = (one.cast_signed(), other.cast_signed());
        prop_assert_eq!(bytes::<i8>(&one).cmp(&bytes::<i8>(&other)), one.cmp(&other));
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

    /// Strings with zero bytes, what may be missing, lists and what descends, alone and in front of something.
    #[test]
    fn what_holds_its_own_values_is_in_the_order_of_rust(
        a: (Option<String>, Vec<Option<u16>>, String), b: (Option<String>, Vec<Option<u16>>, String), zeros: (u8, u8)
    ) {
        type Parts = (Option<String>, Vec<Option<u16>>, String);
        type Down = (cmp::Reverse<String>, cmp::Reverse<Vec<Option<u16>>>);
        let padded = |of: &Parts, zeros: u8| {
            let zeros = "\0".repeat(usize::from(zeros % 3));
            (of.0.clone().map(|text| text + &zeros), of.1.clone(), zeros + &of.2)
        };
        let (a, b) = (padded(&a, zeros.0), padded(&b, zeros.1));
        prop_assert_eq!(bytes::<Parts>(&a).cmp(&bytes::<Parts>(&b)), a.cmp(&b));
        prop_assert_eq!(bytes::<Option<String>>(&a.0).cmp(&bytes::<Option<String>>(&b.0)), a.0.cmp(&b.0));
        prop_assert_eq!(bytes::<Vec<Option<u16>>>(&a.1).cmp(&bytes::<Vec<Option<u16>>>(&b.1)), a.1.cmp(&b.1));
        let down = |of: &Parts| (cmp::Reverse(of.2.clone()), cmp::Reverse(of.1.clone()));
        prop_assert_eq!(bytes::<Down>(&down(&a)).cmp(&bytes::<Down>(&down(&b))), down(&a).cmp(&down(&b)));
        prop_assert_eq!(Down::decode(&bytes::<Down>(&down(&a))).unwrap(), down(&a));
        prop_assert_eq!(Parts::decode(&bytes::<Parts>(&a)).unwrap(), a.clone());
        // Alone, as a part, and alone again.
        let (alone, mut part, mut again) = (bytes::<Parts>(&a), Vec::new(), Vec::new());
        Parts::as_part(&alone, &mut part);
        let mut written = Vec::new();
        EncodeAs::<Parts>::append_part(&a, &mut written).unwrap();
        prop_assert_eq!(&part, &written);
        prop_assert_eq!(Parts::part_length(&part).unwrap(), part.len());
        Parts::alone(&part, &mut again).unwrap();
        prop_assert_eq!(again, alone.clone());
        prop_assert_eq!(Parts::java_hash(&alone), Parts::java_hash_of_part(&mut part.as_slice()).unwrap());
    }

    #[test]
    fn whatever_bytes_come_are_read_or_refused(bytes: Vec<u8>) {
        drop(<(Text, i64, Text)>::decode(&bytes));
        drop(<(Reverse<Text>, Text)>::decode(&bytes));
        drop(<((Text, u8), f64)>::decode(&bytes));
        drop(<(Option<String>, Vec<String>, Vec<()>)>::decode(&bytes));
        drop(<(cmp::Reverse<String>, Option<()>)>::decode(&bytes));
        let mut out = Vec::new();
        drop(<(Text, Text)>::text(&bytes, &mut out));
        drop(<(Option<String>, Vec<()>)>::text(&bytes, &mut out));
        drop(<(Option<String>, Vec<u16>)>::alone(&bytes, &mut out));
        <(Option<String>, Vec<u16>)>::as_part(&bytes, &mut out);
        drop(Text::from_writable(&bytes, &mut out));
        let _hash = <(Text, Reverse<Text>)>::java_hash(&bytes);
        let _hash = <(Option<String>, Vec<()>)>::java_hash(&bytes);
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

/// Java's `Double.compare`.
fn java_compare(x: f64, y: f64) -> Ordering {
    match (x.is_nan(), y.is_nan()) {
        (false, false) => x.total_cmp(&y),
        (nan, other) => nan.cmp(&other),
    }
}

/// What is divided by zero has a sign on some processors, and a text has none; Hadoop has one key of them all.
#[test]
fn all_nans_are_one_key_which_is_last() {
    let nans = [f64::NAN, -f64::NAN, f64::from_bits(0xFFF8_0000_0000_0001)];
    for nan in nans {
        assert_eq!(bytes::<f64>(&nan), bytes::<f64>(&f64::NAN));
        assert!(bytes::<f64>(&nan) > bytes::<f64>(&f64::INFINITY));
        assert_eq!(f64::java_hash(&bytes::<f64>(&nan)), 0);
        let mut wire = Vec::new();
        f64::to_writable(&bytes::<f64>(&nan), &mut wire).unwrap();
        assert_eq!(wire, 0x7FF8_0000_0000_0000_u64.to_be_bytes());
        let mut read = Vec::new();
        f64::from_writable(&nan.to_be_bytes(), &mut read).unwrap();
        assert_eq!(read, bytes::<f64>(&f64::NAN));
    }
    for nan in [f32::NAN, -f32::NAN, f32::from_bits(0xFFC0_0001)] {
        assert_eq!(bytes::<f32>(&nan), bytes::<f32>(&f32::NAN));
        assert!(bytes::<f32>(&nan) > bytes::<f32>(&f32::INFINITY));
        assert_eq!(f32::java_hash(&bytes::<f32>(&nan)), 0x7FC0_0000);
    }
    assert!(bytes::<f64>(&-0.0) < bytes::<f64>(&0.0));
}

/// Hadoop's integers are signed: the same number is the same in both, or it is refused.
#[test]
fn unsigned_numbers_are_those_of_writables_or_none() {
    macro_rules! both_ways {
        ($($unsigned:ty, $signed:ty);*) => {$(
            let largest = <$unsigned>::try_from(<$signed>::MAX).unwrap();
            for number in [0, 1, largest] {
                let (mut wire, mut read) = (Vec::new(), Vec::new());
                <$unsigned>::to_writable(&bytes::<$unsigned>(&number), &mut wire).unwrap();
                assert_eq!(wire, number.to_be_bytes());
                <$unsigned>::from_writable(&wire, &mut read).unwrap();
                assert_eq!(<$unsigned>::decode(&read).unwrap(), number);
            }
            for number in [largest + 1, <$unsigned>::MAX] {
                let written = <$unsigned>::to_writable(&bytes::<$unsigned>(&number), &mut Vec::new());
                let said = written.unwrap_err().to_string();
                assert!(said.starts_with(&format!("{number} is too large for Hadoop's ")), "{said}");
            }
            for number in [-1, -2, <$signed>::MIN] {
                let wire = number.to_be_bytes();
                let read = <$unsigned>::from_writable(&wire, &mut Vec::new());
                let said = read.unwrap_err().to_string();
                assert!(said.starts_with(&format!("{number}, in Hadoop's ")), "{said}");
                let read_as = format!(" is no {0}: read it as {1}", stringify!($unsigned), stringify!($signed));
                assert!(said.ends_with(&read_as), "{said}");
                let mut read = Vec::new();
                <$signed>::from_writable(&wire, &mut read).unwrap();
                assert_eq!(<$signed>::decode(&read).unwrap(), number);
                let mut text = Vec::new();
                <$signed>::text(&read, &mut text).unwrap();
                assert_eq!(text, number.to_string().into_bytes());
                let mut back = Vec::new();
                <$signed>::to_writable(&read, &mut back).unwrap();
                assert_eq!(back, wire);
            }
        )*};
    }
    both_ways!(u8, i8; u16, i16; u32, i32; u64, i64);
}

/// What Java's own `hashCode` answers for the same Writables.
#[test]
fn hashes_are_javas() {
    assert_eq!(Text::java_hash(b"hello"), 127_791_473);
    assert_eq!(Text::java_hash("é".as_bytes()), 31 * (31 - 61) - 87);
    assert_eq!(u64::java_hash(&bytes::<u64>(&0x1_0000_0005)), 5);
    assert_eq!(i32::java_hash(&bytes::<i32>(&-7)), -7);
    assert_eq!(i16::java_hash(&bytes::<i16>(&-300)), -300);
    assert_eq!(i8::java_hash(&bytes::<i8>(&-128)), -128);
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

#[test]
fn a_string_is_hadoops_text_and_nothing_but_utf_8() {
    let mut wire = Vec::new();
    String::to_writable(&bytes::<String>("h\u{e9}"), &mut wire).unwrap();
    assert_eq!(wire, b"\x03h\xc3\xa9");
    let mut read = Vec::new();
    String::from_writable(&wire, &mut read).unwrap();
    assert_eq!(String::decode(&read).unwrap(), "h\u{e9}");
    assert_eq!(String::java_hash(b"hello"), Text::java_hash(b"hello"));
    let said = String::decode(b"\xff\xfe").unwrap_err().to_string();
    assert!(
        said.starts_with("2 bytes are no alloc::string::String: "),
        "{said}"
    );
}

/// Nothing is shown of them, and their number would be lost.
#[test]
fn a_list_of_what_takes_no_bytes_is_refused() {
    let mut out = Vec::new();
    let said = EncodeAs::<List<()>>::append(&vec![(), ()], &mut out).unwrap_err();
    assert_eq!(
        said.to_string(),
        "a list of () does not say how long it is: its items take no bytes"
    );
    assert!(Vec::<()>::decode(b"x").is_err());
}

#[test]
fn what_is_missing_is_shown_as_nothing() {
    let mut out = Vec::new();
    type Row = (Option<u32>, Option<String>, Vec<i8>);
    let rows: [Row; 2] = [
        (None, Some("a".to_owned()), vec![-1, 2]),
        (Some(7), None, vec![]),
    ];
    for row in rows {
        Row::text(&bytes::<Row>(&row), &mut out).unwrap();
        out.push(b'\n');
    }
    assert_eq!(out, b"\ta\t-1,2\n7\t\t\n");
    assert_eq!(
        Option::<i32>::java_hash(&bytes::<Option<i32>>(&None::<i32>)),
        0
    );
    assert_eq!(
        Option::<i32>::java_hash(&bytes::<Option<i32>>(&Some(-7))),
        -7
    );
}
