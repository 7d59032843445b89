use follow::keys::JobKeys;
use job::exit::Exit;
use tempfile::TempDir;

use super::*;

pub(super) fn folder() -> (TempDir, SessionsFolder) {
    let state = TempDir::new().unwrap();
    let folder = SessionsFolder::below(Some(state.path().to_path_buf()));
    (state, folder.unwrap())
}

pub(super) fn kept(name: &str) -> SessionRecord {
    SessionRecord {
        name: name.parse().unwrap(),
        owned: Owned {
            build: job::BUILD.into(),
            application: "application_1700000000000_0042".parse().unwrap(),
            resource_managers: vec!["rm1:8032".into(), "rm2:8032".into()],
            user: "ada".into(),
            local: None,
            host: None,
        },
        keys: JobKeys::generate().unwrap().client_keys(),
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn what_is_kept_is_read_again_and_nobody_else_can() {
    let (_state, folder) = folder();
    let (kept, name) = (kept("night"), "night".parse().unwrap());
    assert!(folder.read(&name).unwrap().is_none());
    assert!(folder.keep(&kept).unwrap());
    let read = folder.find_session(&name).unwrap();
    assert_eq!(read.owned, kept.owned);
    assert_eq!(read.keys.client.key, kept.keys.client.key);
    assert_eq!(read.keys.authority, kept.keys.authority);
    assert_eq!(
        read.keys.launcher_certificate,
        kept.keys.launcher_certificate
    );
    assert_eq!(mode(&folder.path), 0o700);
    assert_eq!(mode(&folder.path_of(&name)), 0o600);
    // No temporary one is left.
    assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 1);
    assert_eq!(folder.names().unwrap(), [name]);
}

#[test]
fn where_an_appmaster_was_is_noted_for_its_application_alone() {
    let (_state, folder) = folder();
    let kept = kept("night");
    assert_eq!(folder.noted(&kept), None);
    // Nowhere to write it.
    folder.note(&kept, "n1:7");
    assert!(folder.keep(&kept).unwrap());
    folder.note(&kept, "n1:8");
    folder.note(&kept, "n2:9");
    assert_eq!(folder.noted(&kept).unwrap(), "n2:9");
    assert_eq!(folder.names().unwrap().len(), 1);
    let mut other = kept.clone();
    other.owned.application.id += 1;
    assert_eq!(folder.noted(&other), None);
    folder.forget(&kept.name, kept.owned.application).unwrap();
    assert_eq!(fs::read_dir(&folder.path).unwrap().count(), 0);
}

#[test]
fn a_name_is_given_once_and_forgotten_by_its_own_application_alone() {
    let (_state, folder) = folder();
    let (one, name) = (kept("a"), "a".parse().unwrap());
    assert!(folder.keep(&one).unwrap());
    assert!(!folder.keep(&one).unwrap());
    let other = "application_1700000000000_0043".parse().unwrap();
    folder.forget(&name, other).unwrap();
    assert!(folder.read(&name).unwrap().is_some());
    folder.forget(&name, one.owned.application).unwrap();
    folder.forget(&name, one.owned.application).unwrap();
    let unknown = folder.find_session(&name).unwrap_err();
    assert_eq!(unknown.exit(), Exit::Usage);
    assert_eq!(
        unknown.to_string(),
        "there is no session a; there is none: gerbil session start starts one"
    );
    assert!(folder.keep(&kept("b")).unwrap());
    assert!(folder.keep(&kept("c")).unwrap());
    let unknown = folder.find_session(&name).unwrap_err().to_string();
    assert_eq!(unknown, "there is no session a; there are b, c");
}

#[test]
fn a_file_that_others_can_read_or_have_made_is_not_used() {
    let (_state, folder) = folder();
    let (kept, name) = (kept("a"), "a".parse().unwrap());
    assert!(folder.keep(&kept).unwrap());
    let path = folder.path_of(&name);
    for mode in [0o640, 0o604, 0o620] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let refused = folder.read(&name).unwrap_err();
        assert_eq!(refused.exit(), Exit::Config);
        let said = refused.to_string();
        let wanted = format!(
            "can be read by others (its mode is 0{mode:o}), so the key in it is not used; where you know that \
             nobody has read it: chmod 600 {}; else end the application application_1700000000000_0042",
            path.display()
        );
        assert!(said.contains(&wanted), "{said}");
    }
    let refused = check(&path, 1001, 1000, 0o100_600, "").unwrap_err();
    let said = refused.to_string();
    assert!(
        said.contains("belongs to the user with the id 1001"),
        "{said}"
    );
    assert!(check(&path, 1000, 1000, 0o100_600, "").is_ok());
}

#[test]
fn another_build_and_nonsense_are_told_apart() {
    let (_state, folder) = folder();
    let (mut kept, name) = (kept("a"), "a".parse().unwrap());
    kept.owned.build = "0.0.9+abc".into();
    assert!(folder.keep(&kept).unwrap());
    let said = folder.read(&name).unwrap_err().to_string();
    assert!(
        said.contains("0.0.9+abc") && said.contains(job::BUILD),
        "{said}"
    );
    // It can be ended all the same.
    assert_eq!(folder.owned(&name).unwrap(), Some(kept.owned));

    let path = folder.path_of(&name);
    for text in ["", "{", "[]", "{\"build\": 1}", "\u{1}"] {
        fs::write(&path, text).unwrap();
        let said = folder.read(&name).unwrap_err().to_string();
        assert!(said.starts_with("cannot understand "), "{said}");
    }
    fs::write(&path, [0xff, 0xfe]).unwrap();
    let said = folder.read(&name).unwrap_err().to_string();
    assert!(said.contains("it is no text"), "{said}");
}

#[test]
fn without_a_home_there_is_no_folder() {
    let refused = SessionsFolder::below(None).unwrap_err();
    assert!(refused.to_string().contains("XDG_STATE_HOME"));
    assert_eq!(refused.exit(), Exit::Config);
}

#[test]
fn a_key_brings_a_session_to_another_host() {
    let (_here, here) = folder();
    let (there_folder, there) = folder();
    let mine = kept("night");
    assert!(here.keep(&mine).unwrap());
    let key = there_folder.path().join("key");
    mine.write_key(&key).unwrap();
    assert_eq!(mode(&key), 0o600);
    // Nothing is written over.
    let again = mine.write_key(&key).unwrap_err();
    assert!(again.to_string().contains("File exists"), "{again}");
    let read = there.import(&key, None).unwrap();
    assert_eq!((&read.name, &read.owned), (&mine.name, &mine.owned));
    let found = there.find_session(&mine.name).unwrap();
    assert_eq!(found.keys.client.key, mine.keys.client.key);
    assert_eq!(mode(&there.path_of(&mine.name)), 0o600);
    // Once more is no harm, and under another name it is the same session.
    there.import(&key, None).unwrap();
    let other = "other".parse().unwrap();
    there.import(&key, Some(other)).unwrap();
    assert_eq!(there.names().unwrap().len(), 2);
}

#[test]
fn a_key_that_is_none_or_no_secret_is_refused() {
    let (state, folder) = folder();
    let key = state.path().join("key");
    let refused = |folder: &SessionsFolder| folder.import(&key, None).unwrap_err();
    let mut mine = kept("night");
    mine.write_key(&key).unwrap();
    fs::set_permissions(&key, Permissions::from_mode(0o640)).unwrap();
    let open = refused(&folder);
    assert_eq!(open.exit(), Exit::Config);
    assert!(open.to_string().contains("its mode is 0640"), "{open}");
    fs::set_permissions(&key, Permissions::from_mode(0o600)).unwrap();
    // Another session has the name.
    mine.owned.application = "application_1700000000000_0043".parse().unwrap();
    assert!(folder.keep(&mine).unwrap());
    let taken = refused(&folder).to_string();
    assert!(taken.contains("is there already, as application_1700000000000_0043"));
    for (text, wanted) in [
        ("hello", "is no key of a session"),
        ("{\"name\": \"a/b\"}", "is no name of a session"),
        ("{\"name\": \"a\"}", "cannot understand"),
    ] {
        fs::write(&key, text).unwrap();
        let none = refused(&folder).to_string();
        assert!(none.contains(wanted), "{none}");
    }
    let nothing = folder.import(&state.path().join("none"), None).unwrap_err();
    assert!(nothing.to_string().contains("No such file"), "{nothing}");
}

#[test]
fn what_a_command_that_was_killed_has_left_goes_after_a_while() {
    let state = TempDir::new().unwrap();
    let folder = SessionsFolder::of_applications(Some(state.path().to_path_buf())).unwrap();
    folder.sweep(Duration::ZERO);
    let kept = kept("application_1700000000000_0042");
    assert!(folder.keep(&kept).unwrap());
    folder.sweep(Duration::from_secs(60));
    assert_eq!(folder.names().unwrap(), [kept.name]);
    folder.sweep(Duration::ZERO);
    assert!(folder.names().unwrap().is_empty());
    assert!(SessionsFolder::of_applications(None).is_err());
}

#[test]
fn a_cluster_of_one_machine_is_elsewhere_on_another() {
    let of = |local: Option<&str>, host: Option<&str>| Owned {
        local: local.map(PathBuf::from),
        host: host.map(str::to_owned),
        ..kept("night").owned
    };
    let here = this_host().unwrap();
    assert_eq!(of(Some("/t"), Some("other")).other_host(), Some("other"));
    assert_eq!(of(Some("/t"), Some(&here)).other_host(), None);
    // Of an earlier version, and of Hadoop's cluster.
    assert_eq!(of(Some("/t"), None).other_host(), None);
    assert_eq!(of(None, Some("other")).other_host(), None);
}
