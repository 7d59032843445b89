//! `gerbil probe`: what this node has, as its launchers would tell it.

use std::process::{Command, ExitCode, Stdio};

use ::job::Role;
use ::job::element::{Element, ElementKind};
use ::job::exit::Exit;
use session::nodes::words;
use terminal::{Text, print_at_once, say};

use crate::subcommands::ProbeArguments;

/// Longest value of a node attribute.
const VALUE_MAX: usize = 255;

/// The whole command.
pub(crate) fn main(given: &ProbeArguments) -> ExitCode {
    match elements(given) {
        Ok(elements) => {
            let text = match (given.json, given.node_attributes) {
                (true, _) => Text::Json(serde_json::to_string(&elements).unwrap_or_default()),
                (false, true) => Text::Lines(attributes(&elements)),
                (false, false) => Text::Lines(lines(&elements)),
            };
            match print_at_once(text) {
                Ok(()) => ExitCode::from(Exit::Success.code()),
                Err(error) => {
                    say(&error);
                    ExitCode::from(error.exit().code())
                }
            }
        }
        Err(why) => {
            say(format!("cannot look at this node: {why}"));
            ExitCode::from(Exit::Unavailable.code())
        }
    }
}

/// By this file in its role of a probe: libraries of devices are loaded in its children.
fn elements(given: &ProbeArguments) -> Result<Vec<Element>, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let probed = Command::new(own)
        .arg(Role::Probe.argument())
        .arg(&given.root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| error.to_string())?;
    serde_json::from_slice(&probed.stdout)
        .map_err(|_unclear| format!("its process says nothing ({})", probed.status))
}

fn lines(elements: &[Element]) -> Vec<String> {
    if elements.is_empty() {
        return vec!["nothing was found beside cores and memory".to_owned()];
    }
    elements.iter().map(words).collect()
}

/// `NODE_ATTRIBUTE:name,STRING,value`, a line each; values are of letters, digits, `-`, `_` and `.`.
fn attributes(elements: &[Element]) -> Vec<String> {
    let mut lines = Vec::new();
    for kind in [ElementKind::Gpu, ElementKind::Fpga] {
        let usable = elements.iter().filter(|element| element.kind == kind);
        let usable: Vec<&Element> = usable.filter(|element| element.usable() > 0).collect();
        let count: u32 = usable.iter().map(|element| element.usable()).sum();
        lines.push(attribute(kind.name(), &count.to_string()));
        if let Some(first) = usable.first() {
            for (name, value) in [("maker", &first.maker), ("model", &first.model)] {
                if !value.is_empty() {
                    lines.push(attribute(&format!("{kind}-{name}"), value));
                }
            }
        }
        let memory = usable.iter().map(|element| element.memory_mib).min();
        if let Some(memory) = memory.filter(|memory| *memory > 0) {
            lines.push(attribute(
                &format!("{kind}-memory-mib"),
                &memory.to_string(),
            ));
        }
    }
    let cores = elements
        .iter()
        .filter(|element| element.kind == ElementKind::CoreClass);
    for class in cores {
        lines.push(attribute(
            &format!("cores-{}", class.model),
            &class.count.to_string(),
        ));
    }
    lines
}

fn attribute(name: &str, value: &str) -> String {
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c,
        '-' | '_' | '.' => c,
        _ => '_',
    };
    let value: String = value.chars().map(plain).take(VALUE_MAX).collect();
    let value = value.trim_start_matches(['-', '_', '.']);
    format!("NODE_ATTRIBUTE:{name},STRING,{value}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_as_the_node_manager_takes_them() {
        let gpu = Element {
            maker: "nvidia".into(),
            model: "(NVIDIA) H100/80GB".into(),
            memory_mib: 81_559,
            count: 2,
            ..Element::none_of(ElementKind::Gpu)
        };
        let broken = Element {
            broken: Some("signal 11 in cuInit".into()),
            ..gpu.clone()
        };
        let cores = Element {
            model: "plain".into(),
            count: 8,
            ..Element::none_of(ElementKind::CoreClass)
        };
        let wanted = [
            "NODE_ATTRIBUTE:gpu,STRING,2",
            "NODE_ATTRIBUTE:gpu-maker,STRING,nvidia",
            "NODE_ATTRIBUTE:gpu-model,STRING,NVIDIA__H100_80GB",
            "NODE_ATTRIBUTE:gpu-memory-mib,STRING,81559",
            "NODE_ATTRIBUTE:fpga,STRING,0",
            "NODE_ATTRIBUTE:cores-plain,STRING,8",
        ];
        assert_eq!(attributes(&[gpu, broken, cores]), wanted);
    }
}
