//! What a container finds around it: variables and the script that starts it.

use std::collections::BTreeMap;
use std::path::Path;

use proto_hadoop::yarn::ContainerLaunch;

use super::containers::Desk;

/// Variables of the node's own that containers get where they have none, as on Hadoop 3.
const PASSED_ON: &[&str] = &["PATH", "LANG", "TZ"];

/// The folders of a container.
pub(super) struct ContainerFolders<'a> {
    pub(super) container: &'a str,
    pub(super) work: &'a Path,
    pub(super) logs: &'a Path,
    pub(super) tokens: &'a Path,
    pub(super) local: &'a Path,
}

/// All variables: the node's over the container's over those passed on.
pub(super) fn variables(
    desk: &Desk,
    launch: &ContainerLaunch,
    places: &ContainerFolders<'_>,
) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for name in PASSED_ON {
        if let Ok(value) = std::env::var(name) {
            all.insert((*name).to_owned(), quoted(&value));
        }
    }
    for (name, value) in &launch.environment {
        if is_name(name) {
            all.insert(name.clone(), replaced(value, places.logs));
        }
    }
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let user = &desk.options.user;
    let home = std::env::var("HOME").unwrap_or_else(|_unset| "/".to_owned());
    let own = [
        ("CONTAINER_ID", places.container.to_owned()),
        ("NM_HOST", desk.id.host.clone()),
        ("NM_PORT", desk.id.port.to_string()),
        ("NM_HTTP_PORT", "0".to_owned()),
        ("LOCAL_DIRS", text(places.local)),
        ("LOCAL_USER_DIRS", text(places.local)),
        ("LOG_DIRS", text(places.logs)),
        ("USER", user.clone()),
        ("LOGNAME", user.clone()),
        ("HOME", home),
        ("PWD", text(places.work)),
        ("HADOOP_TOKEN_FILE_LOCATION", text(places.tokens)),
        // This node keeps account of memory and enforces no limit: launchers end no rank for it.
        ("GERBIL_MEMORY_IS_COUNTED", "1".to_owned()),
    ];
    for (name, value) in own {
        all.insert(name.to_owned(), quoted(&value));
    }
    all
}

/// What bash exports under.
fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// For the inside of double quotes, to stand for itself.
fn quoted(value: &str) -> String {
    let mut out = String::new();
    for character in value.chars() {
        if matches!(character, '"' | '$' | '`' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// The words that YARN replaces.
fn replaced(text: &str, logs: &Path) -> String {
    let text = text
        .replace("<LOG_DIR>", &logs.to_string_lossy())
        .replace("<CPS>", ":");
    // {{NAME}} is $NAME.
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        match after.split_once("}}") {
            Some((name, after)) if is_name(name) => {
                out.push('$');
                out.push_str(name);
                rest = after;
            }
            _ => {
                out.push_str("{{");
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Kills the container's process group when the process of the node is gone: standard input is a
/// pipe to which nothing is written, and which ends with that process.
const LIFELINE: &str = "\
exec 3<&0 </dev/null
{ trap '' TERM; read -r _ || :; kill -KILL 0; } <&3 &
exec 3<&-
";

/// The script, as a NodeManager writes it: variables, then the command in place of the script.
/// Beside it waits a shell that kills the container's process group when the node's process is gone.
pub(super) fn script(
    variables: &BTreeMap<String, String>,
    commands: &[String],
    logs: &Path,
) -> String {
    let mut text = "#!/bin/bash\n\nset -o pipefail -e\n".to_owned();
    for (name, value) in variables {
        text.push_str(&format!("export {name}=\"{value}\"\n"));
    }
    text.push_str(LIFELINE);
    let command = replaced(&commands.join(" "), logs);
    text.push_str(&format!("exec /bin/bash -c \"{command}\"\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_yarn_are_replaced() {
        let logs = Path::new("/logs/c1");
        assert_eq!(
            replaced("./x {{HOME}}/a<CPS>b 1><LOG_DIR>/stdout {{ }}", logs),
            "./x $HOME/a:b 1>/logs/c1/stdout {{ }}"
        );
        let variables = BTreeMap::from([("A".to_owned(), quoted("1\"$x`\\"))]);
        assert_eq!(
            script(&variables, &["echo".into(), "<LOG_DIR>".into()], logs),
            "#!/bin/bash\n\nset -o pipefail -e\nexport A=\"1\\\"\\$x\\`\\\\\"\n\
             exec 3<&0 </dev/null\n{ trap '' TERM; read -r _ || :; kill -KILL 0; } <&3 &\n\
             exec 3<&-\nexec /bin/bash -c \"echo /logs/c1\"\n"
        );
    }
}
