//! Keys of which there are so many that one reduce of a total order has more than its part.

use crate::counting::Counting;
use crate::datum::Key;
use crate::sentence::beginning;
use crate::settings::Settings;

/// The setting in which the driver tells the first task of them: a line each, its thousandths and how it is shown.
pub(crate) const HOT: &str = "total.order.hot";
/// Most of them that are told.
const MOST: usize = 10;
/// A sample has at least so many of one: fewer may be chance.
const SEEN: usize = 20;
/// Most bytes of a key as it is shown: it is part of a counter's name.
const SHOWN: usize = 60;

/// A key, and how many thousandths of the sample have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HotKey {
    pub(crate) per_mille: u32,
    pub(crate) key: String,
}

/// Keys that are more than one part of `partitions` equal ones, the most frequent first; `keys` are sorted.
pub(crate) fn hot_keys(
    keys: &[Vec<u8>],
    partitions: u32,
    shown: fn(&[u8]) -> String,
) -> Vec<HotKey> {
    let all = keys.len();
    let runs = keys.chunk_by(|one, other| one == other);
    let is_hot = |run: &&[Vec<u8>]| run.len() >= SEEN && run.len() * partitions as usize > all;
    let mut hot: Vec<&[Vec<u8>]> = runs.filter(is_hot).collect();
    // Of as many the order is that of the keys.
    hot.sort_by_key(|run| std::cmp::Reverse(run.len()));
    let told = hot.into_iter().take(MOST).filter_map(|run| {
        Some(HotKey {
            per_mille: u32::try_from(run.len() * 1000 / all).ok()?,
            key: shown(run.first()?),
        })
    });
    told.collect()
}

/// A key as text output has it, or its bytes where that is none of a whole key.
pub(crate) fn shown<K: Key>(key: &[u8]) -> String {
    let mut text = Vec::new();
    let read = K::text(key, &mut text);
    let bytes = read.map_or(key, |()| text.as_slice());
    let whole = format!("{:?}", String::from_utf8_lossy(bytes));
    match beginning(&whole, SHOWN) {
        cut if cut.len() < whole.len() => format!("{cut} and so on"),
        _ => whole,
    }
}

/// Tells tasks of them.
pub(crate) fn set(settings: &mut Settings, hot: &[HotKey]) {
    if hot.is_empty() {
        return;
    }
    let lines = hot.iter().map(|of| format!("{} {}", of.per_mille, of.key));
    settings.set(HOT, &lines.collect::<Vec<_>>().join("\n"));
}

/// Counts them, for the job's report: one task does.
pub(crate) fn count(settings: &Settings, counting: &mut Counting) {
    let told = settings.given().get(HOT).map_or("", String::as_str);
    for (per_mille, key) in told.lines().filter_map(|line| line.split_once(' ')) {
        if let Ok(per_mille) = per_mille.parse() {
            counting.add("gerbil", &format!("HOT_KEY_PER_MILLE {key}"), per_mille);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{HotKey, hot_keys, shown};
    use crate::datum::Text;

    #[test]
    fn keys_that_are_more_than_a_part_are_hot() {
        let mut keys = vec![b"a".to_vec(); 25];
        keys.extend(vec![b"m".to_vec(); 45]);
        keys.extend((0..30_u8).map(|byte| vec![b'z', byte]));
        let hot = |key: &str, per_mille| HotKey {
            per_mille,
            key: format!("{key:?}"),
        };
        assert_eq!(hot_keys(&keys, 2, shown::<Text>), []);
        assert_eq!(hot_keys(&keys, 4, shown::<Text>), [hot("m", 450)]);
        assert_eq!(
            hot_keys(&keys, 5, shown::<Text>),
            [hot("m", 450), hot("a", 250)]
        );
        // One of three is no sign of many.
        assert_eq!(hot_keys(&keys[..3], 5, shown::<Text>), []);
        assert_eq!(hot_keys(&[], 5, shown::<Text>), []);
    }

    #[test]
    fn keys_are_shown_as_text_and_short() {
        assert_eq!(shown::<Text>("a\té".as_bytes()), "\"a\\té\"");
        assert_eq!(shown::<(String, u64)>(b"\xFF"), "\"\u{FFFD}\"");
        let long = shown::<Text>(&[b'x'; 200]);
        assert!(long.ends_with("xx and so on") && long.len() < 80, "{long}");
        let odd = shown::<Text>(&[1; 200]);
        assert!(odd.ends_with(" and so on") && odd.len() < 80, "{odd}");
    }
}
