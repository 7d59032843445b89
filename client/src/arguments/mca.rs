//! Parameters of Open MPI's components, as its `mpirun` takes them: each is a variable that the processes find.

use clap::Args;

use super::headings::PROGRAM;
use super::program::{one, pair};
use super::small_file;
use crate::environment::Variable;
use crate::split_words;

/// What the names of variables begin with that Open MPI reads, and those that its libpmix reads.
const OPEN_MPI: &str = "OMPI_MCA_";
const PMIX: &str = "PMIX_MCA_";

/// The parameters of one program.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct McaArguments {
    /// Set a parameter of Open MPI's for the program: it finds the variable OMPI_MCA_NAME. Values of one name that is
    /// given more than once are joined by commas, as mpirun has it
    #[arg(long, value_name = "NAME VALUE", value_parser = of_open_mpi, help_heading = PROGRAM)]
    pub mca: Vec<Variable>,

    /// The same of its libpmix: PMIX_MCA_NAME
    #[arg(long, value_name = "NAME VALUE", value_parser = of_pmix, help_heading = PROGRAM)]
    pub pmixmca: Vec<Variable>,

    /// Files here with such parameters, NAME = VALUE a line, or with -mca, -pmixmca and -x as on the line; what is on the
    /// line counts more
    #[arg(long, value_name = "FILE,...", value_parser = tuned, help_heading = PROGRAM)]
    pub tune: Vec<Tuned>,
}

/// The same for all programs.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = super::program::OF_ALL)]
pub(crate) struct AllMcaArguments {
    /// As -mca, for all programs
    #[arg(long, value_name = "NAME VALUE", value_parser = of_open_mpi)]
    pub gmca: Vec<Variable>,

    /// As -pmixmca, for all programs
    #[arg(long, value_name = "NAME VALUE", value_parser = of_pmix)]
    pub gpmixmca: Vec<Variable>,
}

/// The variables that a value of `--tune` names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tuned(Vec<Variable>);

impl McaArguments {
    /// The variables, those of files first.
    pub(super) fn variables(&self) -> Vec<Variable> {
        let files = self.tune.iter().flat_map(|tuned| &tuned.0).cloned();
        files
            .chain(joined(&self.mca))
            .chain(joined(&self.pmixmca))
            .collect()
    }

    /// The first option of the kind that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let given = [
            ("-mca", self.mca.is_empty()),
            ("-pmixmca", self.pmixmca.is_empty()),
            ("--tune", self.tune.is_empty()),
        ];
        let first = given.into_iter().find(|(_, is_empty)| !is_empty);
        first.map(|(option, _)| option)
    }
}

impl AllMcaArguments {
    /// The variables.
    pub(super) fn variables(&self) -> Vec<Variable> {
        let all = joined(&self.gmca).into_iter();
        all.chain(joined(&self.gpmixmca)).collect()
    }

    /// The first option of the kind that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        match (self.gmca.is_empty(), self.gpmixmca.is_empty()) {
            (false, _) => Some("-gmca"),
            (true, false) => Some("-gpmixmca"),
            (true, true) => None,
        }
    }
}

/// Each name once, its values joined by commas.
fn joined(given: &[Variable]) -> Vec<Variable> {
    let mut all: Vec<Variable> = Vec::with_capacity(given.len());
    for variable in given {
        let known = all.iter_mut().find(|known| known.name == variable.name);
        let (Some(known), Some(more)) = (known, &variable.value) else {
            all.push(variable.clone());
            continue;
        };
        let values = known.value.get_or_insert_default();
        values.push(',');
        values.push_str(more);
    }
    all
}

fn of_open_mpi(text: &str) -> Result<Variable, String> {
    parameter(OPEN_MPI, text)
}

fn of_pmix(text: &str) -> Result<Variable, String> {
    parameter(PMIX, text)
}

fn parameter(prefix: &str, text: &str) -> Result<Variable, String> {
    let Variable { name, value } = pair(text)?;
    Ok(Variable {
        name: format!("{prefix}{name}"),
        value,
    })
}

fn tuned(text: &str) -> Result<Tuned, String> {
    let mut all = Vec::new();
    for name in text.split(',').filter(|name| !name.is_empty()) {
        let read = small_file::text(name.as_ref()).map_err(|why| format!("{name}: {why}"))?;
        all.extend(written(&read).map_err(|error| format!("{name}: {error}"))?);
    }
    Ok(Tuned(all))
}

/// The parameters of a file.
fn written(text: &str) -> Result<Vec<Variable>, String> {
    let mut all = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let at = |error: String| format!("line {number}: {error}");
        if !line.starts_with('-') {
            let Some((name, value)) = line.split_once('=') else {
                return Err(at(format!("{line} is not NAME = VALUE")));
            };
            let plain = format!("{}={}", name.trim(), value.trim());
            all.push(of_open_mpi(&plain).map_err(at)?);
            continue;
        }
        let words = split_words::split(line).map_err(|error| at(error.to_string()))?;
        let mut words = words.into_iter();
        while let Some(option) = words.next() {
            let mut next = || {
                let wants = || at(format!("{option} wants a value"));
                words.next().ok_or_else(wants)
            };
            let variable = match option.trim_start_matches('-') {
                "x" => one(&next()?),
                "mca" | "gmca" | "omca" => of_open_mpi(&format!("{}={}", next()?, next()?)),
                "pmixmca" | "gpmixmca" => of_pmix(&format!("{}={}", next()?, next()?)),
                _ => Err(format!(
                    "{option} is none of -mca, -pmixmca and -x, which such a file may have"
                )),
            };
            all.push(variable.map_err(at)?);
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use crate::arguments::Arguments;

    /// What the program of a line gets.
    fn variables(line: &str) -> Result<String, String> {
        let words = std::iter::once("gerbil-run").chain(line.split_whitespace());
        let given = Arguments::parse(words.map(Into::into)).map_err(|error| error.to_string())?;
        let rules = given.environment.rules(&given.start);
        let all = rules.variables.iter().map(|variable| {
            let value = variable.value.as_deref().unwrap_or_default();
            format!("{}={value}", variable.name)
        });
        Ok(all.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn parameters_are_variables_of_the_program_whichever_way_they_are_written() {
        for (line, expected) in [
            ("-mca btl tcp,self", "OMPI_MCA_btl=tcp,self"),
            ("--mca btl ^tcp", "OMPI_MCA_btl=^tcp"),
            ("-omca pml ob1", "OMPI_MCA_pml=ob1"),
            (
                "--mca a 1 --mca b 2 --mca a 3",
                "OMPI_MCA_a=1,3 OMPI_MCA_b=2",
            ),
            (
                "--pmixmca gds hash --gpmixmca psec none",
                "PMIX_MCA_psec=none PMIX_MCA_gds=hash",
            ),
            ("-gmca a 1 -mca a 2", "OMPI_MCA_a=1 OMPI_MCA_a=2"),
        ] {
            assert_eq!(
                variables(&format!("{line} ./p")).as_deref(),
                Ok(expected),
                "{line}"
            );
        }
        assert!(variables("-mca btl").unwrap_err().contains("-mca wants"));
    }

    #[test]
    fn parameters_may_stand_in_files() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "# of a site\n\nbtl = tcp,self\n-mca pml ob1 -x 'A=1 2' --pmixmca gds hash\n";
        std::fs::write(file.path(), text).unwrap();
        let path = file.path().display();
        for option in ["--tune", "-am"] {
            assert_eq!(
                variables(&format!("{option} {path} -mca btl self ./p")).unwrap(),
                "OMPI_MCA_btl=tcp,self OMPI_MCA_pml=ob1 A=1 2 PMIX_MCA_gds=hash OMPI_MCA_btl=self"
            );
        }
        for (text, words) in [
            ("btl", "line 1: btl is not NAME = VALUE"),
            ("\n-n 4", "line 2: -n is none of -mca"),
            ("-mca btl", "line 1: -mca wants a value"),
        ] {
            std::fs::write(file.path(), text).unwrap();
            let refused = variables(&format!("--tune {path} ./p")).unwrap_err();
            assert!(refused.contains(words), "{refused}");
        }
        let missing = variables("--tune /nonexistent/f ./p").unwrap_err();
        assert!(missing.contains("/nonexistent/f"), "{missing}");
    }
}
