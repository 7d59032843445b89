//! In what form records go through pipes: what `-io` and its finer settings make together.

use super::{Asked, Given};
use crate::form::{ALL, Form, MAP_OUTPUT, REDUCE_OUTPUT};
use crate::plan::Stage;
use crate::settings::PARTITION_BY_FIELDS;

/// The class by which Hadoop would find forms of one's own.
pub(super) const RESOLVER: &str = "stream.io.identifier.resolver.class";

/// What was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Forms {
    /// By `-io`, which overrules the others.
    io: Option<Form>,
    each: [Option<Form>; ALL.len()],
}

impl Forms {
    /// `-io`.
    pub(super) fn all(&mut self, name: &str) -> Result<(), String> {
        let form = Form::of_name(name).map_err(|why| format!("-io {name}: {why}"))?;
        self.io = Some(form);
        Ok(())
    }

    /// A setting, if it is one of these.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        if name == RESOLVER {
            return Err(format!(
                "-D {name}={value}: gerbil runs no Java, and knows text, rawbytes and typedbytes: leave it out"
            ));
        }
        let Some(at) = ALL.iter().position(|known| *known == name) else {
            return Ok(false);
        };
        let form = Form::of_name(value).map_err(|why| format!("-D {name}={value}: {why}"))?;
        if let Some(each) = self.each.get_mut(at) {
            *each = Some(form);
        }
        Ok(true)
    }

    fn given(&self) -> impl Iterator<Item = (&'static str, Form)> {
        let each = ALL.into_iter().zip(self.each);
        each.filter_map(|(name, form)| Some((name, self.io.or(form)?)))
    }

    fn of(&self, name: &str) -> Form {
        let mut given = self.given();
        let found = given.find(|(known, _)| *known == name);
        found.map_or(Form::Text, |(_, form)| form)
    }
}

impl Given {
    /// Tells tasks of the forms, or why no job is made of them.
    pub(super) fn forms(&self, asked: &mut Asked) -> Result<(), String> {
        let forms = &self.forms;
        let [output, reduced] = [MAP_OUTPUT, REDUCE_OUTPUT].map(|name| forms.of(name));
        let wrong = |name: &str, form: Form, why: &str| {
            let given = match forms.io {
                Some(_) => "-io".to_owned(),
                None => format!("-D {name}"),
            };
            let sign = if forms.io.is_some() { ' ' } else { '=' };
            Err(format!("{given}{sign}{}: {why}", form.name()))
        };
        if output != Form::Text {
            let form = output;
            if asked.plan.map == Stage::Identity {
                return wrong(
                    MAP_OUTPUT,
                    form,
                    "a mapper that hands records on as they are has text: give a command",
                );
            }
            if asked.plan.reduce == Stage::Aggregate {
                return wrong(
                    MAP_OUTPUT,
                    form,
                    "aggregate reads text: leave it out, or have -D stream.map.output=text",
                );
            }
            let by_fields = |(name, _): &(String, String)| name == PARTITION_BY_FIELDS;
            if self.compares_fields || self.settings.iter().any(by_fields) {
                return wrong(
                    MAP_OUTPUT,
                    form,
                    "KeyFieldBasedComparator and KeyFieldBasedPartitioner look at fields of text, and the maps' keys are none",
                );
            }
        }
        if matches!(asked.plan.combine, Some(Stage::Command(_))) && output != reduced {
            let why = format!(
                "a combiner prints what {REDUCE_OUTPUT} says, {}, which is to be what maps print: give both the same, or leave \
                 out -combiner",
                reduced.name()
            );
            return wrong(MAP_OUTPUT, output, &why);
        }
        for (name, form) in forms.given() {
            let setting = format!("{name}={}", form.name());
            asked.options.extend(["-D".to_owned(), setting]);
        }
        Ok(())
    }
}
