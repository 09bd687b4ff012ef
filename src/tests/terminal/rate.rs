//! Answers rated by the real program, and what becomes of the ratings.

use serde_json::{Value, json};

use super::program::{Room, read_json};

/// A session with three answers.
fn talked() -> (Room, String) {
    let answers = json!([[{"text": "First."}], [{"text": "Second."}], [{"text": "Third."}]]);
    let room = Room::new().playing(&answers);
    // Each command plays the script from its beginning, so all is said to one.
    let ran = room.chat_typing(&["--plain"], "One\nTwo\nThree\n");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let session = ran.session();
    (room, session)
}

fn listed(room: &Room, session: &str) -> Value {
    let listed = room.run(&["rate", session, "--json"]).good();
    serde_json::from_str::<Value>(&listed).unwrap()["items"].clone()
}

#[test]
fn answers_are_rated_by_their_turns_and_read_back() {
    let (room, session) = talked();
    let prefix = &session[..8];

    let last = room.run(&["rate", prefix, "--rating", "4", "--note", "Good.\u{1b}[31m"]);
    room.run(&["rate", prefix, "1", "--rating", "2"]).good();
    room.run(&["rate", prefix, "1", "--rating", "3", "--note", "Better, read twice."]).good();

    assert!(last.err.contains("Turn 3: 4 of 5."), "{last:?}");
    let told = listed(&room, &session);
    let short: Vec<Value> = told
        .as_array()
        .unwrap()
        .iter()
        .map(|one| json!([one["turn"], one["rating"], one["note"]]))
        .collect();
    assert_eq!(short, [json!([1, 3, "Better, read twice."]), json!([3, 4, "Good.\u{1b}[31m"])]);
    let table = room.run(&["rate", prefix]).good();
    assert_eq!(
        table,
        "turn  rating  answer\n1     3/5     First.\n      Better, read twice.\n\
         3     4/5     Third.\n      Good.[31m\n"
    );

    room.run(&["rate", prefix, "3", "--remove"]).good();
    assert_eq!(listed(&room, &session).as_array().unwrap().len(), 1);
    assert_eq!(room.run(&["rate", prefix, "3", "--remove"]).code, Some(66));
}

#[test]
fn another_number_leaves_the_note_and_an_empty_note_takes_it_away() {
    let (room, session) = talked();
    let rate = |words: &[&str]| {
        room.run(&[&["rate", &session, "--rating"], words].concat()).good();
        let told = listed(&room, &session);
        (told[0]["rating"].clone(), told[0]["note"].clone())
    };

    assert_eq!(rate(&["4", "--note", "Good."]), (json!(4), json!("Good.")));
    assert_eq!(rate(&["5"]), (json!(5), json!("Good.")));
    assert_eq!(rate(&["3", "--note", ""]), (json!(3), json!("")));
}

#[test]
fn a_note_alone_leaves_the_number_and_needs_one() {
    let (room, session) = talked();

    let unrated = room.run(&["rate", &session, "2", "--note", "Good."]);
    room.run(&["rate", &session, "2", "--rating", "4"]).good();
    let noted = room.run(&["rate", &session, "2", "--note", "Good."]);
    let both = room.run(&["rate", &session, "2", "--note", "Good.", "--remove"]);

    assert_eq!(unrated.code, Some(2), "{unrated:?}");
    assert!(unrated.err.contains("Turn 2 is not rated yet"), "{unrated:?}");
    assert!(noted.err.contains("Turn 2: 4 of 5."), "{noted:?}");
    assert_eq!(both.code, Some(2), "{both:?}");
    let told = listed(&room, &session);
    assert_eq!((&told[0]["rating"], &told[0]["note"]), (&json!(4), &json!("Good.")), "{told}");
}

#[test]
fn what_cannot_be_rated_says_why() {
    let (room, session) = talked();

    let beyond = room.run(&["rate", &session, "9", "--rating", "3"]);
    assert_eq!(beyond.code, Some(66), "{beyond:?}");
    assert!(beyond.err.contains("there are those of turns 1 to 3"), "{beyond:?}");
    assert_eq!(room.run(&["rate", "nothing-like-it", "--rating", "3"]).code, Some(66));
    for odd in ["0", "6", "good"] {
        assert_eq!(room.run(&["rate", &session, "--rating", odd]).code, Some(2), "{odd}");
    }
    assert_eq!(room.run(&["rate", &session, "--note", "No number."]).code, Some(2));
    let nothing = room.run(&["rate", &session]);
    assert!(nothing.err.contains("Nothing of this session is rated."), "{nothing:?}");
}

#[test]
fn ratings_go_out_with_a_session_and_come_in_again() {
    let (room, session) = talked();
    room.run(&["rate", &session, "2", "--rating", "5", "--note", "Just right."]).good();
    let folder = room.path("out").display().to_string();

    room.run(&["export", &session, "--dir", &folder]).good();

    let metadata = read_json(&room.path("out/metadata.json"));
    assert_eq!(metadata["turns"][0].get("rating"), None);
    assert_eq!(metadata["turns"][1]["rating"], 5);
    assert_eq!(metadata["turns"][1]["rating_note"], "Just right.");
    let other = Room::new();
    let brought = other.run(&["import", &folder]);
    assert_eq!(brought.code, Some(0), "{brought:?}");
    let told = listed(&other, &session);
    assert_eq!((&told[0]["turn"], &told[0]["rating"]), (&json!(2), &json!(5)), "{told}");
}

#[test]
fn a_server_that_has_the_data_is_asked() {
    let (room, session) = talked();
    let server = room.serve();

    room.run(&["rate", &session, "--rating", "5", "--server", &server.address]).good();

    let told = listed(&room, &session);
    assert_eq!(told[0]["rating"], 5);
}

#[test]
fn an_answer_of_long_ago_is_rated_too() {
    let room = Room::new();
    let at = "2026-01-01T00:00:00Z";
    let said = (1..=150).flat_map(|number| {
        let entry = |role: &str| {
            json!({"role": role, "content": format!("{role} {number}"), "timestamp": at})
        };
        [entry("user"), entry("assistant")]
    });
    room.write("in/history.json", &Value::Array(said.collect()).to_string());
    let metadata = json!({
        "session_id": "x", "created_at": at, "model": "demo", "window_size": 3,
        "should_truncate_results": true,
    });
    room.write("in/metadata.json", &metadata.to_string());
    let id = room.run(&["import", &room.path("in").display().to_string()]).good();
    let id = id.trim();

    let rated = room.run(&["rate", id, "2", "--rating", "5"]);

    assert!(rated.err.contains("Turn 2: 5 of 5."), "{rated:?}");
    let table = room.run(&["rate", id]).good();
    assert!(table.contains("2     5/5     assistant 2"), "{table}");
}
