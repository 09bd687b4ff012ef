//! Says that personas of a chat are at newer versions than those that speak, and updates them.

use leptos::{prelude::*, server_fn::ServerFn};

use crate::{
    app::server_fns::chats::UpdateChatPersona,
    domain::{chat::MemberState, id::ConversationId, line::MAX_REPLAYED},
};

/// Those that moved on, or lie in the bin.
#[component]
pub fn MovedOn(
    /// In which chat.
    chat: ConversationId,
    /// Who speaks there.
    members: Vec<MemberState>,
) -> impl IntoView {
    let alone = members.len() == 1;
    let binned = members.iter().filter(|member| member.in_bin).map(|member| {
        let answers = if alone { "nobody answers" } else { "only the others answer" };
        let told =
            format!("{} lies in the bin: what was said can be read, and {answers}.", member.name);
        view! { <p class="told small">{told}</p> }
    });
    let binned = binned.collect_view();
    let moved: Vec<MemberState> =
        members.into_iter().filter(|member| member.changes > 0 && !member.in_bin).collect();
    let update = (!moved.is_empty()).then(|| view! { <Update chat/> });
    view! {
        {binned}
        {update.map(|update| view! {
            <div class="told row apart small">
                <span>
                    {moved.into_iter().map(|member| {
                        let path = format!(
                            "/personas/{}?versions=1&from={}&to={}",
                            member.persona_id, member.revision, member.current_revision
                        );
                        view! { <span>{told(&member)} " " <a href=path>"Show them"</a> " "</span> }
                    }).collect_view()}
                </span>
                {update}
            </div>
        })}
    }
}

fn told(member: &MemberState) -> String {
    let changes = match member.changes {
        1 => "1 change".to_owned(),
        more => format!("{more} changes"),
    };
    format!(
        "{} has moved on: {changes} between v{} and v{}.",
        member.name, member.revision, member.current_revision
    )
}

/// The form that updates, and says the last turns again if that is wanted.
#[component]
fn Update(chat: ConversationId) -> impl IntoView {
    view! {
        <form class="row tight" method="post" action=UpdateChatPersona::url() data-quiet data-told="The persona speaks as it is now.">
            <input type="hidden" name="id" value=chat.to_string()/>
            <label>
                <span class="sr">"Say the last turns again"</span>
                <select name="replay">
                    <option value="0">"Say nothing again"</option>
                    {(1..=MAX_REPLAYED).map(|turns| {
                        let label = match turns {
                            1 => "Say the last turn again".to_owned(),
                            more => format!("Say the last {more} turns again"),
                        };
                        view! { <option value=turns>{label}</option> }
                    }).collect_view()}
                </select>
            </label>
            <button class="button quiet small">"Update"</button>
        </form>
    }
}
