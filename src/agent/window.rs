//! What of a conversation is sent to the model.
//!
//! A window always begins with a person's words, every call has its result, and nothing of a service
//! stands in it that another service made.

use super::tool::bounded;
use crate::domain::{
    chat::MAX_MEMBERS,
    message::{Message, Part, PartBody, Role, ToolCall, ToolResult, Turn},
    tokens::estimate,
};

/// The most tokens of history, whatever the model could read.
const MAX_HISTORY_TOKENS: u64 = 60_000;
/// How much of a tool's result is left where it is cut, in bytes.
const CUT_RESULT_BYTES: usize = 1500;
/// What a part takes beside its words.
const PART_TOKENS: u64 = 8;

/// How far above a window the question is looked for that its first answer was given to: all personas of a chat
/// may have answered it.
pub const REACH: u32 = MAX_MEMBERS as u32;

/// The flat list of a branch, whole.
pub fn turns(branch: &[Message]) -> Vec<Turn> {
    branch.iter().flat_map(Message::turns).collect()
}

/// How many tokens of a conversation fit beside what is reserved.
pub fn room(context: u64, reserved: u64) -> u64 {
    context.saturating_sub(reserved).min(MAX_HISTORY_TOKENS)
}

/// The newest part of a branch that fits, and always all from the last message of the person on, with what is
/// left of it. It is cut before a person's words, and then taken as it is heard.
pub fn fit(
    mut branch: Vec<Message>,
    room: u64,
    hear: impl FnOnce(&mut [Message]),
) -> (Vec<Turn>, Vec<Message>) {
    let mut newest = branch.split_off(cut(&branch, room));
    hear(&mut newest);
    (paired(turns(&newest)), branch)
}

/// Where the last so many messages of a branch begin. Those that would begin with an answer reach back to the
/// question before it, so that a window never has fewer than it was set to because it begins with a person's
/// words.
pub fn last(branch: &[Message], count: u32) -> usize {
    let from = branch.len().saturating_sub(count as usize);
    let begun = branch.iter().take(from + 1).skip(from.saturating_sub(REACH as usize));
    let above = begun.rev().position(|message| message.role == Role::User);
    from - above.unwrap_or_default()
}

/// Where the newest part of a branch begins that fits.
pub fn cut(branch: &[Message], room: u64) -> usize {
    let size = |messages: &[Message]| -> u64 {
        messages.iter().flat_map(|message| &message.parts).map(size).sum()
    };
    let asked = branch.iter().rposition(|message| message.role == Role::User).unwrap_or_default();
    let mut taken = size(&branch[asked..]);
    let mut from = asked;
    // A window begins with a person's words, so it grows by a question and its answer at a time.
    for at in (0..asked).rev().filter(|at| branch[*at].role == Role::User) {
        taken += size(&branch[at..from]);
        if taken > room {
            break;
        }
        from = at;
    }
    from
}

/// Leaves nothing but the words of a branch: all that a model is sent which knows no tools.
pub fn leave_words(branch: &mut [Message]) {
    for message in branch {
        message.parts.retain(|part| matches!(part.body, PartBody::Text(_)));
    }
}

/// Cuts results of tools in what was gathered since the person last spoke, the oldest first, until all of it
/// fits, and says how many were cut. The last one stays as it is: the model has not read it yet.
pub fn shorten(branch: &mut [Message], room: u64) -> u32 {
    let asked = branch.iter().rposition(|message| message.role == Role::User).unwrap_or_default();
    let mut taken: u64 = branch[asked..].iter().map(tokens).sum();
    let parts = branch[asked..].iter_mut().flat_map(|message| &mut message.parts);
    let mut results: Vec<&mut Part> =
        parts.filter(|part| matches!(part.body, PartBody::ToolResult(_))).collect();
    results.pop();
    let mut count = 0;
    for part in results {
        if taken <= room {
            break;
        }
        taken -= size(part);
        count += u32::from(cut_result(part));
        taken += size(part);
    }
    count
}

/// Cuts a long result of a tool, and says whether it was one.
pub fn cut_result(part: &mut Part) -> bool {
    let PartBody::ToolResult(result) = &mut part.body else { return false };
    let is_long = result.output.len() > CUT_RESULT_BYTES;
    result.output = bounded(std::mem::take(&mut result.output), CUT_RESULT_BYTES);
    is_long
}

/// How many tokens a message takes.
pub fn tokens(message: &Message) -> u64 {
    message.parts.iter().map(size).sum()
}

/// The list with every call answered right after the calls of its answer, and no result without its
/// call.
pub fn paired(turns: Vec<Turn>) -> Vec<Turn> {
    let mut out: Vec<Turn> = Vec::with_capacity(turns.len());
    let mut unanswered: Vec<Turn> = Vec::new();
    for turn in turns {
        match &turn.part.body {
            PartBody::ToolCall(_) => {
                // A call after a result begins another answer, so those before it were left open.
                if out.last().is_some_and(is_result) {
                    out.extend(unanswered.drain(..).filter_map(cancelled));
                }
                unanswered.push(turn.clone());
                out.push(turn);
            }
            PartBody::ToolResult(result) => {
                let known = unanswered.iter().position(|open| calls(open, result));
                if let Some(at) = known {
                    unanswered.remove(at);
                    out.push(turn);
                }
            }
            PartBody::Text(_) | PartBody::Reasoning(_) => {
                // Words of the same answer may follow a call; words after it mean it was left open.
                if turn.role == Role::User || out.last().is_some_and(is_result) {
                    out.extend(unanswered.drain(..).filter_map(cancelled));
                }
                out.push(turn);
            }
        }
    }
    out.extend(unanswered.drain(..).filter_map(cancelled));
    out.retain(|turn| !matches!(&turn.part.body, PartBody::Text(text) if text.is_empty()));
    out
}

fn is_result(turn: &Turn) -> bool {
    matches!(turn.part.body, PartBody::ToolResult(_))
}

fn calls(open: &Turn, result: &ToolResult) -> bool {
    matches!(&open.part.body, PartBody::ToolCall(call) if call.call == result.call)
}

fn cancelled(open: Turn) -> Option<Turn> {
    let PartBody::ToolCall(call) = &open.part.body else { return None };
    let body = PartBody::ToolResult(not_kept(call));
    let part = Part { body, carried: None, ..open.part };
    Some(Turn { role: Role::User, part })
}

/// The result of a call whose own result is not known.
fn not_kept(call: &ToolCall) -> ToolResult {
    let output = "The run was ended before this tool's result was kept. It may have been done or not: \
                  look before you repeat it.";
    ToolResult {
        call: call.call.clone(),
        name: call.name.clone(),
        output: output.into(),
        is_error: true,
        change_id: None,
        sources: Vec::new(),
    }
}

/// What is told of the calls of an answer that broke off and whose results are not known.
pub fn left_open(parts: &[Part]) -> Vec<ToolResult> {
    let known = |call: &ToolCall| {
        let is_known = |part: &Part| match &part.body {
            PartBody::ToolResult(result) => result.call == call.call,
            PartBody::ToolCall(_) | PartBody::Text(_) | PartBody::Reasoning(_) => false,
        };
        parts.iter().any(is_known)
    };
    let open = parts.iter().filter_map(|part| match &part.body {
        PartBody::ToolCall(call) if !known(call) => Some(not_kept(call)),
        PartBody::ToolCall(_)
        | PartBody::ToolResult(_)
        | PartBody::Text(_)
        | PartBody::Reasoning(_) => None,
    });
    open.collect()
}

fn size(part: &Part) -> u64 {
    let words = match &part.body {
        PartBody::Text(text) | PartBody::Reasoning(text) => estimate(text),
        PartBody::ToolCall(call) => estimate(&call.input.to_string()),
        PartBody::ToolResult(result) => estimate(&result.output),
    };
    words as u64 + PART_TOKENS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::{
        domain::{run::Spent, timestamp::Timestamp},
        providers::{
            Ask, Dialect,
            tests::{replay::ASK, round_trip::check_shape},
        },
    };

    fn fit(branch: &[Message], room: u64) -> Vec<Turn> {
        super::fit(branch.to_vec(), room, |_| {}).0
    }

    fn part(id: &str, body: PartBody) -> Part {
        Part { id: id.into(), at: Timestamp(0), body, carried: None }
    }

    fn message(role: Role, parts: Vec<Part>) -> Message {
        Message {
            id: "m".into(),
            parent_id: None,
            role,
            parts,
            run_id: None,
            model: String::new(),
            stop: None,
            spent: Spent::default(),
            created_at: Timestamp(0),
        }
    }

    fn said(role: Role, words: &str) -> Message {
        message(role, vec![part("t", PartBody::Text(words.into()))])
    }

    fn call(id: &str) -> Part {
        let call = ToolCall { call: id.into(), name: "a".into(), input: json!({}) };
        part("c", PartBody::ToolCall(call))
    }

    fn result(id: &str) -> Part {
        part(
            "r",
            PartBody::ToolResult(ToolResult {
                call: id.into(),
                name: "a".into(),
                output: "o".into(),
                is_error: false,
                change_id: None,
                sources: Vec::new(),
            }),
        )
    }

    /// `u:text`, `a:text`, `call x`, `result x`.
    fn shown(turns: &[Turn]) -> Vec<String> {
        turns
            .iter()
            .map(|turn| match &turn.part.body {
                PartBody::Text(text) | PartBody::Reasoning(text) => {
                    format!("{}:{}", &turn.role.word()[..1], text)
                }
                PartBody::ToolCall(call) => format!("call {}", call.call),
                PartBody::ToolResult(result) => format!("result {}", result.call),
            })
            .collect()
    }

    #[test]
    fn old_messages_leave_the_window_and_it_begins_with_a_person() {
        let long = "word ".repeat(800);
        let branch = [
            said(Role::User, &long),
            said(Role::Assistant, &long),
            said(Role::User, "Now?"),
            said(Role::Assistant, "Yes."),
            said(Role::User, "Good."),
        ];

        assert_eq!(shown(&fit(&branch, room(2000, 900))), ["u:Now?", "a:Yes.", "u:Good."]);
        assert_eq!(fit(&branch, room(100_000, 0)).len(), 5);
    }

    #[test]
    fn the_last_message_is_sent_however_long_it_is() {
        let branch = [said(Role::User, "a"), said(Role::User, &"word ".repeat(9000))];

        assert_eq!(fit(&branch, 100).len(), 1);
    }

    #[test]
    fn results_of_the_present_answer_are_cut_the_oldest_first_until_it_fits() {
        let long = |id: &str| {
            let mut long = result(id);
            if let PartBody::ToolResult(result) = &mut long.body {
                result.output = "word".repeat(1000);
            }
            long
        };
        let parts =
            ["x", "y", "z"].into_iter().flat_map(|id| [call(id), long(id)]).collect::<Vec<_>>();
        let branch = [said(Role::User, "Go"), message(Role::Assistant, parts)];
        let lengths = |room: u64| {
            let mut branch = branch.clone();
            let count = shorten(&mut branch, room);
            let length = |part: &Part| match &part.body {
                PartBody::ToolResult(result) => Some(result.output.len()),
                _ => None,
            };
            (branch[1].parts.iter().filter_map(length).collect::<Vec<_>>(), count)
        };
        let cut = bounded("word".repeat(1000), CUT_RESULT_BYTES).len();

        assert_eq!(lengths(4000), (vec![4000, 4000, 4000], 0));
        assert_eq!(lengths(2900), (vec![cut, 4000, 4000], 1));
        assert_eq!(lengths(0), (vec![cut, cut, 4000], 2), "the last one is yet to be read");
    }

    #[test]
    fn a_call_that_was_left_open_is_answered_and_a_stray_result_goes() {
        let branch = [
            said(Role::User, "Go"),
            message(Role::Assistant, vec![result("stray"), call("x"), call("y"), result("y")]),
            said(Role::User, "On"),
        ];

        assert_eq!(
            shown(&fit(&branch, 9000)),
            ["u:Go", "call x", "call y", "result y", "result x", "u:On"]
        );
    }

    #[test]
    fn a_call_that_was_left_open_is_answered_before_the_calls_of_the_next_answer() {
        let parts = vec![call("x"), call("y"), result("y"), call("z"), result("z"), result("x")];
        let branch =
            [said(Role::User, "Go"), message(Role::Assistant, parts), said(Role::User, "On")];

        assert_eq!(
            shown(&fit(&branch, 9000)),
            ["u:Go", "call x", "call y", "result y", "result x", "call z", "result z", "u:On"]
        );
    }

    /// A branch as people and models make it: calls and results, some of them lost in between.
    fn branches() -> impl Strategy<Value = Vec<Message>> {
        let words = "[a-z]{0,40}( [a-z]{1,12}){0,30}";
        let user = "[a-z]{1,40}( [a-z]{1,12}){0,30}".prop_map(|words| said(Role::User, &words));
        let piece = prop_oneof![
            words.prop_map(|words| part("t", PartBody::Text(words))),
            words.prop_map(|words| part("t", PartBody::Reasoning(words))),
            (0..6).prop_map(|id| call(&format!("c{id}"))),
            (0..6).prop_map(|id| result(&format!("c{id}"))),
        ];
        let assistant = proptest::collection::vec(piece, 0..8)
            .prop_map(|parts| message(Role::Assistant, parts));
        let pair = (user.clone(), assistant).prop_map(|(user, assistant)| [user, assistant]);
        (proptest::collection::vec(pair, 0..8), user).prop_map(|(pairs, last)| {
            let mut branch: Vec<Message> = pairs.into_iter().flatten().collect();
            branch.push(last);
            branch
        })
    }

    #[test]
    fn so_many_messages_that_would_begin_with_an_answer_reach_back_to_its_question() {
        let one = |role: &str| match role {
            "u" => said(Role::User, "Well?"),
            _ => said(Role::Assistant, "Yes."),
        };
        let begins = |roles: &str, count: u32| {
            let branch: Vec<Message> = roles.split(' ').map(one).collect();
            last(&branch, count)
        };

        assert_eq!(begins("u a u a u", 2), 2, "the answer brings its question along");
        assert_eq!(begins("u a u a u", 3), 2, "nor more than was set where it begins with one");
        assert_eq!(begins("u a u a u", 9), 0, "there are no more");
        assert_eq!(begins("u u a a a u", 2), 1, "several answered it");
        assert_eq!(begins("a a u", 2), 1, "nobody asked");
        let long = format!("u {} u", vec!["a"; REACH as usize + 2].join(" "));
        assert_eq!(begins(&long, 2), REACH as usize + 2, "one that is too far above is let be");
    }

    proptest! {
        /// A window of so many messages has as many, or one more, and begins with a person.
        #[test]
        fn a_window_never_has_fewer_messages_than_it_was_set_to(
            branch in branches(),
            count in 1_u32..20,
        ) {
            let from = last(&branch, count);

            let sent = branch.len() - from;
            let wanted = branch.len().min(count as usize);
            prop_assert!((wanted..=wanted + 1).contains(&sent), "{sent} for {count}");
            prop_assert_eq!(branch[from].role, Role::User);
            // Where there is room, nothing of it is left out.
            prop_assert_eq!(cut(&branch[from..], u64::MAX), 0);
        }

        /// Wherever a window is cut, it begins with a person, ends with what was last said, and has
        /// every call with its result, once.
        #[test]
        fn a_cut_never_parts_a_call_from_its_result(branch in branches(), room in 0_u64..2000) {
            let window = fit(&branch, room);

            let mut open: Vec<&str> = Vec::new();
            for turn in &window {
                match &turn.part.body {
                    PartBody::ToolCall(call) => open.push(call.call.as_str()),
                    PartBody::ToolResult(result) => {
                        let at = open.iter().position(|call| *call == result.call.as_str());
                        prop_assert!(at.is_some(), "a result without its call: {:?}", shown(&window));
                        open.remove(at.unwrap_or_default());
                    }
                    PartBody::Text(_) if turn.role == Role::User => {
                        prop_assert!(open.is_empty(), "left open: {:?}", shown(&window));
                    }
                    PartBody::Text(_) | PartBody::Reasoning(_) => {}
                }
            }
            prop_assert!(open.is_empty(), "left open: {:?}", shown(&window));
            let all = paired(turns(&branch));
            prop_assert!(all.ends_with(&window));
            if let Some(first) = window.first() {
                let person = first.role == Role::User && !is_result(first);
                prop_assert!(person, "{:?}", shown(&window));
            }
            // Nor is there anything in it that a service would refuse.
            for dialect in Dialect::ALL {
                check_shape(dialect, &dialect.body(&Ask { turns: &window, ..ASK }));
            }
        }
    }
}
