//! Structs and enums as keys and values.

use std::collections::BTreeMap;

use gerbil_mapreduce::prelude::*;
use gerbil_mapreduce::{EncodeAs, Key, Value};
use proptest::prelude::*;

/// Two texts, a number below zero and what may be missing: nothing of one may run into the next.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Key)]
#[cfg(test)]
struct Visit {
    site: String,
    from: Option<String>,
    at: i16,
    page: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Key)]
#[cfg(test)]
struct Pair(String, std::cmp::Reverse<u32>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Key)]
#[cfg(test)]
struct Word(String);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Key)]
#[cfg(test)]
struct Nothing;

/// Each kind of variant; a text at the end of one, and a derived key within another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Key)]
#[cfg(test)]
enum Event {
    Begun,
    Named(String, i8),
    Seen { visit: Visit, tags: Vec<String> },
    Last(String),
}

#[cfg(test)]
fn text() -> impl Strategy<Value = String> {
    "[\0\u{1}a\u{ff}]{0,4}"
}

#[cfg(test)]
prop_compose! {
    fn visits()(site in text(), from in proptest::option::of(text()), at in -2_i16..3, page in text()) -> Visit {
        Visit { site, from, at, page }
    }
}

#[cfg(test)]
fn events() -> impl Strategy<Value = Event> {
    prop_oneof![
        Just(Event::Begun),
        (text(), any::<i8>()).prop_map(|(name, at)| Event::Named(name, at)),
        (visits(), prop::collection::vec(text(), 0..3))
            .prop_map(|(visit, tags)| Event::Seen { visit, tags }),
        text().prop_map(Event::Last),
    ]
}

#[cfg(test)]
fn alone<T: EncodeAs<T>>(key: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.append(&mut bytes).unwrap();
    bytes
}

#[cfg(test)]
fn as_part<T: EncodeAs<T>>(key: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    key.append_part(&mut bytes).unwrap();
    bytes
}

/// Everything that an engine asks of two keys.
#[cfg(test)]
fn checked<T>(one: &T, other: &T)
where
    T: for<'a> Key<Part<'a> = T>
        + for<'a> Value<View<'a> = T>
        + EncodeAs<T>
        + Ord
        + std::fmt::Debug
        + Clone,
{
    let bytes = alone(one);
    assert_eq!(bytes.cmp(&alone(other)), one.cmp(other));
    // In front of something that is greater, and smaller, than anything.
    let front = |key: &T, behind: u8| [as_part(key), vec![behind]].concat();
    if one != other {
        assert_eq!(front(one, 255).cmp(&front(other, 0)), one.cmp(other));
        assert_eq!(front(one, 0).cmp(&front(other, 255)), one.cmp(other));
    }
    assert_eq!(&T::decode(&bytes).unwrap(), one);
    let part = front(one, 7);
    let mut rest = part.as_slice();
    assert_eq!(&T::part(&mut rest).unwrap(), one);
    assert_eq!(rest, [7]);
    assert_eq!(T::part_length(&part).unwrap(), part.len() - 1);
    let (mut parted, mut again) = (Vec::new(), Vec::new());
    T::as_part(&bytes, &mut parted);
    assert_eq!(parted, as_part(one));
    T::alone(&parted, &mut again).unwrap();
    assert_eq!(again, bytes);
    let mut rest = part.as_slice();
    assert_eq!(
        T::java_hash_of_part(&mut rest).unwrap(),
        T::java_hash(&bytes)
    );
    assert_eq!(rest, [7]);
    // A tuple of a derived key and something else.
    let pair = |key: &T| (key.clone(), 7_u8);
    let mut written = Vec::new();
    EncodeAs::<(T, u8)>::append(&pair(one), &mut written).unwrap();
    assert_eq!(<(T, u8)>::decode(&written).unwrap(), pair(one));
}

proptest! {
    #[test]
    fn the_bytes_of_a_derived_key_are_in_the_order_of_a_derived_ord(
        (one, other) in (visits(), visits()), (a, b) in (events(), events()), numbers: (u32, u32)
    ) {
        checked(&one, &other);
        checked(&a, &b);
        let pair = |visit: &Visit, number| Pair(visit.site.clone(), std::cmp::Reverse(number));
        checked(&pair(&one, numbers.0), &pair(&other, numbers.1));
        checked(&pair(&one, numbers.0), &pair(&one, numbers.1));
        checked(&Word(one.page.clone()), &Word(other.page.clone()));
        checked(&Nothing, &Nothing);
    }

    /// Of a struct the first field is the group, of an enum the variant.
    #[test]
    fn the_first_part_is_the_first_field(one in visits(), event in events()) {
        let bytes = alone(&one);
        let length = Visit::first_length(&bytes).unwrap();
        prop_assert_eq!(&bytes[..length], &as_part(&one.site)[..]);
        prop_assert_eq!(Visit::first_hash(&bytes), String::java_hash(one.site.as_bytes()));
        prop_assert_eq!(Event::first_length(&alone(&event)).unwrap(), 1);
    }

    #[test]
    fn whatever_bytes_come_are_read_as_a_derived_key_or_refused(bytes: Vec<u8>) {
        drop(Visit::decode(&bytes));
        drop(Event::decode(&bytes));
        let mut out = Vec::new();
        drop(Event::text(&bytes, &mut out));
        drop(Event::alone(&bytes, &mut out));
        Event::as_part(&bytes, &mut out);
        drop(Event::part_length(&bytes));
        drop(Event::first_length(&bytes));
        let _hashes = (Event::java_hash(&bytes), Visit::java_hash(&bytes), Event::first_hash(&bytes));
    }
}

#[test]
fn bytes_that_are_no_derived_key_are_named() {
    let said = Event::decode(&[9]).unwrap_err().to_string();
    assert!(
        said.contains("bytes are no ") && said.contains("Event"),
        "{said}"
    );
    assert!(Event::decode(&[]).is_err());
    // Something behind the end of a variant without fields.
    assert!(Event::decode(&[0, 0]).is_err());
    assert!(Nothing::decode(&[0]).is_err());
}

/// What was seen of a site. The last field is whatever serde can write, and no key.
#[derive(Debug, Value)]
#[cfg(test)]
struct Seen {
    count: u64,
    latest: Option<i16>,
    pages: Vec<String>,
    by: By,
}

/// A value within a value: its end is that of the outer one.
#[derive(Debug, Value)]
#[cfg(test)]
enum By {
    Nobody,
    Some { of: Json<BTreeMap<String, u64>> },
}

#[cfg(test)]
impl By {
    fn counts(self) -> BTreeMap<String, u64> {
        match self {
            Self::Nobody => BTreeMap::new(),
            Self::Some { of } => of.0,
        }
    }

    fn with(self, more: Self) -> Self {
        let mut of = self.counts();
        for (who, count) in more.counts() {
            *of.entry(who).or_default() += count;
        }
        match of.is_empty() {
            true => Self::Nobody,
            false => Self::Some { of: Json(of) },
        }
    }
}

#[cfg(test)]
struct Visits;

/// `SITE AT PAGE WHO`, where nobody is `-`.
#[cfg(test)]
impl Mapper for Visits {
    type Input = TextLines;
    type Key = Visit;
    type Value = Seen;

    fn map(&mut self, _offset: u64, line: &[u8], out: &mut Emit<'_, Self>) -> Result<()> {
        let mut words = std::str::from_utf8(line)?.split(' ');
        let mut word = || words.next().unwrap_or_default().to_owned();
        let (site, at, page, who) = (word(), word().parse()?, word(), word());
        let by = match who.as_str() {
            "-" => By::Nobody,
            _ => By::Some {
                of: Json(BTreeMap::from([(who, 1)])),
            },
        };
        let seen = Seen {
            count: 1,
            latest: Some(at),
            pages: vec![page],
            by,
        };
        let visit = Visit {
            site,
            from: None,
            at: at / 10,
            page: String::new(),
        };
        out.emit(&visit, &seen)
    }
}

/// Joins what was seen, as combiner and as reducer.
#[cfg(test)]
struct Join;

#[cfg(test)]
impl Combiner<Seen> for Join {
    fn combine(&mut self, mut left: Seen, right: Seen) -> Result<Seen> {
        left.pages.extend(right.pages);
        left.pages.sort();
        left.pages.dedup();
        Ok(Seen {
            count: left.count + right.count,
            latest: left.latest.max(right.latest),
            pages: left.pages,
            by: left.by.with(right.by),
        })
    }
}

#[cfg(test)]
impl Reducer<Visit, Seen> for Join {
    type Key = Visit;
    type Value = Seen;

    fn reduce(
        &mut self,
        key: Visit,
        values: &mut Values<'_, Visit, Seen>,
        out: &mut Output<'_, Visit, Seen>,
    ) -> Result<()> {
        let nothing = Seen {
            count: 0,
            latest: None,
            pages: Vec::new(),
            by: By::Nobody,
        };
        let seen = values.fold(nothing, |seen, more| Self.combine(seen, more))?;
        out.emit(&key, &seen)
    }
}

#[cfg(test)]
fn lines() -> String {
    let line = |number: usize| {
        let who = ["-", "ann", "bob"][number % 3];
        format!(
            "site{} {} page{} {who}\n",
            number % 4,
            i16::try_from(number % 60).unwrap() - 30,
            number % 7
        )
    };
    (0..400).map(line).collect()
}

/// How often, the latest, on which pages, and by whom how often.
#[cfg(test)]
type Counted = (u64, i16, Vec<String>, BTreeMap<String, u64>);

/// What is to come of them, told without an engine: the lines of the output.
#[cfg(test)]
fn expected() -> Vec<String> {
    let mut sites: BTreeMap<(String, i16), Counted> = BTreeMap::new();
    for line in lines().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let at: i16 = words[1].parse().unwrap();
        let seen = sites.entry((words[0].to_owned(), at / 10)).or_insert((
            0,
            at,
            Vec::new(),
            BTreeMap::new(),
        ));
        seen.0 += 1;
        seen.1 = seen.1.max(at);
        seen.2.push(words[2].to_owned());
        if words[3] != "-" {
            *seen.3.entry(words[3].to_owned()).or_default() += 1;
        }
    }
    let line = |((site, at), (count, latest, mut pages, by)): (
        (String, i16),
        (_, _, Vec<String>, BTreeMap<_, _>),
    )| {
        pages.sort();
        pages.dedup();
        let by = match by.is_empty() {
            true => "Nobody".to_owned(),
            false => format!("Some\t{}", serde_json::to_string(&by).unwrap()),
        };
        format!(
            "{site}\t\t{at}\t\t{count}\t{latest}\t{}\t{by}",
            pages.join(",")
        )
    };
    sites.into_iter().map(line).collect()
}

#[test]
fn derived_keys_and_values_go_through_map_combine_sort_and_reduce() {
    let job = || {
        Job::new("visits")
            .map(|| Visits)
            .combine(|| Join)
            .reduce(|| Join)
            .test()
            .input(lines())
    };
    let done = job().split_every(700).run().unwrap();
    assert_eq!(done.text().lines().collect::<Vec<_>>(), expected());
    let maps = done.counter(
        "org.apache.hadoop.mapreduce.TaskCounter",
        "COMBINE_INPUT_RECORDS",
    );
    assert_eq!(maps, 400);
    for settings in [
        [
            ("gerbil.combine", "false"),
            ("mapreduce.task.io.sort.mb", "1"),
        ],
        [
            ("gerbil.combine", "true"),
            ("mapreduce.task.io.sort.mb", "1"),
        ],
    ] {
        let job = settings
            .iter()
            .fold(job().reduces(3).split_every(5000), |job, (name, value)| {
                job.set(name, value)
            });
        let done = job.run().unwrap();
        let mut lines: Vec<&str> = Vec::new();
        let text = done.text();
        lines.extend(text.lines());
        lines.sort_unstable();
        let mut all = expected();
        all.sort_unstable();
        assert_eq!(lines, all, "{settings:?}");
    }
}

/// All visits of a site are one group, in the order of time.
#[test]
fn derived_keys_are_grouped_and_dealt_by_their_first_field() {
    let job = Job::new("sites")
        .map(|| Visits)
        .group_by_first()
        .reduce_with::<Word, (u64, i16), _>(|first, values, out| {
            let mut count = 0_u64;
            let mut last = first.at;
            while let Some((visit, _)) = values.next_pair()? {
                if visit.site != first.site || visit.at < last {
                    return Err(Error::new(format!(
                        "{visit:?} is behind {last} of {first:?}"
                    )));
                }
                (count, last) = (count + 1, visit.at);
            }
            out.emit(&Word(first.site), &(count, last))
        });
    let done = job
        .test()
        .input(lines())
        .split_every(700)
        .reduces(2)
        .run()
        .unwrap();
    let text = done.text();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "site0\t100\t2",
            "site1\t100\t2",
            "site2\t100\t2",
            "site3\t100\t2"
        ]
    );
}

/// An enum as key: variants in the order in which they are declared, and a range of keys to each reduce.
#[test]
fn an_enum_is_sorted_and_shown_by_its_variants() {
    let job = Job::new("events")
        .map_lines::<Event, (), _>(|line, out| {
            let text = String::from_utf8(line.to_vec())?;
            let event = match text.split_once(' ') {
                None => Event::Begun,
                Some(("last", text)) => Event::Last(text.to_owned()),
                Some((name, number)) => Event::Named(name.to_owned(), number.parse()?),
            };
            out.emit(&event, &())
        })
        .total_order()
        .reduce(|| Identity);
    let done = job
        .test()
        .input("last z\nb 7\nbegun\na 9\nb -7\nlast a\n")
        .reduces(2)
        .run()
        .unwrap();
    assert_eq!(
        done.text(),
        "Begun\nNamed\ta\t9\nNamed\tb\t-7\nNamed\tb\t7\nLast\ta\nLast\tz\n"
    );
}

#[test]
fn a_derived_type_has_no_writable_and_says_so() {
    let job = Job::new("written")
        .map(|| Visits)
        .reduce(|| Join)
        .output::<SequenceFileOutput>();
    let said = job.test().input("a 1 b c\n").run().unwrap_err().to_string();
    assert!(
        said.contains("Visit has no Writable, so it cannot go to a SequenceFile"),
        "{said}"
    );
}
