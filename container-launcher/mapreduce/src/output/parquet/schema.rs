//! Which columns a type is written to.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::Result;
use parquet::schema::types::{Type, TypePtr};

use crate::typed::shape::Shape;

/// The schema of rows that are made of `fields`.
pub(super) fn message(name: &str, fields: &[(&'static str, Shape)]) -> Result<TypePtr> {
    let columns = fields
        .iter()
        .map(|(name, shape)| column(name, shape, Repetition::REQUIRED));
    let message = Type::group_type_builder(name).with_fields(columns.collect::<Result<_>>()?);
    message.build().map(Arc::new)
}

fn column(name: &str, shape: &Shape, repetition: Repetition) -> Result<TypePtr> {
    let leaf = |physical, logical| {
        Type::primitive_type_builder(name, physical)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    };
    let group = |logical, fields| {
        Type::group_type_builder(name)
            .with_repetition(repetition)
            .with_logical_type(logical)
            .with_fields(fields)
            .build()
            .map(Arc::new)
    };
    let repeated = |name, fields| {
        Type::group_type_builder(name)
            .with_repetition(Repetition::REPEATED)
            .with_fields(fields)
            .build()
            .map(Arc::new)
    };
    match shape {
        Shape::Bool => leaf(Physical::BOOLEAN, None),
        Shape::Integer(32, true) => leaf(Physical::INT32, None),
        Shape::Integer(64, true) => leaf(Physical::INT64, None),
        Shape::Integer(bits, is_signed) => {
            let physical = match bits {
                64 => Physical::INT64,
                _ => Physical::INT32,
            };
            let width = i8::try_from(*bits).unwrap_or(i8::MAX);
            leaf(physical, Some(LogicalType::integer(width, *is_signed)))
        }
        Shape::Float => leaf(Physical::FLOAT, None),
        Shape::Double => leaf(Physical::DOUBLE, None),
        Shape::Text | Shape::Word(..) => leaf(Physical::BYTE_ARRAY, Some(LogicalType::String)),
        // What an option or a list holds nobody has seen: it is never there.
        Shape::Bytes | Shape::Unknown => leaf(Physical::BYTE_ARRAY, None),
        Shape::Optional(inner) => column(name, inner, Repetition::OPTIONAL),
        Shape::List(element) => {
            let element = column("element", element, Repetition::REQUIRED)?;
            let list = repeated("list", vec![element])?;
            group(Some(LogicalType::List), vec![list])
        }
        Shape::Map(value) => {
            let key = column("key", &Shape::Text, Repetition::REQUIRED)?;
            let value = column("value", value, Repetition::REQUIRED)?;
            let pairs = repeated("key_value", vec![key, value])?;
            group(Some(LogicalType::Map), vec![pairs])
        }
        Shape::Struct(_, fields) => {
            let columns = fields
                .iter()
                .map(|(name, shape)| column(name, shape, Repetition::REQUIRED));
            group(None, columns.collect::<Result<_>>()?)
        }
    }
}
