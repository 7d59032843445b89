//! What `--generate` prints.

use clap::ValueEnum;

/// A text made from the definition of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GeneratedText {
    /// For man(1)
    Man,
    /// The same of gerbil, this file with a command first
    ManGerbil,
    /// For man(1), of gerbil mr
    ManMr,
    /// Completions for bash
    Bash,
    /// Completions for fish
    Fish,
    /// Completions for zsh
    Zsh,
    /// The options of other launchers, as OPTIONS.md
    Options,
}
