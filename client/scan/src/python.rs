//! What a Python program imports, without running it.

use crate::tables::{Element, MODULES};

/// Words behind PyTorch's import by which it uses a GPU.
const TORCH: [&str; 4] = [".cuda(", "\"cuda\"", "'cuda'", "\"cuda:"];

/// What the imports of `text` tell, a few words each; and the modules that it imports, for whoever ships some.
#[must_use]
pub fn evidence(text: &str) -> (Vec<(Element, String)>, Vec<String>) {
    let code = Code::of(text);
    let mut found = Vec::new();
    let mut modules = Vec::new();
    for (line, statement) in &code.statements {
        for module in imports(statement) {
            if let Some((known, element)) = of_module(&module) {
                let words = (element, format!("line {line} imports {known}"));
                if !found.contains(&words) {
                    found.push(words);
                }
            }
            modules.push(module);
        }
    }
    let is_torch = |module: &String| module == "torch" || module.starts_with("torch.");
    let word = TORCH.iter().find(|word| code.kept.contains(**word));
    if let (true, Some(word)) = (modules.iter().any(is_torch), word) {
        let words = format!("imports torch, and has {word}");
        found.push((Element::Gpu, words));
    }
    (found, modules)
}

fn of_module(module: &str) -> Option<(&'static str, Element)> {
    let is_it = |known: &str| {
        let rest = module.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    let mut known = MODULES.iter();
    known.find(|(known, _)| is_it(known)).copied()
}

/// The modules that a statement imports, by their whole names: of `from a import b` both `a` and `a.b`.
fn imports(statement: &str) -> Vec<String> {
    let clean = |name: &str| {
        let name = name.trim().trim_start_matches('(').trim_end_matches(')');
        let name = name.split_whitespace().next().unwrap_or_default();
        name.to_owned()
    };
    let words = statement.trim_start();
    if let Some(rest) = words.strip_prefix("import ") {
        return rest.split(',').map(clean).collect();
    }
    let Some((module, names)) = words
        .strip_prefix("from ")
        .and_then(|rest| rest.split_once(" import"))
    else {
        return Vec::new();
    };
    let module = clean(module);
    // Of the program's own folder.
    if module.is_empty() || module.starts_with('.') {
        return Vec::new();
    }
    let names = names
        .split(',')
        .map(|name| format!("{module}.{}", clean(name)));
    let mut all: Vec<String> = names.collect();
    all.push(module);
    all
}

/// A program without its comments and texts.
struct Code {
    /// Statements, each with the number of its line.
    statements: Vec<(usize, String)>,
    /// All but comments, with texts that fit a line.
    kept: String,
}

impl Code {
    fn of(text: &str) -> Self {
        let (mut statements, mut kept) = (Vec::new(), String::new());
        let (mut statement, mut began, mut line, mut depth) = (String::new(), 1, 1, 0_u32);
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let mut end = c.len_utf8();
            match c {
                '#' => {
                    end = rest.find('\n').unwrap_or(rest.len());
                }
                '"' | '\'' => {
                    end = text_end(rest, c);
                    let literal = rest.get(..end).unwrap_or_default();
                    line += literal.matches('\n').count();
                    if !literal.contains('\n') {
                        kept.push_str(literal);
                    }
                    // Something stands there that is no name.
                    statement.push('"');
                }
                '\\' if rest.starts_with("\\\n") => {
                    end = 2;
                    line += 1;
                    statement.push(' ');
                }
                '\n' | ';' => {
                    kept.push(c);
                    line += usize::from(c == '\n');
                    if depth > 0 {
                        statement.push(' ');
                    } else {
                        statements.push((began, std::mem::take(&mut statement)));
                        began = line;
                    }
                }
                // What begins behind a colon in its line may import, too: `try: import cupy`.
                ':' if depth == 0 => {
                    kept.push(c);
                    statements.push((began, std::mem::take(&mut statement)));
                    began = line;
                }
                other => {
                    match other {
                        '(' | '[' | '{' => depth += 1,
                        ')' | ']' | '}' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    kept.push(other);
                    statement.push(if other == '\t' { ' ' } else { other });
                }
            }
            rest = rest.get(end..).unwrap_or_default();
        }
        statements.push((began, statement));
        Self { statements, kept }
    }
}

/// Where the text ends that `rest` begins with, bytes.
fn text_end(rest: &str, quote: char) -> usize {
    let triple = quote.to_string().repeat(3);
    let (ends, from) = match rest.starts_with(&triple) {
        true => (triple.as_str(), 3),
        false => (rest.get(..1).unwrap_or_default(), 1),
    };
    let mut at = from;
    while let Some(left) = rest.get(at..).filter(|left| !left.is_empty()) {
        if left.starts_with(ends) {
            return at + ends.len();
        }
        if ends.len() == 1 && left.starts_with('\n') {
            return at;
        }
        let skips = match left.starts_with('\\') {
            true => left.chars().take(2).map(char::len_utf8).sum(),
            false => left.chars().next().map_or(1, char::len_utf8),
        };
        at += skips;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let (found, _) = evidence(text);
        found
            .into_iter()
            .map(|(of, words)| format!("{of}: {words}"))
            .collect()
    }

    #[test]
    fn imports_are_found_wherever_they_stand() {
        for (text, wanted) in [
            ("import cupy as cp\n", "gpu: line 1 imports cupy"),
            ("import os, cupy.linalg\n", "gpu: line 1 imports cupy"),
            (
                "\n\nfrom numba import jit, cuda\n",
                "gpu: line 3 imports numba.cuda",
            ),
            (
                "from numba import (\n  jit,\n  cuda,\n)\n",
                "gpu: line 1 imports numba.cuda",
            ),
            ("from pycuda import driver", "gpu: line 1 imports pycuda"),
            (
                "try: import pyopencl\nexcept ImportError: pass",
                "gpu: line 1 imports pyopencl",
            ),
            (
                "def f():\n\tx = 1; import jax.numpy as jnp\n",
                "gpu: line 2 imports jax",
            ),
            ("import \\\n  pynq\n", "fpga: line 1 imports pynq"),
            (
                "import torch\nx = y.cuda()\n",
                "gpu: imports torch, and has .cuda(",
            ),
            (
                "from torch import nn\nd = 'cuda'\n",
                "gpu: imports torch, and has 'cuda'",
            ),
        ] {
            assert_eq!(found(text), [wanted], "{text}");
        }
    }

    #[test]
    fn what_is_no_import_of_theirs_tells_nothing() {
        for text in [
            "# import cupy\n",
            "'''\nimport cupy\n'''\n",
            "x = \"import cupy\"\n",
            "import cupyish\nimport mycuda\n",
            "from . import cuda\nfrom .cuda import x\n",
            "import numba\nfrom numba import jit\n",
            "import torch\nx = model(y)  # .cuda() where there is one\n",
            "print('it\\'s'); imports = 3\n",
            "\"\"\"never ended",
            "",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_breaks_it(text in "[a-z'\"#\\\\\n;: (.é)]{0,200}") {
            proptest::prop_assert!(evidence(&text).0.len() < 200);
        }
    }
}
