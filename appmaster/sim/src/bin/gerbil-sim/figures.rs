//! The figures of papers: `gerbil-sim hpe` and the like.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use lexopt::{Arg, Parser, ValueExt as _};
use sim::figure::{FigureWorld, PaperFigure};

use crate::USAGE;

/// Plays those of one paper, as the rest of the command line says.
pub(crate) fn figures<World: FigureWorld>(mut arguments: Parser) -> Result<()> {
    let (mut world, mut name, mut out) = (World::default(), None::<String>, None);
    while let Some(argument) = arguments.next()? {
        match argument {
            Arg::Short('h') | Arg::Long("help") => {
                let (command, keys) = (World::NAME, World::KEYS);
                print!("{USAGE}\nKeys of gerbil-sim {command} -D:\n{keys}");
                return Ok(());
            }
            Arg::Long("job") => world.set_job(&arguments.value()?.string()?)?,
            Arg::Short('D') => world.set(&arguments.value()?.string()?)?,
            Arg::Long("out") => out = Some(PathBuf::from(arguments.value()?)),
            Arg::Value(value) if name.is_none() => name = Some(value.string()?),
            odd => return Err(odd.unexpected().into()),
        }
    }
    let Some(name) = name else {
        bail!(
            "{} wants a figure: {}",
            World::NAME,
            World::FIGURES.listed()
        )
    };
    show(&name, &World::FIGURES.make(&name, &world)?, out.as_deref())
}

/// Prints figures, and writes them into a folder.
fn show(name: &str, figures: &[PaperFigure], out: Option<&Path>) -> Result<()> {
    let pages: Vec<String> = figures.iter().map(PaperFigure::markdown).collect();
    let page = pages.join("\n");
    print!("{page}");
    let Some(folder) = out else { return Ok(()) };
    let write = |name: &str, text: &str| {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
    };
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    write(&format!("{name}.md"), &page)?;
    for figure in figures {
        let text = serde_json::to_string_pretty(figure)?;
        write(&format!("{}.json", figure.name), &text)?;
        for drawing in &figure.drawings {
            write(&format!("{}.svg", drawing.name), &drawing.svg)?;
        }
    }
    Ok(())
}
