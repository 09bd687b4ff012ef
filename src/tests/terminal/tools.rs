//! The operator's own tools in `greenroom chat`.

use serde_json::json;

use super::program::Room;

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/tests/toolbox/server.mjs");

#[test]
fn an_answer_uses_python_and_servers_and_bad_entries_are_named() {
    let answers = json!([
        [{"call": {"name": "double", "input": {"x": 21}}}],
        [{"call": {"name": "test__echo", "input": {"text": "hello"}}}],
        [{"text": "Done."}],
    ]);
    let room = Room::new().playing(&answers);
    let double = "def double(x: int) -> int:\n    \"\"\"Double it.\"\"\"\n    return 2 * x\n";
    room.write("data/chat/sums.py", double);
    room.write(
        "data/chat/tools.yaml",
        &format!(
            "- sums.py:double\n- sums.py:triple\n- mcp: test\n  command: node\n  args: [{SERVER}]\n"
        ),
    );

    let ran = room.chat(&["--single", "Go on"]);

    assert_eq!((ran.code, ran.out.trim()), (Some(0), "Done."), "{ran:?}");
    assert!(ran.err.contains("tools.yaml, line 2: sums.py:triple cannot be used"), "{ran:?}");
    let folder = room.path("out").display().to_string();
    room.run(&["export", &ran.session(), "--dir", &folder]).good();
    let turn = &super::program::read_json(&room.path("out/metadata.json"))["turns"][0];
    assert_eq!(
        (&turn["tools"][0]["name"], &turn["tools"][0]["result"]),
        (&json!("double"), &json!("42"))
    );
    let echoed = turn["tools"][1]["result"].as_str().unwrap();
    assert!(echoed.ends_with("You said: hello"), "{echoed}");
}

#[test]
fn the_retirement_example_is_written_out_and_works() {
    let sums = json!({"years": 20, "current_savings": 80_000, "monthly_contribution": 600});
    let answers = json!([
        [{"call": {"name": "project_savings", "input": sums}}],
        [{"text": "About 455,700."}],
    ]);
    let room = Room::bare().playing(&answers);

    room.run(&["config", "init", "--example", "retirement"]).good();

    let ran = room.chat(&["--single", "Just the number"]);
    assert_eq!((ran.code, ran.out.trim()), (Some(0), "About 455,700."), "{ran:?}");
    assert!(!ran.err.contains("tools.yaml"), "{ran:?}");
    let folder = room.path("out").display().to_string();
    room.run(&["export", &ran.session(), "--dir", &folder]).good();
    let metadata = super::program::read_json(&room.path("out/metadata.json"));
    let prompt = metadata["system_prompt_text"].as_str().unwrap();
    assert!(prompt.starts_with("# Retirement guide, step by step"), "{prompt}");
    let turn = &metadata["turns"][0];
    assert!(
        turn["tools"][0]["result"].as_str().unwrap().contains("\"balance\":455746.51"),
        "{turn}"
    );
    let unknown = room.run(&["config", "init", "--example", "nothing"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
    assert!(unknown.err.contains("retirement"), "{unknown:?}");
}

#[test]
fn tools_are_listed_and_a_bad_entry_ends_the_listing_with_a_code() {
    let room = Room::new();
    let none = room.run(&["tools"]);
    assert_eq!((none.code, none.out.as_str()), (Some(0), ""), "{none:?}");

    let double = "def double(x: int) -> int:\n    \"\"\"Double it.\"\"\"\n    return 2 * x\n";
    room.write("data/chat/sums.py", double);
    room.write("data/chat/tools.yaml", "- sums.py:double\n- search\n");
    let listed = room.run(&["tools"]).good();
    assert!(listed.starts_with("double  Double it.\nsearch  "), "{listed}");

    room.write("data/chat/tools.yaml", "- sums.py:double\n- fly\n- ls\n");
    let ran = room.run(&["tools", "--json"]);
    assert_eq!(ran.code, Some(78), "{ran:?}");
    let told: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["items"][0]["schema"]["required"], json!(["x"]));
    assert_eq!(told["items"][1]["name"], "ls");
    assert!(told["problems"][0].as_str().unwrap().starts_with("tools.yaml, line 2: "), "{told}");
}

#[test]
fn a_persona_whose_tools_are_not_there_says_how_to_get_them() {
    let room = Room::new();

    let without = room.chat(&["--single", "--model", "persona:retirement-guide", "Hello"]);
    room.run(&["config", "init", "--example", "retirement"]).good();
    let with = room.chat(&["--single", "Hello again"]);

    let told = "greenroom config init --example retirement";
    assert!(without.err.contains("project_savings") && without.err.contains(told), "{without:?}");
    assert!(!with.err.contains(told), "{with:?}");
}
