//! What a chat may be, and how its settings are put together.

use super::*;

#[test]
fn settings_that_were_written_before_a_new_one_came_are_still_read() {
    let old: ChatSettings = serde_json::from_str(r#"{"model": "demo"}"#).unwrap();

    assert_eq!(old, ChatSettings { model: "demo".into(), ..ChatSettings::default() });
}

#[test]
fn of_settings_that_cannot_be_the_others_are_kept() {
    let me = UserPersona {
        name: "Ann".into(),
        appearance: "x".repeat(2001),
        overview: "A cook.".into(),
    };
    let known = ChatSettings {
        model: "demo".into(),
        window: 3,
        images: false,
        user_persona: me.clone(),
        ..ChatSettings::default()
    };

    let (kept, left_out) = known.clone().fitting();

    let me = UserPersona { appearance: String::new(), ..me };
    assert_eq!(kept, ChatSettings { window: MAX_WINDOW, user_persona: me, ..known });
    assert_eq!(left_out, [WINDOW_SETTING, "your appearance"]);
    assert_eq!(kept.clone().fitting(), (kept, Vec::new()));
}

#[test]
fn a_window_has_ten_to_twenty_messages() {
    for (window, fits) in [(9, false), (10, true), (20, true), (21, false)] {
        let settings = ChatSettings { window, ..ChatSettings::default() };
        assert_eq!(settings.check().is_ok(), fits, "{window}");
    }
}

#[test]
fn a_chat_has_one_to_eight_personas_each_once() {
    let member = |id: usize| Member { persona_id: format!("p{id}").into(), revision: 1 };
    let fields = |ids: &[usize]| ChatFields {
        title: "Rain".into(),
        members: ids.iter().map(|id| member(*id)).collect(),
        ..ChatFields::default()
    };
    let eight: Vec<usize> = (0..8).collect();
    let nine: Vec<usize> = (0..9).collect();

    for (ids, fits) in [(&[][..], false), (&[1], true), (&[1, 2, 1], false)] {
        assert_eq!(fields(ids).check().is_ok(), fits, "{ids:?}");
    }
    assert!(fields(&eight).check().is_ok() && fields(&nine).check().is_err());
}

#[test]
fn what_a_patch_leaves_out_stays() {
    let patch = SettingsPatch { window: Some(12), ..SettingsPatch::default() };
    let known = ChatSettings { model: "demo".into(), ..ChatSettings::default() };

    assert_eq!(patch.over(known.clone()), ChatSettings { window: 12, ..known });
}
