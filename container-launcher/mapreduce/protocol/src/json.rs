//! Messages as JSON, without derives: what a user's program is built with is built by every user.
//!
//! [`record!`] declares a struct whose members are those of a JSON object, [`tagged!`] an enum of which the member
//! `type` tells the variant. `= default` follows what may be missing. Both can be read and written by serde, too,
//! as any JSON value can.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// What is wrong with a value, in a sentence.
pub(crate) type Wrong = String;

/// What has its form in JSON.
pub(crate) trait Json: Sized {
    fn to_json(&self) -> Value;
    fn of_json(value: Value) -> Result<Self, Wrong>;
}

fn unlike<T>(wanted: &str, value: &Value) -> Result<T, Wrong> {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "a truth",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    Err(format!("{kind} where {wanted} is wanted"))
}

/// The members of an object.
pub(crate) fn members(value: Value) -> Result<Map<String, Value>, Wrong> {
    match value {
        Value::Object(members) => Ok(members),
        other => unlike("an object", &other),
    }
}

/// One of them; `absent` where it is not there.
pub(crate) fn member<T: Json>(
    members: &mut Map<String, Value>,
    name: &str,
    absent: Option<T>,
) -> Result<T, Wrong> {
    match members.remove(name) {
        Some(value) => T::of_json(value).map_err(|wrong| format!("{name}: {wrong}")),
        None => absent.ok_or_else(|| format!("{name} is missing")),
    }
}

macro_rules! numbers {
    ($($number:ty: $read:ident),*) => {$(
        impl Json for $number {
            fn to_json(&self) -> Value {
                Value::from(*self)
            }

            fn of_json(value: Value) -> Result<Self, Wrong> {
                let number = value.$read().and_then(|number| Self::try_from(number).ok());
                match number {
                    Some(number) => Ok(number),
                    None if value.is_number() => Err(format!("{value} is no {}", stringify!($number))),
                    None => unlike("a number", &value),
                }
            }
        }
    )*};
}

numbers!(u32: as_u64, u64: as_u64, i64: as_i64);

impl Json for bool {
    fn to_json(&self) -> Value {
        Value::Bool(*self)
    }

    fn of_json(value: Value) -> Result<Self, Wrong> {
        value
            .as_bool()
            .map_or_else(|| unlike("a truth", &value), Ok)
    }
}

impl Json for String {
    fn to_json(&self) -> Value {
        Value::String(self.clone())
    }

    fn of_json(value: Value) -> Result<Self, Wrong> {
        match value {
            Value::String(text) => Ok(text),
            other => unlike("a text", &other),
        }
    }
}

impl Json for Value {
    fn to_json(&self) -> Value {
        self.clone()
    }

    fn of_json(value: Value) -> Result<Self, Wrong> {
        Ok(value)
    }
}

impl<T: Json> Json for Option<T> {
    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }

    fn of_json(value: Value) -> Result<Self, Wrong> {
        match value {
            Value::Null => Ok(None),
            other => T::of_json(other).map(Some),
        }
    }
}

impl<T: Json> Json for Vec<T> {
    fn to_json(&self) -> Value {
        Value::Array(self.iter().map(T::to_json).collect())
    }

    fn of_json(value: Value) -> Result<Self, Wrong> {
        match value {
            Value::Array(items) => items.into_iter().map(T::of_json).collect(),
            other => unlike("a list", &other),
        }
    }
}

impl<T: Json> Json for BTreeMap<String, T> {
    fn to_json(&self) -> Value {
        let members = self.iter();
        Value::Object(
            members
                .map(|(name, value)| (name.clone(), value.to_json()))
                .collect(),
        )
    }

    fn of_json(value: Value) -> Result<Self, Wrong> {
        let mut map = Self::new();
        for (name, value) in members(value)? {
            let value = T::of_json(value).map_err(|wrong| format!("{name}: {wrong}"))?;
            map.insert(name, value);
        }
        Ok(map)
    }
}

impl<T: Json> Json for [T; 2] {
    fn to_json(&self) -> Value {
        Value::Array(self.iter().map(T::to_json).collect())
    }

    fn of_json(value: Value) -> Result<Self, Wrong> {
        let items: Vec<T> = Vec::of_json(value)?;
        let count = items.len();
        Self::try_from(items)
            .ok()
            .ok_or_else(|| format!("{count} where two are wanted"))
    }
}

impl<T: Json> Json for (T, T) {
    fn to_json(&self) -> Value {
        Value::Array(vec![self.0.to_json(), self.1.to_json()])
    }

    fn of_json(value: Value) -> Result<Self, Wrong> {
        let [one, other] = <[T; 2]>::of_json(value)?;
        Ok((one, other))
    }
}

/// What serde reads and writes is the JSON value.
macro_rules! by_serde {
    ($name:ident) => {
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $crate::json::Json::to_json(self).serialize(serializer)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = serde_json::Value::deserialize(deserializer)?;
                $crate::json::Json::of_json(value).map_err(serde::de::Error::custom)
            }
        }
    };
}

/// Nothing, or the default of what may be missing.
macro_rules! absent {
    () => {
        None
    };
    (default) => {
        Some(Default::default())
    };
}

/// An identifier for what has that type.
macro_rules! of_type {
    ($of:ty, $name:ident) => {
        $name
    };
}

macro_rules! record {
    ($(#[$about:meta])* pub struct $name:ident {
        $($(#[$doc:meta])* pub $member:ident: $of:ty $(= $absent:ident)?,)*
    }) => {
        $(#[$about])*
        pub struct $name {
            $($(#[$doc])* pub $member: $of,)*
        }

        impl $crate::json::Json for $name {
            fn to_json(&self) -> serde_json::Value {
                let mut members = serde_json::Map::new();
                $(members.insert(stringify!($member).to_owned(), self.$member.to_json());)*
                serde_json::Value::Object(members)
            }

            fn of_json(value: serde_json::Value) -> Result<Self, $crate::json::Wrong> {
                let mut members = $crate::json::members(value)?;
                Ok(Self {
                    $($member: $crate::json::member(
                        &mut members,
                        stringify!($member),
                        $crate::json::absent!($($absent)?),
                    )?,)*
                })
            }
        }

        $crate::json::by_serde!($name);
    };
}

macro_rules! tagged {
    ($(#[$about:meta])* pub enum $name:ident {
        $($(#[$doc:meta])* $tag:literal $variant:ident
            $({ $($(#[$inner:meta])* $member:ident: $of:ty $(= $absent:ident)?,)* })?
            $(($record:ty))?,)*
    }) => {
        $(#[$about])*
        pub enum $name {
            $($(#[$doc])* $variant $({ $($(#[$inner])* $member: $of,)* })? $(($record))?,)*
        }

        impl $crate::json::Json for $name {
            fn to_json(&self) -> serde_json::Value {
                let (tag, mut members) = match self {
                    $(Self::$variant $({ $($member,)* })? $(($crate::json::of_type!($record, record)))? => {
                        #[allow(unused_mut, reason = "of those without members")]
                        let mut members = serde_json::Map::new();
                        $($(members.insert(stringify!($member).to_owned(), $member.to_json());)*)?
                        $(if let serde_json::Value::Object(own) =
                            <$record as $crate::json::Json>::to_json(record)
                        {
                            members = own;
                        })?
                        ($tag, members)
                    })*
                };
                members.insert("type".to_owned(), serde_json::Value::from(tag));
                serde_json::Value::Object(members)
            }

            fn of_json(value: serde_json::Value) -> Result<Self, $crate::json::Wrong> {
                let mut members = $crate::json::members(value)?;
                let tag: String = $crate::json::member(&mut members, "type", None)?;
                match tag.as_str() {
                    $($tag => Ok(Self::$variant
                        $({ $($member: $crate::json::member(
                            &mut members,
                            stringify!($member),
                            $crate::json::absent!($($absent)?),
                        )?,)* })?
                        $((<$record as $crate::json::Json>::of_json(serde_json::Value::Object(members))?))?
                    ),)*
                    other => Err(format!("{other:?} is no message here")),
                }
            }
        }

        $crate::json::by_serde!($name);
    };
}

pub(crate) use {absent, by_serde, of_type, record, tagged};

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use crate::{FromDriver, FromTask, MapOrder, Partition, Piece, PlannedJob, ToDriver, ToTask};

    #[test]
    fn a_message_is_its_members_and_its_type() {
        let order = ToTask::Map(MapOrder {
            task: 1,
            attempt: 2,
            partitions: 3,
            pieces: vec![Piece {
                name: "a".to_owned(),
                offset: 4,
                length: 5,
                size: u64::MAX,
            }],
            skip: vec![7],
        });
        let written = json!({
            "type": "map", "task": 1, "attempt": 2, "partitions": 3,
            "pieces": [{"name": "a", "offset": 4, "length": 5, "size": u64::MAX}], "skip": [7],
        });
        assert_eq!(to_value(&order).unwrap(), written);
        assert_eq!(from_value::<ToTask>(written).unwrap(), order);
        assert_eq!(to_value(ToTask::Leave).unwrap(), json!({"type": "leave"}));
        let done = FromTask::MapDone {
            counters: [("g".to_owned(), [("c".to_owned(), 1)].into())].into(),
            partitions: vec![Partition::default()],
        };
        assert_eq!(
            from_value::<FromTask>(to_value(&done).unwrap()).unwrap(),
            done
        );
    }

    #[test]
    fn members_that_are_not_known_are_passed_over_and_some_may_be_missing() {
        let opened = from_value(json!({"type": "opened", "of": "later"})).unwrap();
        assert_eq!(ToTask::Opened, opened);
        let asked = from_value(json!({"type": "open_input", "piece": 3, "why": null})).unwrap();
        assert_eq!(FromTask::OpenInput { piece: 3, from: 0 }, asked);
        let ended = from_value(json!({"type": "ended", "counters": {}})).unwrap();
        assert!(matches!(ended, ToDriver::Ended { failure: None, .. }));
        let job = json!({
            "name": "n", "mapper": "m", "reducer": null, "partitioner": "p", "input": "i", "output": "o",
            "between": ["k", "v"], "settings": {}, "needs": [["map", "gpu"]],
        });
        let job: PlannedJob = from_value(job).unwrap();
        assert_eq!(job.needs, [("map".to_owned(), "gpu".to_owned())]);
        assert!(job.combiner.is_none() && !job.reads_no_files);
    }

    #[test]
    fn what_is_no_message_is_said_in_a_sentence() {
        for (written, sentence) in [
            (json!([]), "a list where an object is wanted"),
            (json!({}), "type is missing"),
            (json!({"type": "jump"}), "\"jump\" is no message here"),
            (json!({"type": "wait"}), "submission is missing"),
            (
                json!({"type": "wait", "submission": "1"}),
                "submission: a text where a number is wanted",
            ),
            (
                json!({"type": "wait", "submission": 4_294_967_296_u64}),
                "submission: 4294967296 is no u32",
            ),
        ] {
            let error = from_value::<FromDriver>(written).unwrap_err();
            assert_eq!(error.to_string(), sentence);
        }
    }
}
