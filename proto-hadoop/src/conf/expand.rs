//! `${…}` in values, by the rules of `org.apache.hadoop.conf.Configuration.substituteVars`.

use std::collections::BTreeMap;

/// Substitutions in one value, after which it is given up; Hadoop's own limit.
pub(crate) const LIMIT: usize = 20;

/// The environment variables that some value names, as they were when the files were read.
///
/// A name that is itself put together by substitution is not seen.
pub(crate) fn named_in<'a>(
    values: impl Iterator<Item = &'a str>,
    env: &dyn Fn(&str) -> Option<String>,
) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for value in values {
        for rest in value.split("${env.").skip(1) {
            let expression = rest.split_once('}').map_or(rest, |(inside, _)| inside);
            let (name, _) = split_default(expression);
            if let Some(set) = env(name) {
                found.insert(name.to_owned(), set);
            }
        }
    }
    found
}

/// `NAME`, `NAME-default` (when unset) or `NAME:-default` (when unset or empty).
fn split_default(expression: &str) -> (&str, Option<(bool, &str)>) {
    match expression.split_once('-') {
        None => (expression, None),
        Some((name, default)) => match name.strip_suffix(':') {
            Some(name) => (name, Some((true, default))),
            None => (name, Some((false, default))),
        },
    }
}

/// Where a name may get its value from.
pub(crate) struct Scope<'a> {
    /// Variables of the environment.
    pub(crate) env: &'a BTreeMap<String, String>,
    /// Java's system properties, as far as Hadoop's own files use them.
    pub(crate) system: &'a BTreeMap<&'static str, String>,
    /// Raw values of other keys.
    pub(crate) raw: &'a dyn Fn(&str) -> Option<&'a str>,
}

impl Scope<'_> {
    fn value(&self, name: &str) -> Option<String> {
        if let Some(expression) = name.strip_prefix("env.")
            && !expression.is_empty()
        {
            let (name, default) = split_default(expression);
            let set = self.env.get(name).cloned();
            return match default {
                None => set,
                Some((true, default)) => Some(
                    set.filter(|set| !set.is_empty())
                        .unwrap_or_else(|| default.to_owned()),
                ),
                Some((false, default)) => Some(set.unwrap_or_else(|| default.to_owned())),
            };
        }
        let system = self.system.get(name).cloned();
        system.or_else(|| (self.raw)(name).map(str::to_owned))
    }

    /// The value with its variables replaced, innermost first. A name without a value ends the
    /// work and stays as it is written, as in Hadoop. `None`: no end in sight.
    pub(crate) fn expand(&self, value: &str) -> Option<String> {
        let mut text = value.to_owned();
        for _ in 0..LIMIT {
            let Some((start, end)) = variable(&text) else {
                return Some(text);
            };
            let name = text.get(start + 2..end).unwrap_or_default();
            let Some(replacement) = self.value(name) else {
                return Some(text);
            };
            // A name that stands for itself would go on for ever.
            if replacement.contains(text.get(start..=end).unwrap_or_default()) {
                return Some(text);
            }
            text.replace_range(start..=end, &replacement);
        }
        variable(&text).is_none().then_some(text)
    }
}

/// The first `${name}` whose name has neither `$` nor a blank, as positions of `$` and `}`.
fn variable(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(found) = text.get(from..)?.find("${") {
        let start = from + found;
        let inside = text.get(start + 2..)?;
        let length = inside.find(['}', '$', ' '])?;
        if length > 0 && inside.as_bytes().get(length) == Some(&b'}') {
            return Some((start, start + 2 + length));
        }
        from = start + 2;
    }
    None
}
