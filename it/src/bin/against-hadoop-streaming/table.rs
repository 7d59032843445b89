//! The table of README.

use anyhow::{Context as _, Result};

use crate::compare::Equality;
use crate::recipes::Recipe;

/// What stands before and behind it.
const BEGIN: &str =
    "<!-- recipes: made by `cargo run -p it --bin against-hadoop-streaming -- --write` -->\n";
const END: &str = "<!-- end of recipes -->";

/// The table, and what is to be said of variables.
pub(crate) fn text(rows: &[(&Recipe, Equality)], variables: &str) -> String {
    let mut text = "| options, beside `-output` | part files |\n|---|---|\n".to_owned();
    for (recipe, found) in rows {
        let line = recipe.line().replace('|', "\\|");
        text.push_str(&format!("| `{line}` | {} |\n", found.words()));
    }
    text + "\n" + variables + "\n"
}

/// `page` with this text in the place of the one it has.
pub(crate) fn put(page: &str, text: &str) -> Result<String> {
    let (before, rest) = page
        .split_once(BEGIN)
        .context("README lacks the recipes' begin")?;
    let (_, behind) = rest
        .split_once(END)
        .context("README lacks the recipes' end")?;
    Ok(format!("{before}{BEGIN}{text}{END}{behind}"))
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, put};

    #[test]
    fn the_page_around_the_table_stays() {
        let page = format!("before\n{BEGIN}old\n{END}\nbehind\n");
        let wanted = format!("before\n{BEGIN}new\n{END}\nbehind\n");
        assert_eq!(put(&page, "new\n").unwrap(), wanted);
        assert!(put("nothing", "new\n").is_err());
    }
}
