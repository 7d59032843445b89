//! The schema of a type, as Avro's JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::typed::shape::Shape;

/// Structs and enums by the names that they have in the schema: a second one is named, and not said again.
#[derive(Default)]
pub(super) struct Named(BTreeMap<String, Shape>);

impl Named {
    /// What a type is in the schema.
    pub(super) fn schema(&mut self, shape: &Shape) -> Value {
        match shape {
            Shape::Bool => json!("boolean"),
            Shape::Integer(64, _) | Shape::Integer(32, false) => json!("long"),
            Shape::Integer(..) => json!("int"),
            Shape::Float => json!("float"),
            Shape::Double => json!("double"),
            Shape::Text => json!("string"),
            Shape::Bytes => json!("bytes"),
            // Nobody has seen what is never there.
            Shape::Unknown => json!("null"),
            Shape::Optional(inner) => json!(["null", self.schema(inner)]),
            Shape::List(inner) => json!({"type": "array", "items": self.schema(inner)}),
            Shape::Map(inner) => json!({"type": "map", "values": self.schema(inner)}),
            Shape::Word(_, words) if !is_enum(words) => json!("string"),
            Shape::Word(name, words) => match self.name(name, shape) {
                (name, true) => json!({"type": "enum", "name": name, "symbols": words}),
                (name, false) => json!(name),
            },
            Shape::Struct(name, fields) => match self.name(name, shape) {
                (name, false) => json!(name),
                (name, true) => {
                    let fields = fields.iter().map(|(name, shape)| {
                        let mut field = json!({"name": name, "type": self.schema(shape)});
                        if let (Shape::Optional(_), Some(field)) = (shape, field.as_object_mut()) {
                            field.insert("default".to_owned(), Value::Null);
                        }
                        field
                    });
                    let fields: Vec<Value> = fields.collect();
                    json!({"type": "record", "name": name, "fields": fields})
                }
            },
        }
    }

    /// The name of a type, and whether it is new. Two types of one name get two.
    fn name(&mut self, name: &str, shape: &Shape) -> (String, bool) {
        let mut own = name.to_owned();
        for number in 2.. {
            match self.0.get(&own) {
                None => break,
                Some(there) if there == shape => return (own, false),
                Some(_) => own = format!("{name}_{number}"),
            }
        }
        self.0.insert(own.clone(), shape.clone());
        (own, true)
    }
}

/// Whether variants have names that symbols may have; what has not is text.
pub(super) fn is_enum(words: &[&str]) -> bool {
    let is_symbol = |word: &&str| {
        let mut letters = word.bytes();
        let first = letters.next();
        first.is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
            && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == b'_')
    };
    words.iter().all(is_symbol)
}
