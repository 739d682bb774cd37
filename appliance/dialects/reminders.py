"""System messages in the middle of a conversation, for models that read one at its beginning only.

Each goes into the user's turn beside it, as the harnesses that send such messages do by themselves where they are
refused. Source: dialects.md §1.2 (`role: "system"` in `messages`).
"""

from dataclasses import replace

from appliance.dialects.chat import Chat, Message, Text

OPENED, CLOSED = "<system-reminder>\n", "\n</system-reminder>"


def folded(chat: Chat) -> tuple[Message, ...]:
    """The messages of a chat; those that its dialect calls reminders go into the user's turn before them, else into the
    one behind."""
    if not chat.reminders:
        return chat.messages
    out: list[Message] = []
    alone = False  # the last turn is nothing but reminders, and waits for the user's
    for message in chat.messages:
        last = out[-1] if out else None
        reminds = message.role == "system" and last is not None and not (last.role == "system" and len(out) == 1)
        if reminds:
            message = Message("user", (Text(f"{OPENED}{message.text}{CLOSED}"),), joint=message.joint)
        if last is not None and last.role == message.role and (reminds or alone or message.role == "system"):
            out[-1] = replace(last, parts=last.parts + message.parts)
            alone = alone and reminds
        else:
            out.append(message)
            alone = reminds
    return tuple(out)
