//! `-reducer aggregate`: keys say how their values are joined, `LongValueSum:words` and the like, as Hadoop's package
//! `mapreduce.lib.aggregate` does it.

use std::collections::BTreeMap;

use gerbil_mapreduce::{EncodeAs as _, Error, Result, Value};

/// What separates the name of an aggregator from the key of the output.
const SEPARATOR: u8 = b':';
/// Bytes that an entry takes beside its own.
const ENTRY: usize = 64;

/// Joins the values of a key.
#[derive(Debug)]
pub(crate) enum Aggregator {
    LongSum(i64),
    LongMax(i64),
    LongMin(i64),
    DoubleSum(f64),
    StringMax(Option<Vec<u8>>),
    StringMin(Option<Vec<u8>>),
    /// Values, and how often each came; how many bytes they take, and may take.
    Unique(Counted),
    Histogram(Counted),
}

/// Different values of a key.
#[derive(Debug)]
pub(crate) struct Counted {
    of: BTreeMap<Vec<u8>, i64>,
    bytes: usize,
    most: usize,
}

impl Counted {
    const fn new(most: usize) -> Self {
        Self {
            of: BTreeMap::new(),
            bytes: 0,
            most,
        }
    }

    fn add(&mut self, value: &[u8], by: i64) -> Result<()> {
        if let Some(count) = self.of.get_mut(value) {
            *count = count.wrapping_add(by);
            return Ok(());
        }
        self.bytes += value.len() + ENTRY;
        if self.bytes > self.most {
            return Err(Error::new(format!(
                "its different values take more than {} bytes, which one reduce has to keep in memory: raise \
                 mapreduce.task.io.sort.mb",
                self.most
            )));
        }
        self.of.insert(value.to_vec(), by);
        Ok(())
    }
}

/// How the values of `key` are joined, and under which key the result goes out; different values may take `most` bytes.
///
/// # Errors
/// The key does not say so.
pub(crate) fn of(key: &[u8], most: usize) -> Result<(Aggregator, &[u8])> {
    let wrong = || {
        Error::new(format!(
            "{:?} names no aggregator: with -reducer aggregate a mapper prints NAME:KEY, a tab and a value, NAME being \
             LongValueSum, LongValueMax, LongValueMin, DoubleValueSum, StringValueMax, StringValueMin, UniqValueCount or \
             ValueHistogram",
            gerbil_task::said::cut(&String::from_utf8_lossy(key), 100)
        ))
    };
    let at = memchr::memchr(SEPARATOR, key).ok_or_else(wrong)?;
    let (name, key) = key.split_at(at);
    let name = String::from_utf8_lossy(name).to_ascii_lowercase();
    let aggregator = match name.as_str() {
        "longvaluesum" => Aggregator::LongSum(0),
        "longvaluemax" => Aggregator::LongMax(i64::MIN),
        "longvaluemin" => Aggregator::LongMin(i64::MAX),
        "doublevaluesum" => Aggregator::DoubleSum(0.0),
        "stringvaluemax" => Aggregator::StringMax(None),
        "stringvaluemin" => Aggregator::StringMin(None),
        "uniqvaluecount" => Aggregator::Unique(Counted::new(most)),
        "valuehistogram" => Aggregator::Histogram(Counted::new(most)),
        _ => return Err(wrong()),
    };
    Ok((aggregator, key.get(1..).unwrap_or_default()))
}

impl Aggregator {
    /// Takes a value.
    ///
    /// # Errors
    /// It is none of this kind.
    pub(crate) fn add(&mut self, value: &[u8]) -> Result<()> {
        match self {
            Self::LongSum(sum) => *sum = sum.wrapping_add(number(value)?),
            Self::LongMax(most) => *most = number::<i64>(value)?.max(*most),
            Self::LongMin(least) => *least = number::<i64>(value)?.min(*least),
            Self::DoubleSum(sum) => *sum += number::<f64>(value)?,
            Self::StringMax(most) => {
                if most.as_deref().is_none_or(|most| value > most) {
                    *most = Some(value.to_vec());
                }
            }
            Self::StringMin(least) => {
                if least.as_deref().is_none_or(|least| value < least) {
                    *least = Some(value.to_vec());
                }
            }
            Self::Unique(counted) => counted.add(value, 1)?,
            Self::Histogram(counted) => match memchr::memrchr(b'\t', value) {
                Some(at) => {
                    let (value, count) = value.split_at(at);
                    counted.add(value, number(count.get(1..).unwrap_or_default())?)?;
                }
                None => counted.add(value, 1)?,
            },
        }
        Ok(())
    }

    /// What all of them are together, as values of the same key for an aggregator to join with others.
    ///
    /// # Errors
    /// As [`result`](Self::result), and those of `emit`.
    pub(crate) fn partial(self, mut emit: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        match self {
            Self::Unique(counted) => counted.of.into_keys().try_for_each(|value| emit(&value)),
            Self::Histogram(counted) => {
                counted.of.into_iter().try_for_each(|(mut value, count)| {
                    value.push(b'\t');
                    value.extend_from_slice(count.to_string().as_bytes());
                    emit(&value)
                })
            }
            Self::LongSum(_)
            | Self::LongMax(_)
            | Self::LongMin(_)
            | Self::DoubleSum(_)
            | Self::StringMax(_)
            | Self::StringMin(_) => emit(&self.result()?),
        }
    }

    /// What all of them are together.
    ///
    /// # Errors
    /// A number has no text.
    pub(crate) fn result(self) -> Result<Vec<u8>> {
        Ok(match self {
            Self::LongSum(number) | Self::LongMax(number) | Self::LongMin(number) => {
                number.to_string().into_bytes()
            }
            Self::DoubleSum(sum) => {
                let mut text = Vec::new();
                double(sum, &mut text)?;
                text
            }
            Self::StringMax(value) | Self::StringMin(value) => value.unwrap_or_default(),
            Self::Unique(counted) => counted.of.len().to_string().into_bytes(),
            Self::Histogram(counted) => histogram(counted.of.into_values().collect())?,
        })
    }
}

/// How many different values there are; of how often they came the least, the median, the most, the mean and the deviation.
fn histogram(mut counts: Vec<i64>) -> Result<Vec<u8>> {
    counts.sort_unstable();
    let mut text = counts.len().to_string().into_bytes();
    let (Some(least), Some(most)) = (counts.first(), counts.last()) else {
        return Ok(text);
    };
    let median = counts.get(counts.len() / 2).unwrap_or(most);
    for count in [least, median, most] {
        text.extend_from_slice(format!("\t{count}").as_bytes());
    }
    let number = float(i64::try_from(counts.len()).unwrap_or(i64::MAX));
    let all = counts
        .iter()
        .fold(0_i64, |all, count| all.wrapping_add(*count));
    let mean = float(all) / number;
    let squares = counts
        .iter()
        .map(|count| float(*count) - mean)
        .map(|off| off * off);
    let deviation = (squares.sum::<f64>() / number).sqrt();
    for figure in [mean, deviation] {
        text.push(b'\t');
        double(figure, &mut text)?;
    }
    Ok(text)
}

/// The nearest number with a fraction.
#[expect(clippy::cast_precision_loss, reason = "Java rounds it as well")]
#[expect(clippy::as_conversions, reason = "there is no other way to round it")]
const fn float(number: i64) -> f64 {
    number as f64
}

/// Appends a number as Java writes it.
fn double(number: f64, text: &mut Vec<u8>) -> Result<()> {
    let mut bytes = Vec::new();
    number.append(&mut bytes)?;
    <f64 as Value>::text(&bytes, text)
}

fn number<T: std::str::FromStr>(value: &[u8]) -> Result<T> {
    let text = str::from_utf8(value).ok();
    let number = text.and_then(|text| text.trim().parse().ok());
    number.ok_or_else(|| {
        let shown = gerbil_task::said::cut(&String::from_utf8_lossy(value), 100);
        Error::new(format!("the value {shown:?} is no number"))
    })
}

#[cfg(test)]
mod tests {
    use super::of;

    fn joined(key: &str, values: &[&str]) -> Result<String, String> {
        let most = 1000;
        let joined = || -> gerbil_mapreduce::Result<String> {
            let (mut aggregator, key) = of(key.as_bytes(), most)?;
            values
                .iter()
                .try_for_each(|value| aggregator.add(value.as_bytes()))?;
            let result = aggregator.result()?;
            Ok(format!(
                "{} {}",
                String::from_utf8_lossy(key),
                String::from_utf8_lossy(&result)
            ))
        };
        joined().map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_joined_as_their_keys_say() {
        for (key, values, wanted) in [
            ("LongValueSum:a", vec!["1", "-3", "40"], "a 38"),
            ("longvaluesum:a:b", vec!["1"], "a:b 1"),
            ("LongValueMax:a", vec!["1", "-3", "40"], "a 40"),
            ("LongValueMin:a", vec!["1", "-3", "40"], "a -3"),
            ("DoubleValueSum:a", vec!["1", "0.25"], "a 1.25"),
            ("DoubleValueSum:a", vec!["10000000"], "a 1.0E7"),
            ("StringValueMax:a", vec!["b", "abc", "B"], "a b"),
            ("StringValueMin:a", vec!["b", "abc", "B"], "a B"),
            ("UniqValueCount:a", vec!["x", "y", "x", ""], "a 3"),
            (
                "ValueHistogram:a",
                vec!["x", "y", "x", "z", "x", "z"],
                "a 3\t1\t2\t3\t2.0\t0.816496580927726",
            ),
            (
                "ValueHistogram:a",
                vec!["x\t4", "y"],
                "a 2\t1\t4\t4\t2.5\t1.5",
            ),
        ] {
            assert_eq!(joined(key, &values).as_deref(), Ok(wanted), "{key}");
        }
    }

    #[test]
    fn what_cannot_be_joined_is_said() {
        for (key, value, said) in [
            ("words", "1", "\"words\" names no aggregator"),
            ("Sum:words", "1", "names no aggregator"),
            (
                "LongValueSum:words",
                "one",
                "the value \"one\" is no number",
            ),
        ] {
            let error = joined(key, &[value]).unwrap_err();
            assert!(error.contains(said), "{error}");
        }
        let long = "x".repeat(2000);
        let error = joined("UniqValueCount:a", &[&long]).unwrap_err();
        assert!(error.contains("take more than 1000 bytes"), "{error}");
    }
}
