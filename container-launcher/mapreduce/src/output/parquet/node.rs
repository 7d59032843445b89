//! How a row falls into columns: values, and the levels that say which of them are missing, and where lists begin.
//!
//! Definition levels count the optional and repeated groups that are there; repetition levels say at which list a value goes on
//! (Melnik et al., "Dremel", 2010, section 4.1).

use parquet::basic::{ConvertedType, Repetition};
use parquet::schema::types::Type;

use super::column::Column;
use crate::typed::tree::Tree;

/// A column, or a group of some.
pub(super) struct Node {
    name: String,
    kind: Kind,
    is_optional: bool,
}

enum Kind {
    /// The column of this number.
    Leaf(usize),
    Group(Vec<Node>),
    List(Box<Node>),
    Map(Box<(Node, Node)>),
}

/// Why a value falls into no column, and into which one it was to fall.
#[derive(Debug)]
pub(super) struct Unfit {
    path: Vec<String>,
    why: String,
}

impl Unfit {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self {
            path: Vec::new(),
            why: why.into(),
        }
    }
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
        match path.is_empty() {
            true => f.write_str(&self.why),
            false => write!(f, "column {}: {}", path.join("."), self.why),
        }
    }
}

/// Levels of what is about to be put.
#[derive(Clone, Copy)]
pub(super) struct Levels {
    definition: i16,
    repetition: i16,
    /// The repetition level of the list around it.
    list: i16,
}

impl Levels {
    pub(super) const ROW: Self = Self {
        definition: 0,
        repetition: 0,
        list: 0,
    };

    const fn defined(self) -> Self {
        Self {
            definition: self.definition + 1,
            ..self
        }
    }
}

impl Node {
    /// The columns of a schema; `columns` counts them.
    pub(super) fn of(of: &Type, columns: &mut usize) -> Result<Self, Unfit> {
        let node = Self::within(of, columns);
        node.map_err(|mut unfit| {
            if of.get_basic_info().has_repetition() {
                unfit.path.push(of.name().to_owned());
            }
            unfit
        })
    }

    fn within(of: &Type, columns: &mut usize) -> Result<Self, Unfit> {
        let info = of.get_basic_info();
        let repetition = info.has_repetition().then(|| info.repetition());
        if repetition == Some(Repetition::REPEATED) {
            return Err(Unfit::new("what is repeated lies in a LIST or MAP"));
        }
        let repeated = || match of.get_fields() {
            [one] if one.is_group() && one.is_optional() => Ok(one.get_fields()),
            _ => Err(Unfit::new("it holds one repeated group, and nothing else")),
        };
        let kind = if of.is_primitive() {
            *columns += 1;
            Kind::Leaf(*columns - 1)
        } else {
            match info.converted_type() {
                ConvertedType::LIST => match repeated()? {
                    [element] => Kind::List(Box::new(Self::of(element, columns)?)),
                    _ => return Err(Unfit::new("a LIST's group holds one element")),
                },
                ConvertedType::MAP => match repeated()? {
                    [key, value] => {
                        let key = Self::of(key, columns)?;
                        Kind::Map(Box::new((key, Self::of(value, columns)?)))
                    }
                    _ => return Err(Unfit::new("a MAP's group holds a key and a value")),
                },
                _ => {
                    let fields = of.get_fields().iter();
                    let fields = fields.map(|field| Self::of(field, columns));
                    Kind::Group(fields.collect::<Result<_, _>>()?)
                }
            }
        };
        Ok(Self {
            name: of.name().to_owned(),
            kind,
            is_optional: repetition == Some(Repetition::OPTIONAL),
        })
    }

    /// Puts a value, or nothing, into the columns.
    pub(super) fn put(
        &self,
        value: Option<&Tree>,
        at: Levels,
        columns: &mut [Column],
    ) -> Result<(), Unfit> {
        let value = value.filter(|value| !matches!(value, Tree::Null));
        match (value, self.is_optional) {
            (None, true) => {
                self.nothing(at, columns);
                Ok(())
            }
            (None, false) => Err(Unfit::new("nothing is there, and it is not optional")),
            (Some(value), is_optional) => {
                let at = if is_optional { at.defined() } else { at };
                self.put_value(value, at, columns)
            }
        }
    }

    fn put_value(&self, value: &Tree, at: Levels, columns: &mut [Column]) -> Result<(), Unfit> {
        let unfit = |wanted| Unfit::new(format!("{wanted} is wanted, found {}", value.words()));
        let within = |node: &Self, put: Result<(), Unfit>| {
            put.map_err(|mut unfit| {
                unfit.path.push(node.name.clone());
                unfit
            })
        };
        match (&self.kind, value) {
            (Kind::Leaf(index), _) => match columns.get_mut(*index) {
                Some(column) => column.put(value, at.definition, at.repetition),
                None => Err(Unfit::new("the schema has no such column")),
            },
            (Kind::Group(nodes), Tree::Struct(fields)) => {
                if let Some((name, _)) = fields
                    .iter()
                    .find(|(name, _)| !nodes.iter().any(|node| node.name == *name))
                {
                    return Err(Unfit::new(format!(
                        "there is no column for the field {name}"
                    )));
                }
                nodes.iter().try_for_each(|node| {
                    let field = fields.iter().find(|(name, _)| node.name == *name);
                    within(node, node.put(field.map(|(_, field)| field), at, columns))
                })
            }
            (Kind::Group(nodes), Tree::Map(entries)) => nodes.iter().try_for_each(|node| {
                let named = |key: &Tree| matches!(key, Tree::Text(name) if *name == node.name);
                let entry = entries.iter().find(|(key, _)| named(key));
                within(node, node.put(entry.map(|(_, entry)| entry), at, columns))
            }),
            (Kind::Group(_), _) => Err(unfit("a struct")),
            (Kind::List(_), Tree::List(elements)) if elements.is_empty() => {
                self.nothing(at, columns);
                Ok(())
            }
            (Kind::List(node), Tree::List(elements)) => {
                elements
                    .iter()
                    .enumerate()
                    .try_for_each(|(index, element)| {
                        within(node, node.put(Some(element), at.element(index), columns))
                    })
            }
            (Kind::List(_), _) => Err(unfit("a list")),
            (Kind::Map(_), Tree::Map(entries)) if entries.is_empty() => {
                self.nothing(at, columns);
                Ok(())
            }
            (Kind::Map(pair), Tree::Map(entries)) => {
                let (key, value) = pair.as_ref();
                entries.iter().enumerate().try_for_each(|(index, entry)| {
                    let at = at.element(index);
                    within(key, key.put(Some(&entry.0), at, columns))?;
                    within(value, value.put(Some(&entry.1), at, columns))
                })
            }
            (Kind::Map(_), _) => Err(unfit("a map")),
        }
    }

    /// Says in all columns below that nothing is there.
    fn nothing(&self, at: Levels, columns: &mut [Column]) {
        match &self.kind {
            Kind::Leaf(index) => {
                if let Some(column) = columns.get_mut(*index) {
                    column.level(at.definition, at.repetition);
                }
            }
            Kind::Group(nodes) => nodes.iter().for_each(|node| node.nothing(at, columns)),
            Kind::List(node) => node.nothing(at, columns),
            Kind::Map(pair) => {
                pair.0.nothing(at, columns);
                pair.1.nothing(at, columns);
            }
        }
    }
}

impl Levels {
    /// Of a list's element of this number.
    const fn element(self, index: usize) -> Self {
        let list = self.list + 1;
        Self {
            definition: self.definition + 1,
            repetition: if index == 0 { self.repetition } else { list },
            list,
        }
    }
}
