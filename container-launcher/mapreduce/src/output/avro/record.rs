//! A record's bytes, as the schema of its type has them.

use super::schema::is_enum;
use crate::typed::shape::Shape;
use crate::typed::tree::Tree;

/// An integer: the sign last, seven bits a byte, the lowest first.
pub(super) fn long(value: i64, out: &mut Vec<u8>) {
    let mut rest = (value.cast_unsigned() << 1) ^ (value >> 63).cast_unsigned();
    while rest > 0x7F {
        out.push(rest.to_le_bytes()[0] | 0x80);
        rest >>= 7;
    }
    out.push(rest.to_le_bytes()[0]);
}

/// Bytes behind their length.
pub(super) fn counted(bytes: &[u8], out: &mut Vec<u8>) {
    count(bytes.len(), out);
    out.extend_from_slice(bytes);
}

fn count(length: usize, out: &mut Vec<u8>) {
    long(i64::try_from(length).unwrap_or(i64::MAX), out);
}

/// Appends a value; or says why it is none of the type.
pub(super) fn append(value: &Tree, shape: &Shape, out: &mut Vec<u8>) -> Result<(), String> {
    let unfit = |wanted: &str| Err(format!("{wanted} is wanted, found {}", value.words()));
    match (shape, value) {
        (Shape::Optional(_), Tree::Null) => long(0, out),
        (Shape::Optional(inner), _) => {
            long(1, out);
            append(value, inner, out)?;
        }
        (Shape::Unknown, Tree::Null) => {}
        (Shape::Bool, Tree::Bool(value)) => out.push(u8::from(*value)),
        (Shape::Integer(..), Tree::Signed(number)) => long(*number, out),
        (Shape::Integer(..), Tree::Unsigned(number)) => match i64::try_from(*number) {
            Ok(number) => long(number, out),
            Err(_) => return unfit("long, which has signs,"),
        },
        (Shape::Float, Tree::Float(number)) => out.extend_from_slice(&number.to_le_bytes()),
        (Shape::Double, Tree::Double(number)) => out.extend_from_slice(&number.to_le_bytes()),
        (Shape::Text, Tree::Text(text)) => counted(text.as_bytes(), out),
        (Shape::Bytes, Tree::Bytes(bytes)) => counted(bytes, out),
        (Shape::Bytes, Tree::List(bytes)) => {
            count(bytes.len(), out);
            for byte in bytes {
                match byte {
                    Tree::Unsigned(byte) => out.extend(u8::try_from(*byte).ok()),
                    _ => return unfit("bytes"),
                }
            }
        }
        (Shape::Word(_, words), Tree::Text(text)) => {
            match words.iter().position(|word| word == text) {
                Some(index) if is_enum(words) => count(index, out),
                Some(_) => counted(text.as_bytes(), out),
                None => return unfit("enum"),
            }
        }
        (Shape::List(inner), Tree::List(values)) => {
            if !values.is_empty() {
                count(values.len(), out);
                values
                    .iter()
                    .try_for_each(|value| append(value, inner, out))?;
            }
            long(0, out);
        }
        (Shape::Map(inner), Tree::Map(entries)) => {
            if !entries.is_empty() {
                count(entries.len(), out);
                for (key, value) in entries {
                    append(key, &Shape::Text, out)?;
                    append(value, inner, out)?;
                }
            }
            long(0, out);
        }
        (Shape::Struct(_, shapes), Tree::Struct(fields)) => {
            for (name, shape) in shapes {
                let field = fields.iter().find(|(field, _)| field == name);
                let field = field.map_or(&Tree::Null, |(_, field)| field);
                append(field, shape, out).map_err(|why| format!("{name}: {why}"))?;
            }
        }
        (shape, _) => return unfit(word(shape)),
    }
    Ok(())
}

const fn word(shape: &Shape) -> &'static str {
    match shape {
        Shape::Unknown | Shape::Optional(_) => "null",
        Shape::Bool => "boolean",
        Shape::Integer(..) => "long",
        Shape::Float => "float",
        Shape::Double => "double",
        Shape::Text => "string",
        Shape::Bytes => "bytes",
        Shape::Word(..) => "enum",
        Shape::List(_) => "array",
        Shape::Map(_) => "map",
        Shape::Struct(..) => "record",
    }
}
